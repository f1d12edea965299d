#include <CLI/CLI.hpp>

#include "diagnose_command.h"
#include "experiment_command.h"
#include "help.h"
#include "program.h"
#include "series_command.h"

int main(int argc, char** argv) {
  using namespace waggle::app;
  CLI::App app{"waggle-paper repeats the experiments of the paper beside the exact solutions.",
               "waggle-paper"};
  set_help(app);
  app.footer(
      "Exit codes: 0 done, 1 failed while working, 2 bad input or usage, 130 interrupted.\n"
      "Example:\n  waggle-paper reproduce bee-world --out out\n  waggle report out -o report.html");
  add_reproduce(app);
  add_compare(app);
  add_diagnose(app);
  add_series(app);
  add_help(app);
  Threads threads;
  threads.add(*app.get_subcommand("diagnose"));
  return run_program(app, argc, argv);
}
