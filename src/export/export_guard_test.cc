#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/environments.h>
#include <waggle/export.h>
#include <waggle/guard.h>
#include <waggle/learner.h>

#include "expect_error.h"
#include "export_fixture.h"
#include "guarded_cases.h"

namespace waggle {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What a controller is shown, the reward in the first row, with faults of every kind.
MatrixXd disturbed(const Trajectory& percepts) {
  MatrixXd rows(1 + percepts.observation_size(), percepts.steps());
  rows.row(0) = percepts.rewards().transpose();
  rows.bottomRows(percepts.observation_size()) = percepts.observations();
  const Index channels = rows.rows();
  const VectorXd width = rows.rowwise().maxCoeff() - rows.rowwise().minCoeff();
  rows.col(0).setConstant(NAN);
  for (Index k = 1; k < rows.cols(); ++k) {
    const Index channel = k / 97 % channels;
    double& number = rows(channel, k);
    switch (k % 97) {
      case 10:
        number = 1e300;
        break;
      case 11:
        number = -kInfinite;
        break;
      case 20:
      case 21:
        number = NAN;
        break;
      case 30:
      case 31:
      case 32:
      case 33:
        number += 2.0 * width[channel];
        break;
      default:
        break;
    }
    // For so long that it must be noticed, with a gap.
    if (k > 705 && k < 1000) rows.col(k) = rows.col(705);
    if (k == 950) rows.col(k).setConstant(NAN);
  }
  return rows;
}

/// A row of what a guarded controller did: its action, value and novelty; who acted, how often
/// that changed and how long it lasted; of each input its faults and their counts.
Index report_size(const Model& model) {
  const Index inputs =
      model.environment.observation_size() + (model.environment.reward_is_input ? 1 : 0);
  return model.controller.actions.size() + 5 + 4 * inputs;
}

VectorXd report(const GuardedPolicy& policy, const VectorXd& action, const Model& model) {
  VectorXd result(report_size(model));
  const InputGuard& inputs = policy.inputs();
  Index at = action.size();
  result.head(at) = action;
  result[at++] = policy.value();
  result[at++] = policy.novelty().value_or(0.0);
  result[at++] = policy.fell_back() ? 1.0 : 0.0;
  result[at++] = static_cast<double>(policy.take_overs());
  result[at++] = static_cast<double>(policy.fallback_steps());
  for (Index i = model.environment.reward_is_input ? 0 : 1; i < inputs.channels(); ++i) {
    double faults = 0.0;
    for (int fault = 0; fault < kInputFaults; ++fault) {
      if (inputs.now(static_cast<InputFault>(fault), i)) faults += std::exp2(fault);
    }
    result[at++] = faults;
    for (int fault = 0; fault < kInputFaults; ++fault) {
      result[at++] = static_cast<double>(inputs.count(static_cast<InputFault>(fault), i));
    }
  }
  return result;
}

MatrixXd run_guarded(const Exported& controller, const MatrixXd& shown, const MatrixXd& told,
                     const ExportOptions& options) {
  const Model& model = controller.model;
  GuardedPolicy policy(model, options.guard, Start::fresh,
                       make_fallback(options.fallback, model.controller.actions));
  MatrixXd result(report_size(model), shown.cols());
  Percept percept;
  VectorXd action(model.controller.actions.size());
  std::uint64_t step = 0;
  for (Index k = 0; k < shown.cols(); ++k, ++step) {
    if (begins(controller.percepts, k)) {
      policy.begin_episode();
      step = 0;
    }
    if (told.size() > 0 && !std::isnan(told(0, k))) policy.applied(told.col(k));
    percept.reward = shown(0, k);
    percept.observation = shown.col(k).tail(shown.rows() - 1);
    Draws draws = Random(options.seed).at(Purpose::policy, step);
    policy.act(percept, draws, action);
    result.col(k) = report(policy, action, model);
  }
  return result;
}

class Guarded : public CFixture {
 protected:
  /// In C as in the library, of which the first rows, the actions', may differ by so much, value
  /// and novelty by a share of their size, and the rest not at all.
  void expect_same(const Exported& controller, const MatrixXd& told, const ExportOptions& options,
                   double moved, double share) {
    SCOPED_TRACE(fmt::format("{}, told of {}", controller.title, told.size()));
    const MatrixXd shown = disturbed(controller.percepts);
    const MatrixXd expected = run_guarded(controller, shown, told, options);
    const MatrixXd actual = run_c(controller, options, told, shown);
    ASSERT_EQ(actual.size(), expected.size());
    const Index actions = controller.model.controller.actions.size();
    EXPECT_LT((actual - expected).topRows(actions).cwiseAbs().maxCoeff(), moved);
    for (const Index row : {actions, actions + 1}) {
      const double scale = std::max(1.0, expected.row(row).cwiseAbs().maxCoeff());
      EXPECT_LT((actual - expected).row(row).cwiseAbs().maxCoeff(), share * scale) << row;
    }
    const Index rest = expected.rows() - actions - 2;
    EXPECT_EQ(actual.bottomRows(rest), expected.bottomRows(rest));
    // Something was held, went missing and was stuck; and the fallback came and went.
    const VectorXd last = expected.col(expected.cols() - 1).tail(rest);
    for (const Index fault : {4, 5}) EXPECT_GT(last[fault], 0.0) << fault;
    if (options.guard.stuck_steps == GuardOptions{}.stuck_steps) {
      EXPECT_GT(last[6], 0.0);
    }
    if (options.fallback == Fallback::none) return;
    EXPECT_GE(last[1], 1.0);
    EXPECT_GT(last[2], last[1]);
    EXPECT_LT(last[2], static_cast<double>(expected.cols()));
  }
};

/// A limit of novelty that some steps are above.
ExportOptions with_fallback(const Exported& controller, Fallback fallback) {
  ExportOptions options{.seed = 77, .guarded = true};
  const MatrixXd shown = disturbed(controller.percepts);
  const Index row = controller.model.controller.actions.size() + 1;
  VectorXd novelty = run_guarded(controller, shown, {}, options).row(row).transpose();
  std::sort(novelty.begin(), novelty.end());
  options.guard.novelty_limit = novelty[novelty.size() * 93 / 100];
  options.guard.calm_steps = 4;
  options.fallback = fallback;
  return options;
}

TEST_F(Guarded, NetworksDoWhatTheLibraryDoes) {
  for (const Exported& controller : networks()) {
    for (const MatrixXd& told : {MatrixXd(), told_of(controller.percepts)}) {
      expect_same(controller, told, with_fallback(controller, Fallback::hold), 1e-10, 1e-10);
    }
  }
}

TEST_F(Guarded, PredictiveStatesDoWhatTheLibraryDoes) {
  for (const Exported& controller : predictives()) {
    const MatrixXd told = told_of(controller.percepts, true);
    expect_same(controller, told, with_fallback(controller, Fallback::hold), 1e-6, 1e-7);
  }
}

TEST_F(Guarded, ZeroAndNoFallback) {
  const Exported& pendulum = networks()[3];
  expect_same(pendulum, {}, with_fallback(pendulum, Fallback::zero), 1e-10, 1e-10);
  expect_same(pendulum, {}, {.guarded = true}, 1e-10, 1e-10);
  expect_same(networks()[2], {}, {.guarded = true, .guard = {.margin = 0.5, .stuck_steps = 40}},
              1e-10, 1e-10);
}

TEST_F(Guarded, TakesOnACortexWhatItSays) {
  if (!has_cortex_compiler()) GTEST_SKIP() << "there is no arm-none-eabi-gcc";
  for (const auto* all : {&networks(), &predictives()}) {
    for (const Exported& controller : *all) {
      for (const Precision precision : {Precision::float32, Precision::float64}) {
        for (const Fallback fallback : {Fallback::none, Fallback::hold}) {
          expect_sizes_on_a_cortex(controller,
                                   {.precision = precision, .guarded = true, .fallback = fallback});
        }
      }
    }
  }
}

TEST_F(Guarded, InFloatNothingElseIsHeld) {
  for (const Exported& controller : {networks()[1], predictives()[0]}) {
    SCOPED_TRACE(controller.title);
    ExportOptions options = with_fallback(controller, Fallback::hold);
    options.precision = Precision::float32;
    const MatrixXd shown = disturbed(controller.percepts);
    const MatrixXd told = told_of(controller.percepts, true);
    const MatrixXd expected = run_guarded(controller, shown, told, options);
    const MatrixXd actual = run_c(controller, options, told, shown);
    ASSERT_EQ(actual.size(), expected.size());
    const Index actions = controller.model.controller.actions.size();
    const auto novelty = expected.row(actions + 1).array();
    EXPECT_LT(((actual.row(actions + 1).array() - novelty) / (1.0 + novelty)).abs().maxCoeff(),
              1e-4);
    const Index rest = expected.rows() - actions - 2;
    EXPECT_EQ(actual.bottomRows(rest), expected.bottomRows(rest));
  }
}

TEST_F(Guarded, CountsStopWhereTheyWouldStartAgain) {
  const Exported& bee = networks()[0];
  export_c(directory_ / "controller", bee.model,
           {.guarded = true,
            .guard = {.novelty_limit = 1e-6, .calm_steps = 4'294'967'295},
            .fallback = Fallback::hold});
  run_main(
      "#include \"controller.h\"\n#include <math.h>\n"
      "int main(void) {\n"
      "  controller_state s; double a;\n"
      "  controller_reset(&s);\n"
      "  if (controller_held(&s) || controller_fell_back(&s)) return 1;\n"
      "  controller_step(&s, NAN, 0, &a);\n"
      "  if (s.missing[0] != 1 || s.fallback_steps != 1 || s.take_overs != 1) return 2;\n"
      "  s.missing[0] = s.beyond[0] = s.run[0] = s.fallback_steps = UINT32_MAX;\n"
      "  controller_step(&s, NAN, 0, &a);\n"
      "  controller_step(&s, 1e300, 0, &a);\n"
      "  s.run[0] = UINT32_MAX;\n"
      "  controller_step(&s, 1e300, 0, &a);\n"
      "  if (s.missing[0] != UINT32_MAX || s.beyond[0] != UINT32_MAX) return 3;\n"
      "  if (s.run[0] != UINT32_MAX || s.fallback_steps != UINT32_MAX) return 4;\n"
      "  if (s.take_overs != 1 || s.stuck[0] != 1 || !controller_held(&s)) return 5;\n"
      "  controller_begin_episode(&s);\n"  // counts go on, and whoever acts does
      "  if (s.missing[0] != UINT32_MAX || !controller_fell_back(&s)) return 6;\n"
      "  if (s.run[0] != 0 || s.begun) return 7;\n"
      "  controller_reset(&s);\n"
      "  return s.missing[0] || s.take_overs || controller_fell_back(&s) ? 8 : 0;\n}\n");
}

TEST(ExportedGuard, WithoutItItTakesNothing) {
  const Model& model = networks()[0].model;
  const ExportedC bare = export_c(model);
  EXPECT_EQ(bare.source, export_c(model, {.guard = {.margin = 3.0}}).source);
  EXPECT_NE(bare.header.find("#define controller_GUARDED 0"), std::string::npos);
  const ExportedC guarded = export_c(model, {.guarded = true});
  const Index n = model.fitted_size();
  EXPECT_EQ(guarded.flash_bytes, bare.flash_bytes + 8 * (2 * n + 3) + 4);
  EXPECT_EQ(guarded.ram_bytes,
            bare.ram_bytes + 8 * 3 + 4 * (5 + 4) - 4);  // which was there to align it
  EXPECT_GE(guarded.multiply_adds, bare.multiply_adds + 4 * n);
  // Before there was a number the mean is read.
  EXPECT_NE(guarded.source.find(fmt::format("input_mean[1] = {{\n    {}}}", model.ranges.mean[0])),
            std::string::npos);
}

TEST(ExportedGuard, TheHeaderSaysTheLimitsItWasLearntIn) {
  const Model& pendulum = networks()[3].model;
  const std::string bare = export_c(pendulum).header;
  const ChannelRanges& ranges = pendulum.ranges;
  for (const std::string& part :
       {fmt::format("seen from {:.6g} to {:.6g} (not read)", ranges.minimum[0], ranges.maximum[0]),
        fmt::format("tried from {:.6g} to {:.6g}", ranges.minimum[1], ranges.maximum[1]),
        fmt::format(", seen from {:.6g} to {:.6g}\n", ranges.minimum[2], ranges.maximum[2]),
        std::string("by 0.3 a step at most"), std::string("learnt from     1200 rows in "),
        fmt::format("discount {}", pendulum.options.value.discount)}) {
    EXPECT_NE(bare.find(part), std::string::npos) << part << "\n" << bare;
  }
  EXPECT_EQ(bare.find("held within"), std::string::npos);
  EXPECT_NE(export_c(networks()[0].model).header.find("anything at every step"), std::string::npos);

  const std::string guarded =
      export_c(pendulum, {.guarded = true,
                          .guard = {.margin = 0.2, .novelty_limit = 1.5, .calm_steps = 7},
                          .fallback = Fallback::zero})
          .header;
  const double width = ranges.maximum[2] - ranges.minimum[2];
  for (const std::string& part :
       {fmt::format("held within {:.6g} and {:.6g}", ranges.minimum[2] - 0.2 * width,
                    ranges.maximum[2] + 0.2 * width),
        std::string("0, above a novelty of 1.5 and until it was below for 7 steps")}) {
    EXPECT_NE(guarded.find(part), std::string::npos) << part << "\n" << guarded;
  }
}

TEST(ExportedGuard, RefusesWhatCannotBe) {
  Model model = networks()[0].model;
  expect_error([&] { export_c(model, {.fallback = Fallback::hold}); }, "fallback", "guard");
  expect_error([&] { export_c(model, {.guarded = true, .guard = {.hold = false}}); },
               "hold = false");
  expect_error([&] { export_c(model, {.guarded = true, .guard = {.margin = -1.0}}); },
               "margin = -1");
  expect_error([&] { export_c(model, {.guarded = true, .guard = {.calm_steps = 4'294'967'296}}); },
               "calm_steps = 4294967296", "at most");
  const ExportOptions zero{.guarded = true, .fallback = Fallback::zero};
  expect_error([&] { export_c(networks()[2].model, zero); }, "choices", "say hold");
  model.environment.actions.lower.setConstant(0.01);
  expect_error([&] { export_c(model, zero); }, "0 is outside the bounds");
  model.baseline.reset();
  expect_error([&] { export_c(model, {.guarded = true, .fallback = Fallback::hold}); },
               "has no baseline", "learn it again");
  // Then it holds, and says nothing of novelty.
  const ExportedC unknowing = export_c(model, {.guarded = true});
  EXPECT_NE(unknowing.header.find("#define controller_GUARDED 1"), std::string::npos);
  EXPECT_NE(unknowing.header.find("#define controller_NOVELTY 0"), std::string::npos);
}

}  // namespace
}  // namespace waggle
