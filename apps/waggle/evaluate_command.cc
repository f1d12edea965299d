#include "evaluate_command.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/evaluation.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/rollout.h>

#include "core/check.h"
#include "core/text.h"
#include "environments.h"
#include "files/atomic_file.h"
#include "learning_figures.h"
#include "logs/csv.h"
#include "model_text.h"
#include "option_flags.h"
#include "progress.h"
#include "repeat_command.h"
#include "results.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct EvaluateCommand {
  ConfigFile config;
  OptionFlags flags;
  std::filesystem::path model;
  std::vector<std::string> targets;
  Index steps = 10'000;
  Index episodes = 1;
  std::uint64_t seed = 0;
  std::filesystem::path out;
  bool json = false;
  std::string repeat;  // the command line

  void run();
  void on_environment(const Model& model, const toml::table& options) const;
  void on_logs(const Model& model) const;
  void finish(const ordered_json& result, const std::string& table) const;
};

std::string score_text(const PolicyScore& score) {
  return score.diverged ? fmt::format("lost the system after {} steps", score.first.steps())
                        : fmt::format("{:.4f} ± {:.4f}", score.mean, score.standard_error);
}

ordered_json score_json(const PolicyScore& score) {
  if (score.diverged) return {{"diverged", true}, {"steps", score.first.steps()}};
  return {
      {"diverged", false}, {"mean_reward", score.mean}, {"standard_error", score.standard_error}};
}

void EvaluateCommand::on_environment(const Model& loaded, const toml::table& options) const {
  BuiltIn built_in = make_built_in(targets.front(), options);
  require_controls(loaded, built_in);
  const EnvironmentSpec spec = built_in.environment->spec();
  heed_interrupts();
  GreedyPolicy greedy = loaded.policy();
  const auto score = [&](Policy& policy, double divergence_limit) {
    return run_interruptibly([&] {
      ProgressLines lines("steps");
      return score_policy(
          *built_in.environment, policy,
          {.steps = steps, .runs = episodes, .seed = seed, .divergence_limit = divergence_limit},
          lines.callback());
    });
  };
  const PolicyScore learnt = score(greedy, loaded.divergence_limit);
  const PolicyScore initial = score(*built_in.initial, RolloutOptions().divergence_limit);
  std::optional<BuiltIn::Optimum> optimum;
  if (built_in.optimum) optimum = built_in.optimum(loaded.options.value.discount);

  ordered_json result = start_json("evaluation", repeat);
  result["model"] = model.string();
  result["environment"] = built_in.name;
  result["environment_options"] = built_in.options;
  result["steps"] = steps;
  result["episodes"] = episodes;
  result["seed"] = seed;
  result["reward"] = spec.reward_name;
  result["learnt"] = score_json(learnt);
  result["initial"] = score_json(initial);
  if (optimum) result["optimum"] = {{"mean_reward", optimum->mean_reward}};

  std::string table = fmt::format(
      "{} on {}, {} steps{}, seed {}: mean {} ± standard error\n", model.string(), built_in.name,
      steps, episodes > 1 ? fmt::format(", {} episodes", episodes) : "", seed, spec.reward_name);
  table += table_line("learnt policy", score_text(learnt));
  table += table_line(built_in.initial_name, score_text(initial));
  if (optimum) {
    table += table_line("optimum, exact",
                        fmt::format("{:.4f}   {}", optimum->mean_reward, optimum->label));
  }
  if (!out.empty()) {
    require_writable_directory(out);
    write_log(out / "learnt.csv", spec, learnt.first);
    write_log(out / "initial.csv", spec, initial.first);
    result["figures"].push_back({{"name", "learnt"}, {"file", "learnt.csv"}});
    result["figures"].push_back({{"name", "initial"}, {"file", "initial.csv"}});
  }
  finish(result, table);
}

std::string to_table(const Model& model, const LogEvaluation& e) {
  std::string text = table_line("mean reward logged", fmt::format("{:.4g}", e.mean_reward));
  text +=
      table_line("Bellman error",
                 fmt::format("{:.4g} of the logged actions, {:.4g} greedy, {:.4g} "
                             "when it was learnt",
                             e.bellman_error, e.greedy_bellman_error, model.diagnostics.residual));
  if (e.with_return >= 2) {
    text += table_line(
        "value and return",
        fmt::format("correlation {:.3f}; return ≈ {:.3f} value {} {:.4g}; {} rows", e.correlation,
                    e.slope, e.intercept < 0 ? "−" : "+", std::abs(e.intercept), e.with_return));
    if (model.options.sweeps > 0) {
      text += "  (the value is that of the learnt policy, the return that of the logged one)\n";
    }
    text += "  by value:     rows      value     return  deviation\n";
    for (const LogEvaluation::Decile& decile : e.deciles) {
      text += fmt::format("           {:>8} {:>10.4g} {:>10.4g} {:>10.4g}\n", decile.rows,
                          decile.value, decile.realised, decile.deviation);
    }
  } else {
    text += table_line("value and return", "too few rows to know what followed");
  }
  if (model.controller.actions.is_discrete()) {
    text +=
        table_line("actions agree", fmt::format("in {:.1f} % of the rows", 100.0 * e.same_share));
  } else {
    for (Index i = 0; i < e.action_difference.size(); ++i) {
      text += table_line(i == 0 ? "greedy − logged" : "",
                         fmt::format("{}: root mean square {:.4g}, logged deviation {:.4g}",
                                     model.environment.action_names[static_cast<std::size_t>(i)],
                                     e.action_difference[i], e.action_deviation[i]));
    }
  }
  for (const std::string& warning : e.warnings) text += fmt::format("  ! {}\n", warning);
  return text;
}

ordered_json to_json(const Model& model, const LogEvaluation& e) {
  ordered_json json;
  json["rows"] = e.rows;
  json["episodes"] = e.episodes;
  json["judged"] = e.judged;
  json["mean_reward"] = e.mean_reward;
  json["bellman_error"] = e.bellman_error;
  json["greedy_bellman_error"] = e.greedy_bellman_error;
  json["values"] = {{"lowest", e.lowest_value}, {"highest", e.highest_value}};
  json["warnings"] = e.warnings;
  json["calibration"] = {{"rows", e.with_return},
                         {"slope", e.slope},
                         {"intercept", e.intercept},
                         {"correlation", e.correlation},
                         {"deciles", ordered_json::array()}};
  for (const LogEvaluation::Decile& decile : e.deciles) {
    json["calibration"]["deciles"].push_back({{"rows", decile.rows},
                                              {"value", decile.value},
                                              {"return", decile.realised},
                                              {"deviation", decile.deviation}});
  }
  if (model.controller.actions.is_discrete()) {
    json["agreement"] = {{"same_share", e.same_share}};
  } else {
    const auto list = [](const Eigen::VectorXd& v) {
      return std::vector<double>(v.begin(), v.end());
    };
    json["agreement"] = {{"rms_difference", list(e.action_difference)},
                         {"logged_deviation", list(e.action_deviation)}};
  }
  return json;
}

std::string rows_csv(const Model& model, const LogEvaluation& e) {
  std::string text = "row,reward,value,return,td_error";
  for (const std::string& name : model.environment.action_names) text += "," + csv_cell(name);
  for (const std::string& name : model.environment.action_names) {
    text += "," + csv_cell(name + "_greedy");
  }
  text += "\n";
  for (std::size_t k = 0; k < e.by_row.size(); ++k) {
    text += fmt::format("{}", k);
    for (const double cell : e.by_row[k]) {
      text += std::isnan(cell) ? std::string(",") : fmt::format(",{}", cell);
    }
    text += "\n";
  }
  return text;
}

void EvaluateCommand::on_logs(const Model& loaded) const {
  Log log = [&] {
    try {
      return Log(targets, LogOptions::of(loaded));
    } catch (const Error& error) {
      throw Error(fmt::format("the log must have the model's columns ({}): {}",
                              channel_list(loaded), error.what()));
    }
  }();
  heed_interrupts();
  const LogEvaluation evaluation = run_interruptibly([&] {
    ProgressLines lines("rows");
    return evaluate_on_log(loaded, log, {.seed = seed, .kept_rows = out.empty() ? 0 : log.rows()},
                           lines.callback());
  });
  ordered_json result = start_json("log-evaluation", repeat);
  result["model"] = model.string();
  result["logs"] = targets;
  result["seed"] = seed;
  result.update(to_json(loaded, evaluation));
  if (!out.empty()) {
    require_writable_directory(out);
    write_file(out / "rows.csv", rows_csv(loaded, evaluation));
    result["figures"] = write_figures(out, "", {calibration_figure(evaluation)});
  }
  finish(result, fmt::format("{} on {}, off-policy: {} rows, {} episode{}, {} judged\n",
                             model.string(), listed(targets), evaluation.rows, evaluation.episodes,
                             evaluation.episodes == 1 ? "" : "s", evaluation.judged) +
                     to_table(loaded, evaluation));
}

void EvaluateCommand::finish(const ordered_json& result, const std::string& table) const {
  const std::string text = to_text(result);
  if (!out.empty()) write_file(out / "results.json", text);
  print(json ? text : table);
}

void EvaluateCommand::run() {
  const toml::table options = merge(config.apply(), flags);
  require(steps >= 1, "--steps {}: must be at least 1", steps);
  require(episodes >= 1, "--episodes {}: must be at least 1", episodes);
  require(episodes <= std::numeric_limits<Index>::max() / 2 / steps,
          "--steps {} and --episodes {}: too many", steps, episodes);
  const Model loaded = load_model(model);
  if (is_environment(targets.front())) {
    require(targets.size() == 1, "one environment at a time, not {}", listed(targets));
    on_environment(loaded, options);
  } else {
    require(options.empty(), "options of an environment do not apply to a log");
    on_logs(loaded);
  }
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "Score a model on an environment, or off-policy on a log it has not seen");
  auto options = std::make_shared<EvaluateCommand>();
  command->add_option("model", options->model, "a model file")->required();
  command
      ->add_option("target", options->targets,
                   fmt::format("{}, or log files", fmt::join(environment_names(), ", ")))
      ->required();
  command->add_option("--steps", options->steps, "on an environment: steps of an episode")
      ->capture_default_str();
  command
      ->add_option("--episodes", options->episodes,
                   "on an environment: how many, each with a seed of its own")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the environment, and of random candidates")
      ->capture_default_str();
  command->add_option("--out", options->out, "directory for results.json and the data as CSV");
  command->add_flag("--json", options->json, "print JSON instead of the table");
  add_environment_flags(*command, options->flags);
  options->config.add(*command, &options->flags);
  command->footer(
      "Example:\n  waggle evaluate bee.safetensors bee-world --steps 10000\n"
      "  waggle evaluate bee.safetensors another_log.csv --out out");
  command->callback([options, command] {
    options->repeat = repeat_command(*command);
    options->run();
  });
}

}  // namespace waggle::app
