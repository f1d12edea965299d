#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/require.h>
#include <waggle/detail/text.h>
#include <waggle/evaluation.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/rollout.h>

#include "commands.h"
#include "environments.h"
#include "figures.h"
#include "log_evaluation_text.h"
#include "log_flags.h"
#include "model_text.h"
#include "option_flags.h"
#include "progress.h"
#include "repeat_command.h"
#include "usage.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct EvaluateCommand {
  ConfigFile config;
  OptionFlags flags;
  std::filesystem::path model;
  std::vector<std::string> targets;
  Index steps = EpisodeScoreOptions().max_steps;
  std::optional<Index> episodes;
  std::uint64_t seed = 0;
  std::filesystem::path out;
  bool json = false;
  bool no_reference = false;
  LogFlags reading;
  std::string repeat;  // the command line

  void run();
  void on_environment(const Model& model, const toml::table& options) const;
  void by_steps(const Model& model, BuiltIn& built_in) const;
  void by_episodes(const Model& model, BuiltIn& built_in) const;
  ordered_json head(const BuiltIn& built_in, Index count) const;
  void add_reference(const BuiltIn& built_in, ordered_json& result, std::string& table) const;
  void write_runs(const EnvironmentSpec& spec, const Trajectory& learnt, const Trajectory& initial,
                  ordered_json& result) const;
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

std::string mean_text(double mean, double standard_error) {
  // What the last digits of a sum make is no spread.
  return standard_error > 1e-12 * std::abs(mean)
             ? fmt::format("{:.5g} ± {:.2g}", mean, standard_error)
             : fmt::format("{:.5g}", mean);
}

std::string score_text(const ProblemScore& score) {
  const EpisodeScore& all = score.episodes;
  if (all.diverged) return fmt::format("lost the system in episode {}", all.returns.size() + 1);
  return fmt::format("{}, worst {:.5g}, best {:.5g}; {:.5g} steps, {:.0f} % terminated",
                     mean_text(score.score, score.standard_error), score.worst, score.best,
                     all.mean_length, 100.0 * all.terminated);
}

ordered_json score_json(const ProblemScore& score) {
  const EpisodeScore& all = score.episodes;
  if (all.diverged) return {{"diverged", true}, {"episodes", all.returns.size()}};
  return {{"diverged", false},
          {"score", score.score},
          {"standard_error", score.standard_error},
          {"worst", score.worst},
          {"best", score.best},
          {"mean_reward", all.mean_reward},
          {"mean_length", all.mean_length},
          {"terminated", all.terminated},
          {"returns", all.returns}};
}

/// What the problem is judged by, for a person.
std::string score_label(const ControlProblem& problem) {
  switch (problem.score) {
    case ControlProblem::Score::episode_return:
      return "mean return of an episode";
    case ControlProblem::Score::discounted_return:
      return fmt::format("mean return of an episode, discounted by {}", problem.discount);
    case ControlProblem::Score::mean_reward:
      break;
  }
  return "mean reward per step";
}

void EvaluateCommand::on_environment(const Model& loaded, const toml::table& options) const {
  BuiltIn built_in = make_built_in(targets.front(), options);
  require_controls(loaded, built_in);
  heed_interrupts();
  built_in.is_endless() ? by_steps(loaded, built_in) : by_episodes(loaded, built_in);
}

/// What was asked for, with so many episodes.
ordered_json EvaluateCommand::head(const BuiltIn& built_in, Index count) const {
  ordered_json result = start_json("evaluation", repeat);
  result["model"] = model.string();
  result["environment"] = built_in.name;
  result["environment_options"] = built_in.options;
  result["steps"] = steps;
  result["episodes"] = count;
  result["seed"] = seed;
  result["reward"] = built_in.environment->spec().reward_name;
  return result;
}

void EvaluateCommand::add_reference(const BuiltIn& built_in, ordered_json& result,
                                    std::string& table) const {
  if (!built_in.reference || no_reference) return;
  const ControlProblem::Reference reference =
      run_interruptibly([&] { return built_in.reference(); });
  result["reference"] = {{"label", reference.label},
                         {"score", reference.score},
                         {"standard_error", reference.standard_error}};
  table += table_line(
      "reference", mean_text(reference.score, reference.standard_error) + "   " + reference.label);
}

void EvaluateCommand::write_runs(const EnvironmentSpec& spec, const Trajectory& learnt,
                                 const Trajectory& initial, ordered_json& result) const {
  if (out.empty()) return;
  require_writable_directory(out);
  write_log(out / "learnt.csv", spec, learnt);
  write_log(out / "initial.csv", spec, initial);
  result["figures"].push_back({{"name", "learnt"}, {"file", "learnt.csv"}});
  result["figures"].push_back({{"name", "initial"}, {"file", "initial.csv"}});
}

/// What goes on for ever: the mean reward of long runs.
void EvaluateCommand::by_steps(const Model& loaded, BuiltIn& built_in) const {
  const EnvironmentSpec spec = built_in.environment->spec();
  const Index runs = episodes.value_or(ScoreOptions().runs);
  GreedyPolicy greedy = loaded.policy();
  const auto score = [&](Policy& policy, double divergence_limit) {
    return run_interruptibly([&] {
      ProgressLines lines("steps");
      return score_policy(
          *built_in.environment, policy,
          {.steps = steps, .runs = runs, .seed = seed, .divergence_limit = divergence_limit},
          lines.callback());
    });
  };
  const PolicyScore learnt = score(greedy, loaded.divergence_limit);
  const PolicyScore initial = score(*built_in.initial, RolloutOptions().divergence_limit);
  std::optional<BuiltIn::Optimum> optimum;
  if (built_in.optimum && !no_reference) {
    optimum = run_interruptibly([&] { return built_in.optimum(loaded.options.value.discount); });
  }

  ordered_json result = head(built_in, runs);
  result["learnt"] = score_json(learnt);
  result["initial"] = score_json(initial);
  if (optimum) result["optimum"] = {{"mean_reward", optimum->mean_reward}};

  std::string table = fmt::format(
      "{} on {}, {} steps{}, seed {}: mean {} ± standard error\n", model.string(), built_in.name,
      steps, runs > 1 ? fmt::format(", {} episodes", runs) : "", seed, spec.reward_name);
  table += table_line("learnt policy", score_text(learnt));
  table += table_line(built_in.initial_name, score_text(initial));
  if (optimum) {
    table += table_line("optimum, exact",
                        fmt::format("{:.4f}   {}", optimum->mean_reward, optimum->label));
  }
  add_reference(built_in, result, table);
  write_runs(spec, learnt.first, initial.first, result);
  finish(result, table);
}

/// What comes in episodes: the problem's own score over whole ones.
void EvaluateCommand::by_episodes(const Model& loaded, BuiltIn& built_in) const {
  const EnvironmentSpec spec = built_in.environment->spec();
  const Index count = episodes.value_or(EpisodeScoreOptions().episodes);
  GreedyPolicy greedy = loaded.policy();
  const auto score = [&](Policy& policy, double divergence_limit) {
    return run_interruptibly([&] {
      ProgressLines lines("episodes");
      return score_on(built_in, policy,
                      {.episodes = count,
                       .seed = seed,
                       .max_steps = steps,
                       .divergence_limit = divergence_limit},
                      lines.callback());
    });
  };
  const ProblemScore learnt = score(greedy, loaded.divergence_limit);
  const ProblemScore initial = score(*built_in.initial, RolloutOptions().divergence_limit);

  ordered_json result = head(built_in, count);
  result["score"] = score_label(built_in);
  result["learnt"] = score_json(learnt);
  result["initial"] = score_json(initial);
  std::string table =
      fmt::format("{} on {}, {} episodes, seed {}: {} ± standard error\n", model.string(),
                  built_in.name, count, seed, score_label(built_in));
  table += table_line("learnt policy", score_text(learnt));
  table += table_line(built_in.initial_name, score_text(initial));
  add_reference(built_in, result, table);
  write_runs(spec, learnt.episodes.first, initial.episodes.first, result);
  finish(result, table);
}

void EvaluateCommand::on_logs(const Model& loaded) const {
  heed_interrupts();
  Log log = run_interruptibly([&] {
    try {
      LogOptions options = LogOptions::of(loaded);
      reading.apply(options);
      return Log(targets, options);
    } catch (const Error& error) {
      // Of other faults its columns say nothing.
      if (std::string_view(error.what()).find("there is no column") == std::string_view::npos) {
        throw Error(error.what() + meant_name(targets.front(), environment_names()));
      }
      throw Error(fmt::format("the log must have the model's columns ({}): {}",
                              channel_list(loaded), error.what()));
    }
  });
  const std::size_t said = print_notes(log);
  const LogEvaluation evaluation = run_interruptibly([&] {
    ProgressLines lines("rows");
    return evaluate_on_log(loaded, log, {.seed = seed, .kept_rows = out.empty() ? 0 : log.rows()},
                           lines.callback());
  });
  print_notes(log, said);
  ordered_json result = start_json("log-evaluation", repeat);
  result["model"] = model.string();
  result["logs"] = targets;
  result["seed"] = seed;
  result["notes"] = log.notes();
  result.update(to_json(loaded, evaluation));
  if (!out.empty()) {
    require_writable_directory(out);
    write_file(out / "rows.csv", rows_csv(loaded, evaluation));
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
  const Index count = episodes.value_or(EpisodeScoreOptions().episodes);
  require(count >= 1, "--episodes {}: must be at least 1", count);
  require(count <= std::numeric_limits<Index>::max() / 2 / steps,
          "--steps {} and --episodes {}: too many", steps, count);
  const Model loaded = load_model(model);
  if (is_environment(targets.front())) {
    require(targets.size() == 1, "one environment at a time, not {}", listed(targets));
    require(reading == LogFlags(), "options of a log do not apply to an environment");
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
                   fmt::format("{}, or log files (- is CSV from the standard input)",
                               fmt::join(environment_names(), ", ")))
      ->required();
  command
      ->add_option("--steps", options->steps,
                   "on an environment: where an episode that does not end is cut")
      ->capture_default_str();
  command->add_option("--episodes", options->episodes,
                      fmt::format("on an environment: how many. Not given: {} where they never "
                                  "end, else {}",
                                  ScoreOptions().runs, EpisodeScoreOptions().episodes));
  command
      ->add_option("--seed", options->seed,
                   "of the environment, and of random candidates, where the search needs them")
      ->capture_default_str();
  command->add_option("--out", options->out, "directory for results.json and the data as CSV");
  command->add_flag("--json", options->json, "print JSON instead of the table");
  command->add_flag("--no-reference", options->no_reference,
                    "leave out what is known without learning, if working it out takes too long");
  options->reading.add(*command);
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
