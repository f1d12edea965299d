#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

Reward reward_of(const ordered_json& result) {
  const ordered_json& metric = member_of(result, "main_metric");
  const ordered_json& logarithmic = member_of(metric, "logarithmic");
  return {text_in(metric, "name"),
          {text_in(metric, "axis"), logarithmic.is_boolean() && logarithmic.get<bool>()},
          text_in(metric, "better") == "higher"};
}

void add_ridge_path(SectionBuilder& builder, const Reward& reward) {
  const FigureFile file{"ridge_path", {"relative", "error", reward.column}};
  const auto against = [file](const std::string& title, const Axis& y, const std::string& column,
                              const char* colour) {
    return ChartPlan{title, {file}, [=](const std::vector<Loaded>& files) {
                       return layered({"λ / mean squared feature", true, false, ".0e"}, y,
                                      {{files[0].data,
                                        "line",
                                        "relative",
                                        column,
                                        "",
                                        colour,
                                        {{"point", {{"size", 20}}}}}},
                                      220);
                     }};
  };
  builder.figure({"ridge", "How much to regularise", "",
                  "The cross-validated error, which the log alone can tell, and what the greedy "
                  "policy then earns, "
                  "which is what one wants to know and takes a run of the system for each λ. The "
                  "first is smooth "
                  "and the second is not: one run of one seed is a noisy judge."},
                 {against("cross-validated error", {"error", true}, "error", colour::kMeasured),
                  against(reward.axis.title, reward.axis, reward.column, colour::kEstimate)});
}

void add_learning_curves(SectionBuilder& builder, const Reward& reward,
                         const std::vector<LearningCurve>& curves) {
  std::vector<ChartPlan> plans;
  plans.reserve(curves.size());
  for (const LearningCurve& curve : curves) {
    plans.push_back({"learner '" + curve.learner + "'",
                     {{curve.file, {"steps", "median", "p05", "p95", "optimum"}}},
                     [&reward](const std::vector<Loaded>& files) {
                       const std::string& data = files[0].data;
                       return layered({"steps of experience"}, reward.axis,
                                      {{data,
                                        "area",
                                        "steps",
                                        "p05",
                                        "",
                                        colour::kMeasured,
                                        {{"opacity", 0.25}},
                                        {{"y2", {{"field", "p95"}}}}},
                                       {data,
                                        "line",
                                        "steps",
                                        "median",
                                        "median over the seeds",
                                        colour::kMeasured,
                                        {{"point", {{"size", 20}}}}},
                                       {data, "line", "steps", "optimum", "exact optimum",
                                        colour::kExact, kDashed}});
                     }});
  }
  builder.figure({"learning", "Learning in rounds", "",
                  "What each round of data earned: it is collected by the policy learnt from the "
                  "rounds before, "
                  "some of its actions still at random. The band holds nine in ten seeds."},
                 plans);
}

}  // namespace waggle::app
