#include <algorithm>

#include <fmt/format.h>

#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

const Axis kStep{"time step"};
const Axis kPosition{"position y (part of the circle)"};

FigureFile flight(const std::string& name) {
  return {name, {"step", "nectar", "value", "position"}};
}

ChartPlan nectar_and_value(const std::string& file) {
  return {"", {flight(file)}, [](const std::vector<Loaded>& files) {
            return layered(kStep, {"nectar per step, and value"},
                           {{files[0].data, "line", "step", "nectar", "nectar collected"},
                            {files[0].data, "line", "step", "value", "estimated value Wᵀx",
                             colour::kEstimate}});
          }};
}

/// The nectar at every place and step of a flight, as tiles that overlap a little: drawn side by
/// side they would show seams.
Layer nectar_tiles(SectionBuilder& builder, const Loaded& field, const Loaded& flight) {
  const auto [first, last] =
      std::minmax_element(flight.columns.at("step").begin(), flight.columns.at("step").end());
  Columns shown{{"step", "position", "nectar"}, {{}, {}, {}}};
  const auto& steps = field.columns.at("step");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] < *first || steps[i] > *last) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      shown.values[c].push_back(field.columns.at(shown.names[c])[i]);
    }
  }
  const std::string data =
      builder.dataset(fmt::format("nectar_field_from_{:g}", *first), std::move(shown));
  return {.data = data,
          .mark = "rect",
          .x = "step",
          .y = "low",
          .mark_options = {{"clip", true}, {"opacity", 1}},
          .channels = {{"x2", {{"field", "step_end"}}},
                       {"y2", {{"field", "high"}}},
                       {"color",
                        {{"field", "nectar"},
                         {"type", "quantitative"},
                         {"scale", {{"scheme", "viridis"}, {"domain", {0, 2}}}},
                         {"legend", nullptr}}}},
          .transform = {{{"calculate", "datum.step + 3"}, {"as", "step_end"}},
                        {{"calculate", "datum.position - 0.01"}, {"as", "low"}},
                        {{"calculate", "datum.position + 0.03"}, {"as", "high"}}}};
}

ChartPlan flight_map(SectionBuilder& builder, const std::string& title, const FigureFile& file,
                     const std::string& position) {
  return {title,
          {file, {"nectar_field", {"step", "position", "nectar"}}},
          [&builder, position](const std::vector<Loaded>& files) {
            ordered_json spec = layered(kStep, kPosition,
                                        {nectar_tiles(builder, files[1], files[0]),
                                         {.data = files[0].data,
                                          .mark = "circle",
                                          .x = "step",
                                          .y = position,
                                          .colour = "white",
                                          .mark_options = {{"size", 14}, {"opacity", 1}}}},
                                        240);
            for (auto& layer : spec["layer"]) {
              layer["encoding"]["y"]["scale"] = {{"domain", {0, 1}}, {"nice", false}};
              layer["encoding"]["x"]["scale"] = {{"zero", false}, {"nice", false}};
            }
            return spec;
          }};
}

}  // namespace

void draw_bee_world(SectionBuilder& builder, const ordered_json& experiment) {
  const std::string learner = text_in(experiment, "learner");
  std::string best = text_in(builder.listing("best_flight"), "learner");
  if (best.empty()) best = "best learner";
  const FigureFile reference{
      "reference", {"step", "optimal_position", "flow_position", "printed_flow_position"}};

  builder.figure(
      {"initial", "Nectar and value while the bee flies at random", "figure 1 (a)",
       "The first 250 steps of π_0. The value is what the flight will earn from here on, each step "
       "counting half as much as the one before: about twice the nectar, since a bee that "
       "moves at random stays near where it is."},
      {nectar_and_value("initial_flight")});
  builder.figure(
      {"improved", "Nectar and value once it acts on that value", "figure 2 (a)",
       "The first 250 steps of the improved policy. A bee that is always at the fullest place "
       "tastes "
       "between 1 and 2; one that flies at random falls to 0 again and again. How far this one "
       "has come from the second to the first is its learner's doing."},
      {nectar_and_value("improved_flight")});
  builder.figure(
      {"flights", "The flight over the nectar", "figures 1 (b) and 2 (b)",
       "Each dot is the bee at one step; light places are full of nectar, dark ones empty. A "
       "random "
       "bee crosses them blindly; a learnt one waits on the light islands and changes to the next "
       "as "
       "they fade, and the exact optimum, from a dynamic program that knows the whole field, shows "
       "how well that can be done at all."},
      {flight_map(builder, "random flight π_0", flight("initial_flight"), "position"),
       flight_map(builder, fmt::format("improved policy, learner '{}'", learner),
                  flight("improved_flight"), "position"),
       flight_map(builder, fmt::format("best learner, '{}'", best), flight("best_flight"),
                  "position"),
       flight_map(builder, "exact optimum", reference, "optimal_position")});
  builder.figure({"flow", "The paper's Euler–Lagrange flow", "figure 3",
                  "As printed, with one sign wrong, the flow flies off at full speed and crosses "
                  "the nectar as a "
                  "blind bee would; with the sign corrected it dwells on the islands, as the "
                  "paper's picture does."},
                 {flight_map(builder, "as printed", reference, "printed_flow_position"),
                  flight_map(builder, "with its sign corrected", reference, "flow_position")});
  const Reward reward = reward_of(experiment);
  add_ridge_path(builder, reward);
  add_learning_curves(builder, reward, {{best}});
}

}  // namespace waggle::app
