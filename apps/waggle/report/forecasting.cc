#include <fmt/format.h>

#include "sections.h"

namespace waggle::app {

namespace {

ChartPlan prediction(const std::string& file) {
  return {"the series and its prediction",
          {{file, {"step", "target", "prediction", "error"}}},
          [](const std::vector<Loaded>& files) {
            const std::string& data = files[0].data;
            return layered(
                {"step of the test"}, {"value (scaled)"},
                {{data, "line", "step", "target", "series", colour::kExact},
                 {data, "line", "step", "prediction", "prediction", colour::kEstimate, kDashed}},
                240);
          }};
}

ChartPlan error_of(const std::string& file) {
  return {
      "its error",
      {{file, {"step", "target", "prediction", "error"}}},
      [](const std::vector<Loaded>& files) {
        return layered(
            {"step of the test"}, {"prediction − series"},
            {{files[0].data, "line", "step", "error", "", colour::kMeasured, {{"strokeWidth", 1}}}},
            240);
      }};
}

ChartPlan lorenz(const std::string& coordinate) {
  return {fmt::format("coordinate {}", coordinate),
          {{"lorenz_closed_loop", {"lyapunov_time", coordinate, coordinate + "_loop"}}},
          [coordinate](const std::vector<Loaded>& files) {
            const std::string& data = files[0].data;
            return layered(
                {"time (Lyapunov times)"}, {coordinate + " (scaled)"},
                {{data, "line", "lyapunov_time", coordinate, "Lorenz system", colour::kExact},
                 {data, "line", "lyapunov_time", coordinate + "_loop", "free run",
                  colour::kEstimate, kDashed}},
                220);
          }};
}

ChartPlan memory(const std::string& units) {
  return {units + " units",
          {{"memory_" + units, {"delay", "squared_correlation"}}},
          [](const std::vector<Loaded>& files) {
            return layered({"delay (steps)"}, {"share of the input recalled", false, true},
                           {{files[0].data,
                             "area",
                             "delay",
                             "squared_correlation",
                             "",
                             colour::kMeasured,
                             {{"opacity", 0.6}}}},
                           220);
          }};
}

}  // namespace

void draw_forecasting(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  builder.figure({"mackey-glass", "Mackey–Glass, ten steps ahead", "",
                  "The prediction hides the series: its error, beside it, is tens of thousands "
                  "of times smaller."},
                 {prediction("mackey_glass_10"), error_of("mackey_glass_10")});
  builder.figure(
      {"narma10", "NARMA10", "",
       "A series that depends on the product of inputs ten steps apart: the reservoir must "
       "remember and multiply."},
      {prediction("narma10"), error_of("narma10")});
  builder.figure(
      {"lorenz", "Lorenz, running freely", "",
       "After 200 true steps the model is fed on its own predictions. It follows a chaotic "
       "system, whose errors grow e-fold every Lyapunov time, until they have grown to the "
       "attractor's size; from then on it only looks like it."},
      {lorenz("x"), lorenz("z")});
  builder.figure(
      {"memory", "What the reservoir remembers", "",
       "The share of a white-noise input that a linear readout recovers after a delay. The "
       "area is the memory capacity; no reservoir of n units has more than n."},
      {memory("100"), memory("300")});
}

}  // namespace waggle::app
