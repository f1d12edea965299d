#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/table.h>
#include <waggle/forecast.h>
#include <waggle/log.h>

#include "commands.h"
#include "config.h"
#include "figures.h"
#include "progress.h"
#include "repeat_command.h"
#include "reservoir_flags.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct ForecastCommand {
  std::filesystem::path file;
  std::vector<std::string> columns;
  ForecastOptions options;
  SupervisedFlags flags;
  std::filesystem::path out;
  bool json = false;
  std::string repeat;  // the command line

  void run();
};

std::string number(double value) {
  const double size = std::abs(value);
  const bool plain = value == 0.0 || (size >= 1e-3 && size < 1e5);
  return fmt::format(fmt::runtime(plain ? "{:.4f}" : "{:.2e}"), value);
}

std::string model_heading(const std::vector<std::string>& names, const std::string& last) {
  std::string text = fmt::format("  {:<26} {:>10} {:>10}", "model", "NRMSE", "R²");
  if (names.size() > 1) {
    for (const std::string& name : names) text += fmt::format(" {:>10}", "NRMSE " + name);
  }
  return text + (last.empty() ? "" : fmt::format(" {:>17}", last)) + "\n";
}

std::string score_cells(const std::optional<Score>& score, std::size_t columns) {
  if (!score) {
    return fmt::format(" {:>10} {:>10}", "–", "–") +
           (columns > 1 ? std::string(11 * columns, ' ') : "");
  }
  std::string text = fmt::format(
      fmt::runtime(score->overall_r_squared > -1e3 ? " {:>10} {:>10.6f}" : " {:>10} {:>10.2e}"),
      number(score->overall_nrmse), score->overall_r_squared);
  if (columns > 1) {
    for (const double nrmse : score->nrmse) text += fmt::format(" {:>10}", number(nrmse));
  }
  return text;
}

std::string to_table(const ForecastRun& run, const Series& series) {
  const std::size_t columns = series.names.size();
  std::string text = fmt::format("{} of {}: trained on {} rows", fmt::join(series.names, ", "),
                                 series.where, run.trained);
  if (run.tested > 0) {
    text += fmt::format(", tested on the {} after them, {} step{} ahead\n", run.tested,
                        run.options.horizon, run.options.horizon == 1 ? "" : "s");
    text += model_heading(series.names, "");
    for (const ForecastModel& model : run.models) {
      text += fmt::format("  {:<26}{}\n", model.name, score_cells(model.score, columns));
    }
  } else {
    text += "\n";
  }
  if (run.options.closed_loop > 0) {
    const Index known = std::min(run.options.closed_loop, run.tested);
    text += fmt::format("closed loop, {} steps", run.options.closed_loop);
    text += known > 0 ? fmt::format(", scored over the {} that are known\n", known)
                      : ", beyond the end of the series\n";
    if (known > 0) text += model_heading(series.names, "steps within 0.4σ");
    for (const ForecastModel& model : run.models) {
      if (known > 0) {
        text += fmt::format("  {:<26}{} {:>17}\n", model.name,
                            score_cells(model.free_score, columns), *model.free_valid);
      }
      if (model.diverged_at) {
        text += fmt::format("  ! {} ran away at step {}\n", model.name, *model.diverged_at + 1);
      }
    }
  }
  const FitDiagnostics& fit = run.diagnostics;
  text += fmt::format("fit: {} features, {} of them independent, λ = {:.1e} of the mean square",
                      fit.features, fit.rank, fit.relative_ridge);
  if (!run.options.model.solve.choose()) return text + "\n";
  text += ", chosen by cross-validation\n";
  const RidgeEdge edge = fit.ridge_edge();
  if (edge == RidgeEdge::none) return text;
  const bool smallest = edge == RidgeEdge::smallest;
  return text + fmt::format("  ! λ was chosen at the {} end of its range: give a {}_ridge\n",
                            smallest ? "lower" : "upper",
                            smallest ? "smaller smallest" : "larger largest");
}

ordered_json to_json(const Score& score) {
  return {{"nrmse", score.overall_nrmse},
          {"r_squared", score.overall_r_squared},
          {"nrmse_by_column", std::vector<double>(score.nrmse.begin(), score.nrmse.end())}};
}

ordered_json to_json(const ForecastRun& run, const Series& series, const std::string& command) {
  ordered_json json = start_json("forecast", command);
  json["columns"] = series.names;
  json["trained"] = run.trained;
  json["tested"] = run.tested;
  json["horizon"] = run.options.horizon;
  json["closed_loop"] = run.options.closed_loop;
  json["options"] = app::to_json(run.options.model);
  json["seed"] = run.options.model.reservoir.seed;
  json["fit"] = {{"features", run.diagnostics.features},
                 {"rank", run.diagnostics.rank},
                 {"samples", run.diagnostics.samples},
                 {"relative_ridge", run.diagnostics.relative_ridge},
                 {"ridge_at_end_of_range", run.diagnostics.ridge_edge() != RidgeEdge::none}};
  for (const ForecastModel& model : run.models) {
    ordered_json entry = {{"name", model.name}};
    if (model.score) entry["score"] = to_json(*model.score);
    if (run.options.closed_loop > 0) {
      ordered_json loop = ordered_json::object();
      if (model.free_score) loop = to_json(*model.free_score);
      if (model.free_valid) loop["valid_steps"] = *model.free_valid;
      loop["diverged_at"] =
          model.diverged_at ? ordered_json(*model.diverged_at) : ordered_json(nullptr);
      entry["closed_loop"] = loop;
    }
    json["models"].push_back(entry);
  }
  return json;
}

/// One line for each row after the training part: what was, what was predicted, and the free run.
std::string to_csv(const ForecastRun& run, const Series& series) {
  const ForecastModel& network = run.models.front();
  const bool tested = run.tested > 0;
  const bool free = run.options.closed_loop > 0;
  std::string text = "row";
  for (const std::string& name : series.names) {
    text += "," + csv_cell(name);
    if (tested) text += "," + csv_cell(name + "_predicted");
    if (free) text += "," + csv_cell(name + "_closed_loop");
  }
  text += "\n";
  const auto cell = [](const Eigen::MatrixXd& values, Index row, Index k) {
    return k < values.cols() ? fmt::format(",{}", values(row, k)) : ",";
  };
  const Index lines = std::max(run.tested, free ? network.free_run.cols() : 0);
  for (Index k = 0; k < lines; ++k) {
    text += fmt::format("{}", run.trained + k);
    for (Index c = 0; c < series.values.rows(); ++c) {
      text += cell(series.values, c, run.trained + k);
      if (tested) text += cell(network.predictions, c, k);
      if (free) text += cell(network.free_run, c, k);
    }
    text += "\n";
  }
  return text;
}

/// An interruption leaves out the baselines that are not done.
ForecastRun run_and_show_progress(const Series& series, const ForecastOptions& options) {
  ProgressLine line("forecast", "models", 3.0);
  try {
    return run_forecast(series, options, [&](const waggle::Progress& progress) {
      line.update(progress.done);
      return !interrupted();
    });
  } catch (const Stopped&) {
    throw Interrupted();
  }
}

void ForecastCommand::run() {
  const SupervisedOptions model = flags.read();
  ForecastOptions complete = options;
  complete.model = model;
  complete.validate();
  if (complete.test_fraction == 0.0 && out.empty()) {
    throw Error("--test-fraction 0: there is nothing to score, so say with --out where to write");
  }
  if (!out.empty()) {
    require_writable_directory(out);
    require_output(out / "predictions.csv", {file});
  }
  const Series series = read_series(file, columns);
  heed_interrupts();
  const ForecastRun result =
      run_interruptibly([&] { return run_and_show_progress(series, complete); });
  ordered_json all = to_json(result, series, repeat);
  if (!out.empty()) {
    write_file(out / "predictions.csv", to_csv(result, series));
    all["figures"].push_back({{"name", "predictions"}, {"file", "predictions.csv"}});
    write_file(out / "results.json", to_text(all));
  }
  print(json ? to_text(all) : to_table(result, series));
}

}  // namespace

void add_forecast(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "forecast", "Forecast a time series, beside persistence and linear autoregression");
  auto options = std::make_shared<ForecastCommand>();
  command->add_option("series", options->file, "CSV file with a header line")->required();
  take_list(command->add_option("--column", options->columns,
                                "name of the column to forecast; repeat it for several at once"))
      ->required();
  ForecastOptions& forecast = options->options;
  command->add_option("--horizon", forecast.horizon, "steps ahead to forecast")
      ->capture_default_str();
  command
      ->add_option("--closed-loop", forecast.closed_loop,
                   "steps to run freely from where training ends, fed on its own predictions; 0: "
                   "not at all")
      ->capture_default_str();
  command
      ->add_option("--test-fraction", forecast.test_fraction,
                   "the last part of the series, kept to test on; 0 trains on all of it")
      ->capture_default_str();
  command->add_option("--out", options->out,
                      "directory for results.json and the predictions as CSV");
  command->add_flag("--json", options->json, "print JSON instead of the table");
  options->flags.add_reservoir(*command);
  options->flags.add_fit(*command);
  command->footer(
      "Example:\n  waggle-paper series mackey-glass --steps 4000 -o series.csv\n"
      "  waggle forecast series.csv --column x --horizon 10 --out out");
  command->callback([options, command] {
    options->repeat = repeat_command(*command);
    options->run();
  });
}

}  // namespace waggle::app
