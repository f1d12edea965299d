#include "series_command.h"

#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <waggle/error.h>
#include <waggle/series.h>

#include "files/atomic_file.h"
#include "option_flags.h"
#include "progress.h"

namespace waggle::app {

namespace {

struct SeriesCommand {
  ConfigFile config;
  std::string name;
  Eigen::Index steps = 4000;
  std::uint64_t seed = 0;
  std::filesystem::path out;

  std::string text() const {
    std::string csv;
    if (name == "mackey-glass") {
      csv = "x\n";
      for (const double x : mackey_glass({.steps = steps, .seed = seed})) {
        csv += fmt::format("{}\n", x);
      }
    } else if (name == "narma10") {
      const Narma10 series = narma10({.steps = steps, .seed = seed});
      csv = "u,y\n";
      for (Eigen::Index k = 0; k < steps; ++k) {
        csv += fmt::format("{},{}\n", series.input[k], series.output[k]);
      }
    } else if (name == "lorenz") {
      const Eigen::MatrixXd series = lorenz({.steps = steps, .seed = seed});
      csv = "x,y,z\n";
      for (Eigen::Index k = 0; k < steps; ++k) {
        csv += fmt::format("{},{},{}\n", series(0, k), series(1, k), series(2, k));
      }
    } else {
      throw Error(fmt::format("series '{}': must be one of mackey-glass, narma10, lorenz", name));
    }
    return csv;
  }

  void run() {
    config.apply();
    if (!out.empty()) require_output(out, {config.path()});
    heed_interrupts();
    const std::string csv = run_interruptibly([this] { return text(); });
    if (out.empty()) {
      print(csv);
    } else {
      write_file(out, csv);
    }
  }
};

}  // namespace

void add_series(CLI::App& app) {
  CLI::App* command = app.add_subcommand("series", "Write a benchmark time series as CSV");
  auto options = std::make_shared<SeriesCommand>();
  command
      ->add_option("series", options->name,
                   "mackey-glass (column x), narma10 (u and the y that follows from it), "
                   "lorenz (x, y, z)")
      ->required();
  command->add_option("--steps", options->steps, "how many rows")->capture_default_str();
  command->add_option("--seed", options->seed, "draws the start or the input")
      ->capture_default_str();
  command->add_option("-o,--out", options->out, "file to write instead of the standard output");
  options->config.add(*command);
  command->footer("Example:\n  waggle series mackey-glass --steps 4000 -o series.csv");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
