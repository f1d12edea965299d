#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <waggle/detail/atomic_file.h>
#include <waggle/export.h>

#include "core/check.h"

/// Exported controllers beside the library's.
namespace waggle {

namespace fs = std::filesystem;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A controller, and what it is shown.
struct Exported {
  const char* title;
  Model model;
  Trajectory percepts;
};

constexpr const char* kStrictC =
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror";
constexpr const char* kSanitized = "-fsanitize=address,undefined -fno-sanitize-recover=all";

inline bool has_cortex_compiler() {
  return std::system("command -v arm-none-eabi-gcc > /dev/null") == 0;
}

/// Whether an episode begins at a row.
inline bool begins(const Trajectory& log, Index k) {
  return k == 0 || log.end(k - 1) != EpisodeEnd::none;
}

/// What was really done with the action before each row, as the log has it. NaN stands for as
/// chosen: of every third action, or of none but those before an episode's first row.
inline MatrixXd told_of(const Trajectory& log, bool of_all = false) {
  MatrixXd told = MatrixXd::Constant(log.action_size(), log.steps(), NAN);
  for (Index k = 1; k < log.steps(); ++k) {
    if ((of_all || k % 3 != 0) && !begins(log, k)) told.col(k) = log.actions().col(k - 1);
  }
  return told;
}

/// Compiles and runs what is exported, in a folder of its own.
class CFixture : public testing::Test {
 protected:
  CFixture()
      : directory_(fs::path(testing::TempDir()) / ("waggle-export-" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~CFixture() override { fs::remove_all(directory_); }

  /// Runs a command in the folder; what it printed is shown if it fails.
  bool run(const std::string& command) {
    const std::string all = "cd '" + directory_.string() + "' && (" + command + ") 2> log";
    if (std::system(all.c_str()) == 0) return true;
    std::ifstream log(directory_ / "log");
    ADD_FAILURE() << command << "\n" << std::string(std::istreambuf_iterator<char>(log), {});
    return false;
  }

  /// Runs a program of C that uses exported controllers.
  bool run_main(const std::string& main, const std::string& sources = "controller.c") {
    write_file(directory_ / "main.c", main);
    return run("gcc -std=c99 " + sources +
               " main.c -o other -lm && ./other || (echo $? >&2; exit 1)");
  }

  /// Exports, compiles and runs exported_main.c: in each column actions, the value and what a guard
  /// says. `told`, if not empty, as of told_of; `shown`, if not empty, are rewards and observations
  /// in place of the controller's percepts.
  MatrixXd run_c(const Exported& controller, const ExportOptions& options,
                 const MatrixXd& told = {}, const MatrixXd& shown = {}) {
    const ExportedC exported = export_c(directory_ / "controller", controller.model, options);
    const Trajectory& percepts = controller.percepts;
    std::ofstream in(directory_ / "in");
    in.precision(17);
    for (Index k = 0; k < percepts.steps(); ++k) {
      if (shown.size() > 0) {
        in << shown.col(k).transpose();
      } else {
        in << percepts.rewards()[k] << ' ' << percepts.observations().col(k).transpose();
      }
      const bool tells = told.size() > 0 && !std::isnan(told(0, k));
      VectorXd action = VectorXd::Zero(percepts.action_size());
      if (tells) action = told.col(k);
      in << ' ' << (tells ? 1 : begins(percepts, k) ? 2 : 0) << ' ' << action.transpose() << '\n';
    }
    in.close();
    const bool compiled = exported.header + exported.source == compiled_;
    if (!compiled && !run(fmt::format("gcc {} -O1 {} -I. controller.c {}/tests/exported_main.c "
                                      "-o main -lm",
                                      kStrictC, kSanitized, WAGGLE_SOURCE_DIR))) {
      return {};
    }
    compiled_ = exported.header + exported.source;
    if (!run("./main < in > out")) return {};
    std::ifstream out(directory_ / "out");
    Index bytes = 0;
    out >> bytes;
    EXPECT_EQ(bytes, exported.ram_bytes);
    EXPECT_NE(exported.header.find(fmt::format("{} bytes, one", bytes)), std::string::npos);
    const std::vector<double> numbers{std::istream_iterator<double>(out), {}};
    const Index steps = percepts.steps();
    EXPECT_EQ(std::ssize(numbers) % steps, 0);
    return Eigen::Map<const MatrixXd>(numbers.data(), std::ssize(numbers) / steps, steps);
  }

  /// Compiled for a Cortex-M4, it takes the RAM and the flash that it says.
  void expect_sizes_on_a_cortex(const Exported& controller, const ExportOptions& options) {
    SCOPED_TRACE(fmt::format("{}, {}", controller.title,
                             options.precision == Precision::float32 ? "float" : "double"));
    const ExportedC exported = export_c(directory_ / "controller", controller.model, options);
    write_file(directory_ / "probe.c",
               fmt::format("#include \"controller.h\"\n"
                           "typedef char size[sizeof(controller_state) == {} ? 1 : -1];\n"
                           "size probe;\n",
                           exported.ram_bytes));
    ASSERT_TRUE(
        run("for file in controller probe; do arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb "
            "-std=c99 -O2 -Wall -Wextra -Werror -pedantic -c $file.c -o $file.o || exit 1; done; "
            "arm-none-eabi-size controller.o | tail -1 > size"));
    std::ifstream size(directory_ / "size");
    Index flash = 0, initialised = -1, zeroed = -1;
    size >> flash >> initialised >> zeroed;
    EXPECT_EQ(initialised + zeroed, 0);             // all RAM is the caller's
    EXPECT_GE(flash, exported.flash_bytes);         // the constants …
    EXPECT_LE(flash, exported.flash_bytes + 7000);  // … and little code
  }

  fs::path directory_;
  std::string compiled_;  // what `main` was compiled from, where run_c has compiled it
};

/// What the library does on the same percepts.
inline MatrixXd run_library(const Exported& controller, std::uint64_t seed,
                            const MatrixXd& told = {}) {
  GreedyPolicy policy = controller.model.policy();
  const Trajectory& percepts = controller.percepts;
  const Index actions = controller.model.controller.actions.size();
  MatrixXd result(actions + 1, percepts.steps());
  Percept percept;
  VectorXd action(actions);
  std::uint64_t step = 0;  // since the episode's beginning
  for (Index k = 0; k < percepts.steps(); ++k, ++step) {
    if (begins(percepts, k)) {
      policy.begin_episode();
      step = 0;
    }
    percept.reward = percepts.rewards()[k];
    percept.observation = percepts.observations().col(k);
    Draws draws = Random(seed).at(Purpose::policy, step);
    if (told.size() > 0 && !std::isnan(told(0, k))) policy.applied(told.col(k));
    policy.act(percept, draws, action);
    result.col(k).head(actions) = action;
    result(actions, k) = policy.value();
  }
  return result;
}

/// How far the float controller's actions and values are from the library's: 99 % of the actions
/// by less than `most_moved`.
inline void expect_little_drift(const Exported& controller, const MatrixXd& expected,
                                const MatrixXd& actual, double most_moved = 1e-4) {
  ASSERT_EQ(actual.size(), expected.size());
  const Index last = expected.rows() - 1;
  const auto values = expected.row(last);
  const double span = std::max(1e-9, values.maxCoeff() - values.minCoeff());
  VectorXd moved = (actual - expected).topRows(last).cwiseAbs().colwise().maxCoeff();
  std::sort(moved.begin(), moved.end());
  const double median = moved[moved.size() / 2], most = moved[moved.size() * 99 / 100];
  const double value = (actual.row(last) - values).cwiseAbs().maxCoeff() / span;
  fmt::print("{}: actions move by {:.0e}, 99 % {:.0e}, worst {:.0e}; values by {:.0e} of all\n",
             controller.title, median, most, moved[moved.size() - 1], value);
  // Where two actions are worth the same to rounding, the worst may be anything.
  EXPECT_LT(median, 1e-6);
  EXPECT_LT(most, most_moved);
  EXPECT_LT(value, 1e-3);
  if (controller.model.controller.actions.is_discrete()) return;
  for (Index i = 0; i < last; ++i) {
    EXPECT_GE(actual.row(i).minCoeff(), controller.model.controller.actions.lower[i]);
    EXPECT_LE(actual.row(i).maxCoeff(), controller.model.controller.actions.upper[i]);
  }
}

}  // namespace waggle
