#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <waggle/core/text.h>
#include <waggle/error.h>
#include <waggle/execution.h>
#include <waggle/files/atomic_file.h>
#include <waggle/version.h>

#include "commands.h"
#include "compare.h"
#include "diagnose_command.h"
#include "experiment.h"
#include "help.h"
#include "option_flags.h"
#include "progress.h"
#include "repeat_command.h"
#include "reproduce.h"
#include "series_command.h"
#include "shard_commands.h"
#include "usage.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

constexpr int kDone = 0;
constexpr int kBadInput = 2;

constexpr const char* kSeedsDone = "these are the results of the seeds that were done";

constexpr const char* kThreadsHelp =
    "how many threads to work on, 0: as many as the machine has. The results are the same";

/// --threads of the commands that have nothing to say about it themselves.
class Threads {
 public:
  void add(CLI::App& command) {
    command
        .add_option_function<int>(
            "--threads",
            [this](int threads) {
              if (threads < 0) {
                throw Error(fmt::format("--threads {}: must not be negative", threads));
              }
              limit_.emplace(threads);
            },
            kThreadsHelp)
        ->default_str("0");
  }

 private:
  std::optional<ThreadLimit> limit_;
};

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
    take_list(command.add_option("--problem", options.problems,
                                 "of control: tiger, tanks, … (see experiments/control.toml), or "
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
    if (interrupted()) fmt::print(stderr, "waggle: interrupted; {}\n", kSeedsDone);
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
  std::string text =
      fmt::format("of {}: paper, standardised, lstd, lspi, iterated, … (see experiments/*.toml)",
                  in_words(experiment_names(&Experiment::has_learners), "and"));
  const std::vector<std::string> usual = ReproduceOptions().learners;
  for (const Experiment& experiment : experiments()) {
    if (!experiment.has_learners || experiment.learner == usual.front()) continue;
    text += fmt::format("; of {} not given: {}", experiment.name, experiment.learner);
  }
  return text;
}

void add_reproduce(CLI::App& app, ExperimentCommand& shared) {
  CLI::App* command =
      app.add_subcommand("reproduce", "Reproduce the paper's results next to the exact solutions");
  command
      ->add_option("experiment", shared.options.experiment,
                   fmt::format("{}, or all of the paper's", fmt::join(experiment_names(), ", ")))
      ->capture_default_str();
  command->add_option("--learner", shared.options.learners.front(), learner_help())
      ->capture_default_str();
  shared.add_options(*command, seeds_help(shared.options, experiment_names()));
  command->footer(
      "Example:\n  waggle reproduce all --out out\n"
      "  waggle reproduce bee-world --learner iterated --seeds 20 --out out");
  command->callback([&shared, command] {
    shared.repeat = repeat_command(*command);
    shared.config.apply();
    if (command->count("--seeds") > 0) shared.options.slow_seeds = shared.options.seeds;
    const Experiment* experiment = find_experiment(shared.options.experiment);
    if (experiment != nullptr && command->count("--learner") == 0) {
      shared.options.learners = {experiment->learner};
    }
    if (!shared.out.empty()) shared.options.figures = Figures::all;
    shared.run(reproduce, to_table);
  });
}

void add_compare(CLI::App& app, ExperimentCommand& shared) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare all learners on one problem, with the same data budget");
  const std::vector<std::string> names = experiment_names(&Experiment::has_learners);
  command->add_option("experiment", shared.options.experiment, in_words(names, "or"))->required();
  shared.add_options(*command, seeds_help(shared.options, names));
  command->footer(
      "Example:\n  waggle compare bee-world --seeds 10\n"
      "  waggle compare control --problem tiger,tanks --seeds 2");
  command->callback([&shared, command, names] {
    shared.repeat = repeat_command(*command);
    shared.config.apply();
    const std::string& name = shared.options.experiment;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(fmt::format("experiment '{}': must be one of {}", name, fmt::join(names, ", ")));
    }
    if (command->count("--seeds") > 0) shared.options.slow_seeds = shared.options.seeds;
    shared.run(compare, to_comparison, show_learning);
  });
}

/// Parses and runs what is asked for. False if that was only help or the version: they are printed,
/// and it is an error if they cannot be.
bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw;
    std::ostringstream text;
    app.exit(error, text, text);
    print(text.str());
    return false;
  }
}

int run(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow further is an error of writing
  linalg::use_vectors();
  linalg::leave_threads_to_caller();  // we have threads of our own; more below would only collide
  CLI::App app{"waggle learns controllers for systems that can only partly be observed.", "waggle"};
  app.set_version_flag("--version", "waggle " WAGGLE_VERSION);
  set_help(app);
  app.require_subcommand(0, 1);  // none is checked below, after unknown options are named
  app.footer(
      "Exit codes: 0 done, 1 failed while working, 2 bad input or usage, 130 interrupted.\n"
      "Example:\n  waggle simulate bee-world --steps 2000 --seed 1 -o log.csv\n"
      "  waggle learn log.csv --reward nectar --action move --gamma 0.5 -o bee.safetensors\n"
      "  waggle evaluate bee.safetensors bee-world");
  add_simulate(app);
  add_learn(app);
  add_inspect(app);
  add_evaluate(app);
  add_act(app);
  add_export(app);
  add_plan(app);
  add_stats(app);
  add_merge(app);
  add_solve(app);
  ExperimentCommand reproduce_command;
  ExperimentCommand compare_command;
  add_reproduce(app, reproduce_command);
  add_compare(app, compare_command);
  add_report(app);
  add_forecast(app);
  add_diagnose(app);
  add_series(app);
  add_play(app);
  add_help(app);
  Threads threads;
  for (const char* command : {"learn", "evaluate", "forecast", "diagnose"}) {
    threads.add(*app.get_subcommand(command));
  }
  check_numbers(app);
  try {
    if (!parse(app, argc, argv)) return kDone;
    if (app.get_subcommands().empty()) throw Error("a subcommand is required (see waggle --help)");
    return interrupted() ? kInterrupted : kDone;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "waggle: {}\n", usage_fault(app, error));
    return kBadInput;
  } catch (const Error& error) {
    fmt::print(stderr, "waggle: {}\n", error.what());
    return kBadInput;
  } catch (const Interrupted&) {
    fmt::print(stderr, "waggle: interrupted; {}\n", kNothingSaved);
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "waggle: out of memory; fewer units or members need less of it\n");
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "waggle: '{}': {}\n", error.path1().string(), error.code().message());
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "waggle: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace waggle::app

int main(int argc, char** argv) { return waggle::app::run(argc, argv); }
