#include <CLI/CLI.hpp>

#include "diagnose_command.h"
#include "experiment.h"
#include "experiment_command.h"
#include "manual_command.h"
#include "program.h"
#include "series_command.h"
#include "usage.h"

int main(int argc, char** argv) {
  using namespace waggle::app;
  CLI::App app{"waggle-paper repeats the experiments of the paper beside the exact solutions.",
               "waggle-paper"};
  app.footer(
      "Exit codes: 0 done, 1 failed while working, 2 bad input or usage, 130 interrupted.\n"
      "Example:\n  waggle-paper reproduce bee-world --out out\n  waggle report out -o report.html");
  add_reproduce(app);
  add_compare(app);
  add_diagnose(app);
  add_series(app);
  std::vector<std::string> experiments = experiment_names();
  experiments.emplace_back("all");
  add_manual(app, "repeat the experiments of the paper",
             {{"experiment", experiments},
              {"series", {"mackey-glass", "narma10", "lorenz"}},
              {"shell", {"bash", "zsh", "fish"}}});
  add_help(app);
  Threads threads;
  threads.add(*app.get_subcommand("diagnose"));
  return run_program(app, argc, argv);
}
