#include <fmt/format.h>

#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

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

void add_forecasting_figures(SectionBuilder& builder) {
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

void add_forecast(Document& document, const ordered_json& results,
                  const std::filesystem::path& folder) {
  SectionBuilder builder(document, "forecast", folder, member_of(results, "figures"));
  const ordered_json& columns = member_of(results, "columns");
  builder.section.title = "Forecast";
  const auto steps = number_in(results, "horizon");
  builder.section.text = fmt::format(
      "Trained on {:g} rows, tested on the {:g} after them, {:g} step{} ahead.",
      number_in(results, "trained").value_or(0), number_in(results, "tested").value_or(0),
      steps.value_or(1), steps == 1.0 ? "" : "s");
  builder.section.command = text_in(results, "command");
  builder.section.version = text_in(results, "version");
  builder.section.options = member_of(results, "options");
  const bool tested = number_in(results, "tested").value_or(0) > 0;
  const bool loop = number_in(results, "closed_loop").value_or(0) > 0;
  ReportTable table{"Errors on the test part, beside persistence and a linear autoregression",
                    {"model", "NRMSE", "R²"},
                    {}};
  if (loop) table.columns.insert(table.columns.end(), {"closed loop NRMSE", "steps within 0.4σ"});
  for (const ordered_json& model : member_of(results, "models")) {
    const ordered_json& score = member_of(model, "score");
    table.rows.push_back({text_in(model, "name"), shown(number_in(score, "nrmse")),
                          shown(number_in(score, "r_squared"))});
    if (!loop) continue;
    const ordered_json& free = member_of(model, "closed_loop");
    const auto valid = number_in(free, "valid_steps");
    table.rows.back().push_back(shown(number_in(free, "nrmse")));
    table.rows.back().push_back(valid ? fmt::format("{:g}", *valid) : "");
  }
  builder.section.tables.push_back(std::move(table));
  int index = 0;
  for (const ordered_json& column : columns) {
    if (!column.is_string()) continue;
    const std::string name = column;
    FigureFile file{"predictions", {"row", name}, 5000, true};
    if (tested) file.columns.push_back(name + "_predicted");
    if (loop) file.columns.push_back(name + "_closed_loop");
    // Under names of our own: a column's may be anything, and Vega reads some as paths.
    const std::string own = fmt::format("column_{}", ++index);
    builder.figure(
        {own, fmt::format("{} and its forecast", name), "",
         loop ? "The free run is fed on its own predictions from the end of the training part; the "
                "other forecasts see the series up to the step they start from."
              : "Each forecast sees the series up to the step it starts from."},
        {{"", {file}, [&](const std::vector<Loaded>& files) {
            Columns shown{{"row", "series"},
                          {files[0].columns.at("row"), files[0].columns.at(name)}};
            std::vector<Layer> layers = {{"", "line", "row", "series", "series", colour::kExact}};
            const auto add = [&](const std::string& field, const std::string& label,
                                 const std::string& from, const char* colour) {
              shown.names.push_back(field);
              shown.values.push_back(files[0].columns.at(from));
              layers.push_back({"", "line", "row", field, label, colour});
            };
            if (tested) add("forecast", "forecast", name + "_predicted", colour::kEstimate);
            if (loop) add("free_run", "free run", name + "_closed_loop", colour::kOther);
            const std::string data = builder.dataset(own, std::move(shown));
            for (Layer& layer : layers) layer.data = data;
            return layered({"row"}, {name}, layers, 280);
          }}});
  }
  builder.finish();
}

}  // namespace waggle::app
