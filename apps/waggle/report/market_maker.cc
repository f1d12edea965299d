#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t kMostPoints = 2000;
const Axis kInventory{"inventory y (units of stock)"};

ChartPlan value_of_inventory() {
  return {"",
          {{"value", {"inventory", "value"}, kMostPoints},
           {"value_curve", {"inventory", "initial_policy_value", "optimal_value"}}},
          [](const std::vector<Loaded>& files) {
            const std::string& curves = files[1].data;
            return layered(kInventory, {"value (discounted profit)"},
                           {{files[0].data,
                             "point",
                             "inventory",
                             "value",
                             "learnt value of π_0",
                             colour::kMeasured,
                             {{"size", 6}, {"opacity", 0.5}, {"filled", true}}},
                            {curves, "line", "inventory", "initial_policy_value",
                             "exact value of π_0", colour::kExact},
                            {curves, "line", "inventory", "optimal_value",
                             "exact value of the optimal policy", colour::kEstimate, kDashed}},
                           320);
          }};
}

ChartPlan inventory_of(const std::string& title, const std::string& column,
                       const std::string& colour) {
  return {title,
          {{"inventory", {"step", "initial_policy", "improved_policy"}, 5000}},
          [=](const std::vector<Loaded>& files) {
            auto spec = layered(
                {"time step"}, kInventory,
                {{files[0].data, "line", "step", column, "", colour, {{"strokeWidth", 0.7}}}}, 240);
            // The same scale for both policies, or the tamed inventory looks as wild as the other.
            double most = 0.0;
            for (const char* name : {"initial_policy", "improved_policy"}) {
              for (const double y : files[0].columns.at(name)) {
                if (std::isfinite(y)) most = std::max(most, std::abs(y));
              }
            }
            spec["layer"][0]["encoding"]["y"]["scale"] = {{"domain", {-most, most}}};
            return spec;
          }};
}

ChartPlan action_scatter() {
  return {"",
          {{"scatter", {"inventory", "action", "optimal_action"}, kMostPoints}},
          [](const std::vector<Loaded>& files) {
            const std::string& data = files[0].data;
            return layered(kInventory, {"action a (units traded)"},
                           {{data,
                             "point",
                             "inventory",
                             "action",
                             "action of the improved policy",
                             colour::kMeasured,
                             {{"size", 6}, {"opacity", 0.5}, {"filled", true}}},
                            {data, "line", "inventory", "optimal_action", "optimal action",
                             colour::kEstimate}},
                           320);
          }};
}

ChartPlan stationary_histogram() {
  return {"",
          {{"histogram", {"lower", "upper", "density", "optimal_density"}}},
          [](const std::vector<Loaded>& files) {
            const std::string& data = files[0].data;
            return layered(
                kInventory, {"probability density (per unit of stock)", false, true},
                {{data,
                  "rect",
                  "lower",
                  "density",
                  "under the improved policy",
                  colour::kMeasured,
                  {{"opacity", 0.7}},
                  {{"x2", {{"field", "upper"}}}, {"y2", {{"datum", 0}}}}},
                 {data,
                  "line",
                  "middle",
                  "optimal_density",
                  "exact, under the optimal policy",
                  colour::kEstimate,
                  {},
                  {},
                  {{{"calculate", "(datum.lower + datum.upper) / 2"}, {"as", "middle"}}}}});
          }};
}

}  // namespace

void draw_market_maker(SectionBuilder& builder, const ordered_json& experiment) {
  const bool arrival = text_in(experiment, "timing") == "arrival";
  builder.figure(
      {"value", "Value against inventory", "figure 4",
       "Each point is the value learnt for one step of the random policy π_0. They should lie on "
       "the "
       "exact value of π_0, the policy being evaluated; the paper draws the optimal policy's "
       "curve, which is another one. Far out, where π_0 seldom goes, the estimate is at its "
       "worst."},
      {value_of_inventory()});
  builder.figure({"inventory", "Inventory over time", "figure 5",
                  "The initial policy lets the inventory wander; the learnt one holds it near zero "
                  "by trading against it."},
                 {inventory_of("initial policy π_0", "initial_policy", colour::kMeasured),
                  inventory_of("improved policy", "improved_policy", colour::kEstimate)});
  builder.figure(
      {"actions", "What it does at each inventory", "figure 6 (a)",
       fmt::format(
           "The improved policy trades against its inventory; its actions scatter, since it takes "
           "the best of a hundred random trades on a jagged estimate. The line is the exact "
           "optimum for reward on {}{}",
           arrival ? "arrival" : "departure",
           arrival ? "; the paper draws the one for departure."
                   : ", the line that the paper draws.")},
      {action_scatter()});
  builder.figure({"stationary", "Where the inventory spends its time", "figure 6 (b)",
                  "The histogram of the inventory under the improved policy next to the exact "
                  "normal density under the optimal policy of the same reward timing."},
                 {stationary_histogram()});
  const Reward reward = reward_of(experiment);
  std::string best = text_in(builder.listing("learning_curve"), "learner");
  add_ridge_path(builder, reward);
  add_learning_curves(builder, reward, {{best.empty() ? "best learner" : best}});
}

}  // namespace waggle::app
