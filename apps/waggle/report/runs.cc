#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

/// A section of one run, with what every kind of run says of itself.
SectionBuilder start(Document& document, const std::string& id, const std::string& title,
                     const ordered_json& results, const std::filesystem::path& folder) {
  SectionBuilder builder(document, id, folder, member_of(results, "figures"));
  builder.section.title = title;
  builder.section.command = text_in(results, "command");
  builder.section.version = text_in(results, "version");
  builder.section.options = member_of(results, "options");
  for (const ordered_json& warning : member_of(results, "warnings")) {
    if (warning.is_string()) builder.section.notes.push_back(warning);
  }
  return builder;
}

/// A table of every number and word at the top of an object and one level below.
ReportTable facts_table(const std::string& caption, const ordered_json& object,
                        const std::vector<std::string>& leave_out) {
  ReportTable table{caption, {"quantity", "value"}, {}};
  const auto add = [&](std::string name, const ordered_json& value) {
    std::replace(name.begin(), name.end(), '_', ' ');
    if (value.is_number_integer()) table.rows.push_back({name, value.dump()});
    if (value.is_number_float()) table.rows.push_back({name, shown(value.get<double>())});
    if (value.is_string()) table.rows.push_back({name, value.get<std::string>()});
    if (value.is_boolean()) table.rows.push_back({name, value.get<bool>() ? "yes" : "no"});
  };
  for (const auto& [name, value] : object.items()) {
    if (std::find(leave_out.begin(), leave_out.end(), name) != leave_out.end()) continue;
    add(name, value);
    if (!value.is_object()) continue;
    for (const auto& [inner, number] : value.items())
      add(fmt::format("{}: {}", name, inner), number);
  }
  return table;
}

/// What sections say elsewhere, or nowhere.
const std::vector<std::string> kNotFacts = {
    "version",          "kind",        "command",      "options",        "figures",
    "warnings",         "environment", "sizes",        "has_confidence", "channels",
    "divergence_limit", "provenance",  "action_bounds"};

void add_calibration(SectionBuilder& builder) {
  if (!builder.lists("calibration")) return;
  builder.figure(
      {"calibration", "Does the value come true?", "",
       "The rows of the log in tenths by their estimated value, and the mean discounted return "
       "that "
       "followed in the log. On the dashed line the estimate is what followed. Where the learnt "
       "policy "
       "is better than the logged one its values lie to the right of it: it expects to earn more "
       "than "
       "was earned."},
      {{"",
        {{"calibration", {"value", "return", "deviation"}}},
        [&](const std::vector<Loaded>& files) {
          const auto& values = files[0].columns.at("value");
          const auto [low, high] = std::minmax_element(values.begin(), values.end());
          const std::string diagonal =
              builder.dataset("diagonal", {{"value", "return"}, {{*low, *high}, {*low, *high}}});
          const ordered_json spread = {
              {{"calculate", "datum.return - datum.deviation"}, {"as", "below"}},
              {{"calculate", "datum.return + datum.deviation"}, {"as", "above"}}};
          return layered(
              {"estimated value"}, {"discounted return"},
              {{files[0].data,
                "rule",
                "value",
                "below",
                "",
                colour::kMeasured,
                {{"opacity", 0.5}},
                {{"y2", {{"field", "above"}}}},
                spread},
               {files[0].data,
                "point",
                "value",
                "return",
                "a tenth of the rows",
                colour::kMeasured,
                {{"filled", true}, {"size", 50}}},
               {diagonal, "line", "value", "return", "as estimated", colour::kExact, kDashed}},
              300);
        }}});
}

/// The mean of a log's rewards over the last steps; those that are no numbers do not count.
Columns running_mean(const std::vector<double>& rewards, std::size_t window) {
  Columns means{{"step", "mean"}, {{}, {}}};
  const std::size_t stride = std::max<std::size_t>(1, window / 10);
  double sum = 0.0, count = 0.0;
  const auto add = [&](double reward, double sign) {
    if (!std::isfinite(reward)) return;
    sum += sign * reward;
    count += sign;
  };
  for (std::size_t k = 0; k < rewards.size(); ++k) {
    add(rewards[k], 1.0);
    if (k >= window) add(rewards[k - window], -1.0);
    if (k + 1 < window || (k + 1) % stride != 0 || count == 0.0) continue;
    means.values[0].push_back(static_cast<double>(k + 1));
    means.values[1].push_back(sum / count);
  }
  return means;
}

}  // namespace

void add_learning(Document& document, const ordered_json& results,
                  const std::filesystem::path& folder) {
  SectionBuilder builder =
      start(document, "learn", "A controller learnt from a log", results, folder);
  builder.section.tables.push_back(facts_table("What was learnt from what", results, kNotFacts));
  builder.figure(
      {"value", "Reward and value at the end of the log", "",
       "The value is the discounted reward that the learnt policy expects from each step "
       "on, seen through its memory of the log."},
      {{"", {{"value", {"row", "reward", "value"}}}, [](const std::vector<Loaded>& files) {
          const std::string& data = files[0].data;
          return layered({"row of the log"}, {"reward per step, and value"},
                         {{data, "line", "row", "reward", "reward"},
                          {data, "line", "row", "value", "estimated value", colour::kEstimate}});
        }}});
  if (builder.lists("ridge_path")) {
    builder.figure(
        {"ridge", "How much to regularise", "",
         "The cross-validated error of every λ that was considered; the lowest was taken."},
        {{"", {{"ridge_path", {"ridge", "error"}}}, [](const std::vector<Loaded>& files) {
            return layered({"λ / mean squared feature", true, false, ".0e"}, {"error", true},
                           {{files[0].data,
                             "line",
                             "ridge",
                             "error",
                             "",
                             colour::kMeasured,
                             {{"point", {{"size", 20}}}}}});
          }}});
  }
  add_calibration(builder);
  builder.finish();
}

void add_evaluation(Document& document, const ordered_json& results,
                    const std::filesystem::path& folder) {
  const std::string environment = text_in(results, "environment");
  SectionBuilder builder =
      start(document, "evaluate", "A controller on " + environment, results, folder);
  builder.section.options = member_of(results, "environment_options");
  const std::string judged = text_in(results, "score");  // by episodes, if it is said by what
  ReportTable table{judged.empty() ? "Mean reward per step, and the standard error of that mean"
                                   : "By the " + judged + ", and the standard error of that mean",
                    {"policy", judged.empty() ? "mean reward" : "score", "± standard error"},
                    {}};
  const auto row = [&](const std::string& name, const std::string& key) {
    const ordered_json& score = member_of(results, key);
    const auto mean = number_in(score, score.contains("score") ? "score" : "mean_reward");
    table.rows.push_back(
        {name, mean ? shown(mean) : "lost the system", shown(number_in(score, "standard_error"))});
  };
  row("learnt", "learnt");
  row("initial", "initial");
  if (results.contains("optimum")) row("optimum, exact", "optimum");
  if (results.contains("reference")) row("reference", "reference");
  builder.section.tables.push_back(std::move(table));

  const std::string reward = text_in(results, "reward");
  const std::string column = reward.empty() ? "reward" : reward;
  const auto optimum = number_in(member_of(results, "optimum"), "mean_reward");
  builder.figure(
      {"reward", "Reward over time", "",
       "The mean over a window that moves with time, a fiftieth of the run. The learnt policy "
       "starts "
       "with an empty memory and needs a moment to know where it is."},
      {{"", {{"learnt", {column}}, {"initial", {column}}}, [&](const std::vector<Loaded>& files) {
          std::vector<Layer> layers;
          const auto mean = [&](const Loaded& file, const std::string& label, const char* colour) {
            const auto& rewards = file.columns.at(column);
            const std::size_t window = std::max<std::size_t>(1, rewards.size() / 50);
            layers.push_back({builder.dataset(label + " mean", running_mean(rewards, window)),
                              "line", "step", "mean", label, colour});
          };
          mean(files[0], "learnt policy", colour::kEstimate);
          mean(files[1], "initial policy", colour::kMeasured);
          if (optimum) {
            layers.push_back({builder.dataset("optimum", {{"mean"}, {{*optimum}}}), "rule", "",
                              "mean", "exact optimum", colour::kExact, kDashed});
          }
          return layered({"time step"}, {"mean " + column + " per step"}, layers);
        }}});
  builder.finish();
}

void add_log_evaluation(Document& document, const ordered_json& results,
                        const std::filesystem::path& folder) {
  SectionBuilder builder =
      start(document, "evaluate-log", "A controller on a log it has not seen", results, folder);
  builder.section.tables.push_back(
      facts_table("Off-policy, without flying it", results, kNotFacts));
  add_calibration(builder);
  builder.finish();
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
