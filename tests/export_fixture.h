#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include <waggle/export.h>

#include "core/check.h"
#include "files/atomic_file.h"

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

/// A program that reads rows of percepts, whether something else was applied (1) or an episode
/// begins (2), and what was, and writes actions and values, after its own sizeof the state.
inline std::string program(const Model& model) {
  const Index observations = model.environment.observation_size();
  const Index actions = model.controller.actions.size();
  const bool scalar = model.controller.actions.is_discrete() || actions == 1;
  const std::string step = scalar ? "action[0] = (double)controller_step(&state, v[0], v + 1);"
                                  : "controller_step(&state, v[0], v + 1, a);"
                                    "for (i = 0; i < ACTIONS; ++i) action[i] = a[i];";
  const char* applied = model.controller.actions.is_discrete() ? "(int)told[1]"
                        : scalar                               ? "told[1]"
                                                               : "told + 1";
  return fmt::format(
             "#include \"controller.h\"\n#include <stdio.h>\n"
             "enum {{ INPUTS = {}, ACTIONS = {} }};\n",
             1 + observations, actions) +
         "int main(void) {\n"
         "  controller_state state; double in, action[8]; int n = 0;\n"
         "  controller_real v[INPUTS + 1 + ACTIONS], a[8], *told = v + INPUTS;\n"
         "  printf(\"%d\\n\", (int)sizeof state);\n"
         "  controller_reset(&state);\n"
         "  while (scanf(\"%lf\", &in) == 1) {\n"
         "    int i; v[n++] = (controller_real)in; if (n < INPUTS + 1 + ACTIONS) continue;\n"
         "    n = 0; (void)a;\n"
         "    if (told[0] == 2) controller_reset(&state);\n"
         "    if (told[0] == 1 && !controller_applied(&state, " +
         std::string(applied) + ")) return 1;\n    " + step +
         "\n    for (i = 0; i < ACTIONS; ++i) printf(\"%.17g \", action[i]);\n"
         "    printf(\"%.17g\\n\", (double)controller_value(&state));\n  }\n  return 0;\n}\n";
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

  /// Exports, compiles and runs; rows of actions and the value. `told`, if not empty, as of
  /// told_of.
  MatrixXd run_c(const Exported& controller, const ExportOptions& options,
                 const MatrixXd& told = {}) {
    const ExportedC exported = export_c(directory_ / "controller", controller.model, options);
    write_file(directory_ / "main.c", program(controller.model));
    std::ofstream in(directory_ / "in");
    in.precision(17);
    const Trajectory& percepts = controller.percepts;
    for (Index k = 0; k < percepts.steps(); ++k) {
      in << percepts.rewards()[k] << ' ' << percepts.observations().col(k).transpose();
      const bool tells = told.size() > 0 && !std::isnan(told(0, k));
      VectorXd action = VectorXd::Zero(percepts.action_size());
      if (tells) action = told.col(k);
      in << ' ' << (tells ? 1 : begins(percepts, k) ? 2 : 0) << ' ' << action.transpose() << '\n';
    }
    in.close();
    if (!run("gcc -std=c99 -O1 -Wall -Wextra -Werror -pedantic controller.c main.c -o main -lm && "
             "./main < in > out")) {
      return {};
    }
    std::ifstream out(directory_ / "out");
    Index bytes = 0;
    out >> bytes;
    EXPECT_EQ(bytes, exported.ram_bytes);
    EXPECT_NE(exported.header.find(fmt::format("{} bytes, one", bytes)), std::string::npos);
    MatrixXd result(controller.model.controller.actions.size() + 1, percepts.steps());
    for (double& number : result.reshaped()) out >> number;
    EXPECT_TRUE(out.good());
    return result;
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
