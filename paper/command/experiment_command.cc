#include "experiment_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/base/error.h>
#include <waggle/detail/atomic_file.h>
#include <waggle/detail/text.h>

#include "compare.h"
#include "config.h"
#include "experiment.h"
#include "option_flags.h"
#include "program.h"
#include "progress.h"
#include "repeat_command.h"
#include "reproduce.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

constexpr const char* kSeedsDone = "these are the results of the seeds that were done";

/// What `reproduce` and `compare` share.
struct ExperimentCommand {
  ConfigFile config;
  ReproduceOptions options;
  std::filesystem::path out;
  bool json = false;
  std::string repeat;  // the command line

  void add_options(CLI::App& command, const std::string& help) {
    command.add_option("--seeds", options.seeds, help)->capture_default_str();
    command.add_option("--first-seed", options.first_seed, "the first of them")
        ->capture_default_str();
    take_list(
        command.add_option("--problem", options.problems,
                           "of control: tiger, tanks, … (see paper/experiments/control.toml), or "
                           "several: a,b. Not given: all"))
        ->delimiter(',');
    command.add_option("--threads", options.threads, kThreadsHelp)->capture_default_str();
    command.add_option("--out", out,
                       "directory for results.json and the data behind every figure, as CSV");
    command.add_flag("--json", json, "print JSON instead of the table");
    config.add(command);
  }

  using Table = std::string(const std::vector<ExperimentResult>&);
  using Run = void(const ReproduceOptions&, const SeedProgress&, Results&);

  /// `edit` is done to every result.
  void run(Run* run_experiments, Table* common_table,
           void (*edit)(ExperimentResult&) = nullptr) const {
    const Experiment* experiment = find_experiment(options.experiment);
    Table* table = experiment != nullptr && experiment->table ? experiment->table : common_table;
    options.validate();
    if (!out.empty()) require_writable_directory(out);
    heed_interrupts();
    std::unique_ptr<ProgressLine> line;
    std::string shown;
    const auto progress = [&](const std::string& what, int done, int total) {
      if (!line || what != shown) line = std::make_unique<ProgressLine>(what, "runs", total);
      shown = what;
      line->update(done);
    };
    Results results(edit);
    const auto abandon = [&]() -> std::string {
      const std::vector<ExperimentResult> some = results.abandon();
      if (some.empty()) return kNothingSaved;
      show(some, table);
      return kSeedsDone;
    };
    run_interruptibly([&] { run_experiments(options, progress, results); }, abandon);
    line.reset();
    if (interrupted()) fmt::print(stderr, "{}: interrupted; {}\n", program_name, kSeedsDone);
    show(results.so_far(), table);
  }

  /// Prints and writes what there is.
  void show(const std::vector<ExperimentResult>& results, Table* table) const {
    ordered_json result = to_json(results, repeat);
    if (!out.empty()) write_results(out, results, result);
    print(json ? to_text(result) : table(results));
    if (!out.empty() && !json) {
      fmt::print(stderr, "wrote results.json and the figures' data to {}\n", out.string());
    }
  }
};

/// `experiments` are those the command takes.
std::string seeds_help(const ReproduceOptions& options, std::vector<std::string> experiments) {
  std::erase_if(experiments, [](const std::string& name) { return !find_experiment(name)->slow; });
  return fmt::format("how many seeds to run. Not given: {} of {}, which {} slow",
                     options.slow_seeds, in_words(experiments, "and"),
                     experiments.size() == 1 ? "is" : "are");
}

/// Says of those that do not begin with the usual learner which one theirs is.
std::string learner_help() {
  std::string text = fmt::format(
      "of {}: paper, standardised, lstd, lspi, iterated, … (see paper/experiments/*.toml)",
      in_words(experiment_names(&Experiment::has_learners), "and"));
  const std::vector<std::string> usual = ReproduceOptions().learners;
  for (const Experiment& experiment : experiments()) {
    if (!experiment.has_learners || experiment.learner == usual.front()) continue;
    text += fmt::format("; of {} not given: {}", experiment.name, experiment.learner);
  }
  return text;
}

}  // namespace

void add_reproduce(CLI::App& app) {
  const auto shared = std::make_shared<ExperimentCommand>();
  CLI::App* command =
      app.add_subcommand("reproduce", "Reproduce the paper's results next to the exact solutions");
  command
      ->add_option("experiment", shared->options.experiment,
                   fmt::format("{}, or all of the paper's", fmt::join(experiment_names(), ", ")))
      ->capture_default_str();
  command->add_option("--learner", shared->options.learners.front(), learner_help())
      ->capture_default_str();
  shared->add_options(*command, seeds_help(shared->options, experiment_names()));
  command->footer(
      "Example:\n  waggle-paper reproduce all --out out\n"
      "  waggle-paper reproduce bee-world --learner iterated --seeds 20 --out out");
  command->callback([shared, command] {
    shared->repeat = repeat_command(*command);
    shared->config.apply();
    if (command->count("--seeds") > 0) shared->options.slow_seeds = shared->options.seeds;
    const Experiment* experiment = find_experiment(shared->options.experiment);
    if (experiment != nullptr && command->count("--learner") == 0) {
      shared->options.learners = {experiment->learner};
    }
    if (!shared->out.empty()) shared->options.figures = Figures::all;
    shared->run(reproduce, to_table);
  });
}

void add_compare(CLI::App& app) {
  const auto shared = std::make_shared<ExperimentCommand>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compare all learners on one problem, with the same data budget");
  const std::vector<std::string> names = experiment_names(&Experiment::has_learners);
  command->add_option("experiment", shared->options.experiment, in_words(names, "or"))->required();
  shared->add_options(*command, seeds_help(shared->options, names));
  command->footer(
      "Example:\n  waggle-paper compare bee-world --seeds 10\n"
      "  waggle-paper compare control --problem tiger,tanks --seeds 2");
  command->callback([shared, command, names] {
    shared->repeat = repeat_command(*command);
    shared->config.apply();
    const std::string& name = shared->options.experiment;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(fmt::format("experiment '{}': must be one of {}", name, fmt::join(names, ", ")));
    }
    if (command->count("--seeds") > 0) shared->options.slow_seeds = shared->options.seeds;
    shared->run(compare, to_comparison, show_learning);
  });
}

}  // namespace waggle::app
