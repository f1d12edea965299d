/// Controllers that are held back, in C beside the library's.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "export_fixture.h"
#include "guarded_cases.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using ExportPessimism = CFixture;

/// The same, held back by deviations that differ from action to action.
Exported held_back(Exported controller, double factor) {
  Controller& held = controller.model.controller;
  RandomNumbers random(11);
  const Index features = held.reservoir->features(), fitted = controller.model.fitted_size();
  held.pessimism = {factor, MatrixXd::Zero(features, 5)};
  for (Index j = 0; j < 5; ++j) {
    held.pessimism.deviations.col(j).tail(fitted) = random.vector(fitted);
  }
  held.pessimism.deviations *= held.weights.norm() / std::sqrt(static_cast<double>(features));
  return controller;
}

Exported unbounded() {
  const ControlProblem problem = make_problem("market-maker");
  FitOptions options = network();
  options.greedy = {
      .maximiser = Maximiser::sampled, .candidates = 10, .candidate_spread = 1.5, .smoothing = {}};
  return learnt("market maker without bounds", *problem.environment, problem.discount, options,
                800);
}

std::vector<Exported> make_held_back() {
  std::vector<Exported> all;
  for (const auto* bold : {&networks(), &predictives()}) {
    for (const Exported& controller : *bold) all.push_back(held_back(controller, 0.3));
  }
  all.push_back(held_back(unbounded(), 0.3));
  EXPECT_FALSE(all.back().model.controller.actions.is_bounded());
  return all;
}

const std::vector<Exported>& controllers() {
  static const std::vector<Exported> all = make_held_back();
  return all;
}

TEST_F(ExportPessimism, DoesWhatTheLibraryDoes) {
  constexpr std::uint64_t seed = 0x123456789abcdef0;
  for (const Exported& controller : controllers()) {
    SCOPED_TRACE(controller.title);
    const MatrixXd told = told_of(controller.percepts, true);
    const MatrixXd expected = run_library(controller, seed, told);
    const MatrixXd actual = run_c(controller, {.seed = seed}, told);
    ASSERT_EQ(actual.size(), expected.size());
    const Index last = expected.rows() - 1;
    const MatrixXd actions = expected.topRows(last);
    EXPECT_LT((actual.topRows(last) - actions).cwiseAbs().maxCoeff(), 1e-6);
    const double scale = std::max(1.0, expected.row(last).cwiseAbs().maxCoeff());
    EXPECT_LT((actual - expected).row(last).cwiseAbs().maxCoeff(), 1e-8 * scale);
    // It decides, and not as a bold one does.
    EXPECT_GT(actions.maxCoeff() - actions.minCoeff(), 0.0);
    Exported bold = controller;
    bold.model.controller.pessimism = {};
    const MatrixXd moved = run_library(bold, seed, told).topRows(last) - actions;
    const Index others = (moved.colwise().norm().array() > 1e-3).count();
    EXPECT_GT(others, actions.cols() / 20);
    ASSERT_TRUE(run("g++ -O1 -Wall -Wextra -Werror -pedantic -x c++ -c controller.c -o cc.o"));
  }
}

TEST_F(ExportPessimism, DriftsLittleInFloat) {
  for (const Exported& controller : {controllers()[0], controllers()[7]}) {
    SCOPED_TRACE(controller.title);
    const MatrixXd told = told_of(controller.percepts, true);
    expect_little_drift(controller, run_library(controller, 0, told),
                        run_c(controller, {.precision = Precision::float32}, told), 1e-2);
  }
}

TEST_F(ExportPessimism, TakesOnACortexWhatItSays) {
  if (!has_cortex_compiler()) GTEST_SKIP() << "there is no arm-none-eabi-gcc";
  for (const Exported& controller : controllers()) {
    expect_sizes_on_a_cortex(controller, {.precision = Precision::float32});
  }
}

TEST(ExportedPessimism, SaysHowLargeItsTableIs) {
  for (const std::size_t i : {0, 7}) {
    const Model& model = controllers()[i].model;
    Model bold = model;
    bold.controller.pessimism = {};
    for (const Precision precision : {Precision::float32, Precision::float64}) {
      const ExportedC held = export_c(model, {.precision = precision});
      const ExportedC free = export_c(bold, {.precision = precision});
      const Index bytes = model.fitted_size() * 5 * (precision == Precision::float32 ? 4 : 8);
      EXPECT_EQ(held.held_back_bytes, bytes);
      EXPECT_EQ(held.flash_bytes, free.flash_bytes + bytes);
      EXPECT_EQ(held.ram_bytes, free.ram_bytes);
      EXPECT_GT(held.multiply_adds, free.multiply_adds + 26 * 5 * model.fitted_size());
      EXPECT_NE(held.header.find(fmt::format("held back       by 0.3 standard errors: {} x 5 "
                                             "numbers, {} bytes of the flash below",
                                             model.fitted_size(), bytes)),
                std::string::npos);
      EXPECT_EQ(held.source.find("malloc"), std::string::npos);
      EXPECT_EQ(free.held_back_bytes, 0);
      EXPECT_EQ(free.header.find("held back"), std::string::npos);
      EXPECT_EQ(free.source.find("controller_worth"), std::string::npos);
    }
  }
}

TEST(ExportedPessimism, RefusesDeviationsOfOtherFits) {
  Model model = controllers()[7].model;
  model.controller.pessimism.deviations(0, 0) = 1.0;
  expect_error([&] { export_c(model); },
               "pessimism = 0.3: the deviations are of other features than the last fit's");
}

}  // namespace
}  // namespace waggle
