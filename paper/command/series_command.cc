#include "series_command.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/base/error.h>
#include <waggle/detail/atomic_file.h>
#include <waggle/env/series.h>

#include "core/memory.h"
#include "option_flags.h"
#include "progress.h"

namespace waggle::app {

namespace {

using Eigen::Index;

/// A series by its name.
struct SeriesKind {
  std::string name;
  std::vector<std::string> columns;
  /// A row a column.
  Eigen::MatrixXd (*make)(Index steps, std::uint64_t seed);
};

const SeriesKind kSeries[] = {
    {"mackey-glass",
     {"x"},
     [](Index steps, std::uint64_t seed) -> Eigen::MatrixXd {
       return mackey_glass({.steps = steps, .seed = seed}).transpose();
     }},
    {"narma10",
     {"u", "y"},
     [](Index steps, std::uint64_t seed) {
       const Narma10 series = narma10({.steps = steps, .seed = seed});
       Eigen::MatrixXd rows(2, steps);
       rows << series.input.transpose(), series.output.transpose();
       return rows;
     }},
    {"lorenz",
     {"x", "y", "z"},
     [](Index steps, std::uint64_t seed) { return lorenz({.steps = steps, .seed = seed}); }},
};

const SeriesKind& kind_named(const std::string& name) {
  for (const SeriesKind& kind : kSeries) {
    if (kind.name == name) return kind;
  }
  throw Error(fmt::format("series '{}': must be one of mackey-glass, narma10, lorenz", name));
}

void append_row(const Eigen::MatrixXd& series, Index row, std::string& text) {
  text += fmt::format("{}\n", fmt::join(series.col(row).begin(), series.col(row).end(), ","));
}

struct SeriesCommand {
  ConfigFile config;
  std::string name;
  Index steps = 4000;
  std::uint64_t seed = 0;
  std::filesystem::path out;

  void run() {
    config.apply();
    const SeriesKind& kind = kind_named(name);
    Narma10Options{.steps = steps}.validate();  // the rule is the same for all
    // What is made may be turned over once.
    require_room(2.0 * static_cast<double>(steps), static_cast<double>(kind.columns.size()),
                 fmt::format("--steps {}: {} of so many rows", steps, name));
    if (!out.empty()) require_output(out, {config.path()});
    heed_interrupts();
    run_interruptibly([&] {
      const Eigen::MatrixXd series = kind.make(steps, seed);
      end_if_interrupted();
      if (out.empty()) {
        write_rows(kind, series, print);
        return;
      }
      AtomicFile file(out);
      write_rows(kind, series, [&](const std::string& text) { file.write(text); });
      file.commit();
    });
  }

 private:
  /// Hands over the text of all rows, a part at a time.
  template <typename Write>
  static void write_rows(const SeriesKind& kind, const Eigen::MatrixXd& series, Write write) {
    constexpr std::size_t kPart = std::size_t{1} << 16;
    std::string text = fmt::format("{}\n", fmt::join(kind.columns, ","));
    for (Index k = 0; k < series.cols(); ++k) {
      append_row(series, k, text);
      if (text.size() < kPart) continue;
      end_if_interrupted();
      write(text);
      text.clear();
    }
    write(text);
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
  command->footer("Example:\n  waggle-paper series mackey-glass --steps 4000 -o series.csv");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
