#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace waggle::app;
  CLI::App app{"waggle learns controllers for systems that can only partly be observed.", "waggle"};
  set_help(app);
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
  add_report(app);
  add_forecast(app);
  add_play(app);
  add_help(app);
  Threads threads;
  for (const char* command : {"learn", "evaluate", "forecast"}) {
    threads.add(*app.get_subcommand(command));
  }
  return run_program(app, argc, argv);
}
