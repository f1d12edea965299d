#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/base/names.h>
#include <waggle/detail/atomic_file.h>
#include <waggle/detail/options_reader.h>
#include <waggle/detail/require.h>
#include <waggle/detail/results_json.h>
#include <waggle/detail/table.h>
#include <waggle/detail/text.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>
#include <waggle/tuning.h>
#include <waggle/version.h>

#include "commands.h"
#include "figures.h"
#include "fit_flags.h"
#include "log_columns_flags.h"
#include "model_text.h"
#include "option_flags.h"
#include "progress.h"
#include "repeat_command.h"
#include "tuning_text.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct LearnCommand {
  ConfigFile config;
  OptionFlags flags;
  std::vector<std::string> logs;
  LogColumnsFlags columns;
  std::string missing{name_of(LogOptions().missing)};
  std::string preset = presets::all().front().name;
  const CLI::Option* given_preset = nullptr;  // whether it was
  std::string tune = "off";
  std::uint64_t seed = 0;
  std::string dump;  // "true": to the standard output, and no more; else a file
  std::filesystem::path out;
  std::filesystem::path results;
  bool json = false;
  std::string repeat;  // the command line

  void run();
  void tell(const Learnt& model, const std::optional<TuneResult>& tuned, Log& log);
  LogOptions log_options(const FitOptions& fit) const;
  ordered_json configuration(const FitOptions& options) const;
  std::optional<TuneOptions> tuning(const toml::table& given) const;
};

LogOptions LearnCommand::log_options(const FitOptions& fit) const {
  LogOptions options = columns.options(logs);
  const auto handling = value_named<LogOptions::Missing>(missing);
  require(handling.has_value(), "--missing {}: must be refuse or hold", shown(missing));
  options.missing = *handling;
  options.needs.minimum_rows = fit.value.least_rows();
  return options;
}

/// How to search for settings, if at all; what was given is not searched.
std::optional<TuneOptions> LearnCommand::tuning(const toml::table& given) const {
  std::optional<TuneOptions> options = tune_budget(tune);
  if (options) options->fix_given(given_names<TomlSource>(given), given_preset->count() > 0);
  return options;
}

/// Everything that was asked for, so that a run can be repeated from it.
ordered_json LearnCommand::configuration(const FitOptions& options) const {
  ordered_json all;
  all["logs"] = logs;
  all["reward"] = columns.reward;
  all["action"] = columns.actions;
  if (!columns.observe.empty()) all["observe"] = columns.observe;
  if (!columns.labelled.empty()) all["labelled"] = columns.labelled;
  all["observe-nothing"] = columns.observe_nothing;
  all["no-reward-input"] = columns.no_reward_input;
  if (!columns.action_bounds.empty()) all["action-bounds"] = columns.action_bounds;
  if (!columns.choices.empty()) all["choices"] = columns.choices;
  all["discrete"] = columns.discrete;
  all["continuous"] = columns.continuous;
  if (!columns.ignore.empty()) all["ignore"] = columns.ignore;
  all["missing"] = missing;
  all["reward-next"] = columns.reading.reward_next;
  all["episode"] = columns.reading.episode;
  all["terminated"] = columns.reading.terminated;
  all["truncated"] = columns.reading.truncated;
  if (!columns.reading.time.empty()) all["time"] = columns.reading.time;
  all["preset"] = preset;
  all["tune"] = tune;
  all["seed"] = std::to_string(seed);  // TOML's whole numbers end at 2⁶³
  if (!out.empty()) all["out"] = out.string();
  all.update(app::to_json(options));
  return all;
}

std::string preset_list() {
  std::string text;
  for (const presets::Preset& preset : presets::all()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", preset.name, preset.text);
  }
  return text;
}

std::string saved_text(const std::filesystem::path& out) {
  return fmt::format("what was learnt until then is saved in {}", out.string());
}

/// What was learnt so far, kept by the thread that learns for the one that watches it.
class SoFar {
 public:
  void keep(const Model& model) {
    const std::scoped_lock lock(mutex_);
    model_ = model;
    if (model_->improvement) model_->improvement->end = PolicyIterationEnd::stopped;
  }
  std::optional<Model> model() {
    const std::scoped_lock lock(mutex_);
    return model_;
  }

 private:
  std::mutex mutex_;
  std::optional<Model> model_;
};

/// The logs as a person names them.
std::vector<std::string> named(std::vector<std::string> logs) {
  std::replace(logs.begin(), logs.end(), std::string("-"), std::string("standard input"));
  return logs;
}

/// The one place that learns. If it is interrupted in the middle of a long computation, what was
/// learnt until then is saved as `out`.
Learnt learn_model(const std::vector<std::string>& logs, Log& log, const FitOptions& options,
                   const std::optional<TuneResult>& tuned, const std::filesystem::path& out) {
  SoFar so_far;
  const auto learn = [&]() -> Learnt {
    ProgressLines lines("rows");
    const ProgressCallback show = lines.callback();
    const auto progress = [&](const Progress& now) {
      if (now.model != nullptr) so_far.keep(*now.model);
      return show(now);
    };
    const LearnWith with{.progress = progress};
    Learnt learnt = learn_from_log(log.spec(), log, tuned ? tuned->options : options, with);
    learnt.provenance.sources = named(logs);
    return learnt;
  };
  const auto save_so_far = [&]() -> std::string {
    std::optional<Model> model = so_far.model();
    if (!model) return kNothingSaved;
    model->provenance.sources = named(logs);
    model->warnings.emplace_back("learning was stopped early");
    save_model(out, *model);
    return saved_text(out);
  };
  return run_interruptibly(learn, save_so_far);
}

/// Chooses settings for the log.
TuneResult tune_settings(Log& log, const FitOptions& options, const TuneOptions& how) {
  return run_interruptibly([&] {
    ProgressLines lines(how.seconds ? "s" : "settings");
    return tune_log(log.spec(), log, options, how, lines.callback());
  });
}

/// What a reader of the results wants to know first, then everything the model says of itself.
ordered_json to_json(const Learnt& model, const std::filesystem::path& file,
                     const std::string& command) {
  ordered_json result = start_json("learn", command);
  result["model"] = file.filename().string();
  const ordered_json all = model_json(model);
  ordered_json columns = ordered_json::array();
  for (const ordered_json& channel : all["channels"]) columns.push_back(channel["name"]);
  result["log"] = {{"files", model.provenance.sources},
                   {"rows", model.provenance.rows},
                   {"episodes", model.provenance.episodes},
                   {"columns", columns},
                   {"reward",
                    {{"name", model.environment.reward_name},
                     {"mean", model.ranges.mean[0]},
                     {"spread", model.ranges.deviation[0]}}}};
  result.update(all);
  return result;
}

/// The error of each λ; no figure if there was no choice.
std::vector<Figure> ridge_figure(const Model& model) {
  Figure path{"ridge_path", {"ridge", "error"}, {}};
  for (const RidgeCandidate& candidate : model.diagnostics.ridge_path) {
    path.rows.push_back({candidate.ridge, known_error(candidate)});
  }
  return path.rows.empty() ? std::vector<Figure>() : std::vector<Figure>{std::move(path)};
}

/// What the model knows of its fit; the others could not be made.
std::vector<Figure> figures_without_log(const Model& model) {
  std::vector<Figure> figures = ridge_figure(model);
  figures.push_back(missing_figure("value", "interrupted"));
  return figures;
}

/// The model held against the log it was learnt from.
std::vector<Figure> figures_of(const Model& model, Log& log, std::uint64_t seed) {
  constexpr Index kShown = 1000;  // rows
  std::vector<Figure> figures = ridge_figure(model);
  Figure value{"value", {"row", "reward", "value"}, {}};
  ProgressLines lines("rows");
  try {
    const LogEvaluation evaluation =
        evaluate_on_log(model, log, {.seed = seed, .kept_rows = kShown, .off_policy = std::nullopt},
                        lines.callback());
    auto row = static_cast<double>(log.rows() - std::ssize(evaluation.by_row));
    for (const std::vector<double>& cells : evaluation.by_row) {
      value.rows.push_back({row++, cells[0], cells[1]});
    }
    figures.push_back(std::move(value));
  } catch (const Stopped&) {
    return figures_without_log(model);
  }
  return figures;
}

void LearnCommand::run() {
  const toml::table given = merge(config.apply(), flags);
  FitOptions options = presets::by_name(preset).fit;
  read_options(given, options);
  options.reservoir.seed = seed;
  options.validate();
  const LogOptions how = log_options(options);
  const std::optional<TuneOptions> how_to_tune = tuning(given);
  const auto require_own = [this](const std::filesystem::path& file) {
    std::vector<std::filesystem::path> inputs = expand_patterns(logs);
    inputs.push_back(config.path());
    require_output(file, inputs);
  };
  if (!dump.empty()) {
    const std::string text = "# waggle learn --config THIS_FILE   (waggle " WAGGLE_VERSION ")\n" +
                             to_toml(configuration(options));
    if (dump == "true") {
      print(text);
      return;
    }
    require_own(dump);
    write_file(dump, text);
  }
  require(!out.empty(), "--out is required: the model file to write");
  require_own(out);
  if (!results.empty()) require_writable_directory(results);
  heed_interrupts();
  Log log = run_interruptibly([&] { return Log(logs, how); });
  const std::size_t said = print_notes(log);
  std::optional<TuneResult> tuned;
  if (how_to_tune) tuned = tune_settings(log, options, *how_to_tune);
  const Learnt model = learn_model(logs, log, options, tuned, out);
  save_model(out, model);
  print_notes(log, said);
  tell(model, tuned, log);
}

/// Writes the results and prints what was learnt.
void LearnCommand::tell(const Learnt& model, const std::optional<TuneResult>& tuned, Log& log) {
  ordered_json result = to_json(model, out, repeat);
  if (tuned) result["tuning"] = to_json(*tuned);
  result["log"]["notes"] = log.notes();
  const auto tell_with = [&](const std::vector<Figure>& figures) {
    if (!results.empty()) {
      result["figures"] = write_figures(results, "", figures);
      write_file(results / "results.json", to_text(result));
    }
    if (json) {
      print(to_text(result));
      return;
    }
    print(learnt_table(model) + (tuned ? tuning_text(*tuned) : "") +
          fmt::format("next: waggle evaluate {} ANOTHER_LOG.csv, waggle inspect {}\n", out.string(),
                      out.string()));
  };
  const auto without_log = [&] {
    tell_with(figures_without_log(model));
    return saved_text(out);
  };
  std::vector<Figure> figures;
  if (!results.empty()) {
    figures = run_interruptibly([&] { return figures_of(model, log, seed); }, without_log);
  }
  if (interrupted()) fmt::print(stderr, "waggle: interrupted; {}\n", saved_text(out));
  tell_with(figures);
}

}  // namespace

void add_learn(CLI::App& app) {
  CLI::App* command = app.add_subcommand("learn", "Learn a controller from a log");
  auto options = std::make_shared<LearnCommand>();
  command
      ->add_option("logs", options->logs,
                   "CSV (- is the standard input) or NumPy (.npy, .npz) files; patterns in quotes")
      ->required();
  options->columns.add(*command);
  command->add_option("--missing", options->missing, help_of(&LogOptions::missing))
      ->capture_default_str();
  options->given_preset = command
                              ->add_option("--preset", options->preset,
                                           "what the options below start from: " + preset_list())
                              ->capture_default_str();
  command
      ->add_option("--tune", options->tune,
                   "choose settings that were not given by off-policy evaluation on halves of the "
                   "log: for a time (60s, 5m, 1h), for a number of settings (12: the same "
                   "every time), or off")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "draws the reservoir")->capture_default_str();
  command->add_option("-o,--out", options->out, "the model to write, as safetensors (required)");
  command->add_option("--results", options->results,
                      "directory for results.json and the data of figures as CSV");
  command->add_flag("--json", options->json, "print JSON instead of the table");
  command->add_flag("--dump-config", options->dump,
                    "print everything that was asked for as TOML, to repeat it with --config, and "
                    "stop; =FILE: write it there and learn");
  add_fit_flags(*command, options->flags);
  options->config.add(*command, &options->flags);
  command->footer(
      "Row k of a log holds the reward and observation seen at step k and the action then chosen;\n"
      "with --reward-next the reward is that of the row's own action.\n"
      "Example:\n  waggle simulate bee-world --steps 2000 --seed 1 -o log.csv\n"
      "  waggle learn log.csv --reward nectar --action move --gamma 0.5 -o bee.safetensors\n"
      "--dump-config prints all options there are; those without a flag are set by --config.");
  command->callback([options, command] {
    // The model is what is made: --out belongs to it.
    options->repeat = repeat_command(*command, {"results", "json", "dump-config"});
    options->run();
  });
}

}  // namespace waggle::app
