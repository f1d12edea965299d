#include "sections.h"

namespace waggle::app {

void draw_online_control(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  builder.figure({"nectar", "Nectar while learning", "",
                  "The mean of the last 200 steps, random moves included: within a thousand steps "
                  "the bee is near its best."},
                 {{"",
                   {{"running_nectar", {"step", "mean_nectar", "optimum"}}},
                   [](const std::vector<Loaded>& files) {
                     const std::string& data = files[0].data;
                     return layered({"time step"}, {"mean nectar per step"},
                                    {{data, "line", "step", "mean_nectar", "while it learns"},
                                     {data, "line", "step", "optimum", "exact optimum",
                                      colour::kExact, kDashed}});
                   }}});
}

void draw_online_value(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  builder.figure({"distance", "How far from the solve over all steps", "",
                  "The distance of each algorithm's values from those of LSTD on all steps. "
                  "Recursive least squares arrive; "
                  "whitened steps follow; plain ones crawl along the directions in which the "
                  "features hardly vary."},
                 {{"",
                   {{"distance", {"updates", "recursive", "whitened", "plain"}}},
                   [](const std::vector<Loaded>& files) {
                     const std::string& data = files[0].data;
                     return layered(
                         {"updates"}, {"distance from LSTD", true},
                         {{data, "line", "updates", "plain", "plain", colour::kEstimate},
                          {data, "line", "updates", "whitened", "whitened", colour::kOther},
                          {data, "line", "updates", "recursive", "recursive", colour::kMeasured}});
                   }}});
  builder.figure(
      {"lemma", "The Lemma's decay", "",
       "The mean flow of the whitened algorithm and the bound of the paper's Lemma, which "
       "it must stay below: a straight line on a logarithmic axis."},
      {{"", {{"mean_flow", {"time", "distance", "lemma"}}}, [](const std::vector<Loaded>& files) {
          const std::string& data = files[0].data;
          return layered(
              {"time of the flow"}, {"distance from the fixed point", true},
              {{data, "line", "time", "distance", "mean flow"},
               {data, "line", "time", "lemma", "the Lemma's bound", colour::kExact, kDashed}});
        }}});
}

}  // namespace waggle::app
