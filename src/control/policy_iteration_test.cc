#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/fit/policy_iteration.h>
#include <waggle/learner.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A ring of cells with two moves and a reward in one cell, fully observed: the optimal values are
/// those of a small MDP.
class Ring final : public Environment {
 public:
  static constexpr int cells = 7;

  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "ring";
    spec.actions = ActionSpace::discrete(2);
    spec.action_names = {"move"};
    spec.observation_names = {"cell"};
    spec.reward_is_input = false;
    return spec;
  }
  void reset(Draws&, Percept& percept) override {
    cell_ = 0;
    percept.observation[0] = cell_;
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws&, Percept& percept) override {
    cell_ = next(cell_, static_cast<int>(action[0]));
    percept.reward = reward(cell_);
    percept.observation[0] = cell_;
  }
  /// The second, smaller reward makes sure that no two moves are equally good.
  static double reward(int cell) { return cell == 3 ? 1.0 : cell == 4 ? 0.1 : 0.0; }
  static int next(int cell, int move) { return (cell + (move == 1 ? 1 : cells - 1)) % cells; }

 private:
  int cell_ = 0;
};

/// x is the one-hot code of (cell, move): a table of action values.
class CellAndMove final : public ReservoirSystem {
 public:
  Index units() const override { return 2 * Ring::cells; }
  Index inputs() const override { return 3; }
  void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next.setZero();
    next[2 * static_cast<Index>(z[2]) + (z[1] > 0.5 ? 1 : 0)] = 1.0;
  }
};

/// Q*(cell, move) by value iteration, as the independent judge.
VectorXd optimal_values(double gamma) {
  VectorXd q = VectorXd::Zero(2 * Ring::cells);
  for (int sweep = 0; sweep < 2000; ++sweep) {
    for (int cell = 0; cell < Ring::cells; ++cell) {
      for (int move = 0; move < 2; ++move) {
        const int to = Ring::next(cell, move);
        q[2 * cell + move] = Ring::reward(to) + gamma * std::max(q[2 * to], q[2 * to + 1]);
      }
    }
  }
  return q;
}

void PrintTo(Method method, std::ostream* out) {
  *out << (method == Method::lstd ? "lstd" : "bellman_residual");
}

class EveryMethodIterated : public testing::TestWithParam<Method> {};

TEST_P(EveryMethodIterated, FindsTheOptimalValuesFromRandomMoves) {
  Ring ring;
  Simulation simulation(ring, 3);
  UniformPolicy random(simulation.spec().actions);
  const Trajectory log = simulation.run(random, {.steps = 2000}).trajectory;
  const double gamma = 0.9;
  const PolicyIteration result = iterate_policy(
      {std::make_shared<CellAndMove>(), InputLayout::of(simulation.spec()),
       simulation.spec().actions},
      log, {.value = {.discount = gamma, .method = GetParam(), .solve = {1e-9}, .washout = 1}});
  EXPECT_EQ(result.end, PolicyIterationEnd::fixed_point);
  EXPECT_LT((result.value.weights - optimal_values(gamma)).norm(), 1e-5);
  EXPECT_LT(result.sweeps.back().bellman_error, 1e-5);
  EXPECT_EQ(result.sweeps.back().actions_changed, 0.0);
  EXPECT_GT(result.sweeps.front().weight_change, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethodIterated,
                         testing::Values(Method::bellman_residual, Method::lstd));

TEST(PolicyIteration, TerminationIsHonoured) {
  toy::Countdown environment(5);
  Simulation simulation(environment, 1);
  UniformPolicy policy(simulation.spec().actions);
  const Trajectory log = simulation.run(policy, {.steps = 300}).trajectory;
  const InputLayout layout = InputLayout::of(simulation.spec());
  const PolicyIteration result = iterate_policy(
      {std::make_shared<toy::LastObservation>(6, layout.size()), layout, simulation.spec().actions},
      log, {.value = {.discount = 0.8, .solve = {1e-10}, .washout = 1}});
  for (int left = 1; left <= 5; ++left) {
    EXPECT_NEAR(result.value.weights[left], (1 - std::pow(0.8, left)) / 0.2, 1e-6);
  }
}

TEST(PolicyIteration, ReweightingCountsNoisyRowsLess) {
  // A straight line through points whose noise grows along it: weighted by inverse variance, its
  // quiet end is found several times more exactly.
  class Line final : public ReservoirSystem {
   public:
    Index units() const override { return 2; }
    Index inputs() const override { return 2; }
    void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
              Eigen::Ref<VectorXd> next) const override {
      next << 1.0, z[1];
    }
  };
  const InputLayout layout{.reward = false, .observation_size = 1};
  PolicyIterationOptions options{
      .value = {.discount = 0.0, .solve = {0.0}, .washout = 1}, .sweeps = 3, .tolerance = 0.0};
  double plain = 0.0, weighted = 0.0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trajectory log(1, 1);
    double before = 0.0;
    for (std::uint64_t k = 0; k < 500; ++k) {
      Draws draws = Random(seed).at(Purpose::user, k);
      const double noise = std::sqrt(0.01 + 25.0 * before);
      log.append(1.0 + 2.0 * before + noise * draws.normal(), VectorXd::Zero(1),
                 VectorXd::Constant(1, draws.uniform()));
      before = log.observations()(0, log.steps() - 1);
    }
    for (const bool reweight : {false, true}) {
      options.reweight = reweight;
      const double error =
          iterate_policy({std::make_shared<Line>(), layout, ActionSpace::box(-1, 1)}, log, options)
              .value.weights[0] -
          1.0;
      (reweight ? weighted : plain) += error * error;
    }
  }
  EXPECT_LT(weighted, 0.5 * plain);
}

TEST(PolicyIteration, ACycleIsSeen) {
  // One feature, 1 after the move that was always made and 3 after the other. While W > 0 the other
  // move looks better, and W = 1/(1 − 3γ) = −2; then the first does, and W = 1/(1 − γ) = 2.
  class OneFeature final : public ReservoirSystem {
   public:
    Index units() const override { return 1; }
    Index inputs() const override { return 2; }
    void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
              Eigen::Ref<VectorXd> next) const override {
      next[0] = z[1] > 0.5 ? 3.0 : 1.0;
    }
  };
  const InputLayout layout{.reward = false, .choices = 2};
  Trajectory log(1, 0);
  for (int k = 0; k < 10; ++k) log.append(1.0, VectorXd::Zero(1), VectorXd(0));
  PolicyIterationOptions options{
      .value = {.discount = 0.5, .method = Method::lstd, .solve = {0.0}, .washout = 1}};
  const auto iterate = [&] {
    return iterate_policy({std::make_shared<OneFeature>(), layout, ActionSpace::discrete(2)}, log,
                          options);
  };
  const PolicyIteration cycle = iterate();
  EXPECT_EQ(cycle.end, PolicyIterationEnd::cycle);
  EXPECT_EQ(cycle.sweeps.size(), 2u);
  EXPECT_NEAR(cycle.value.weights[0], 2.0, 1e-12);
  EXPECT_NEAR(cycle.sweeps[1].weight_change, 2.0, 1e-12);
  options.sweeps = 1;
  const PolicyIteration half = iterate();
  EXPECT_EQ(half.end, PolicyIterationEnd::stopped);
  EXPECT_NEAR(half.value.weights[0], -2.0, 1e-12);
}

TEST(PolicyIteration, LogsThatDoNotFitAreRefusedWithInitialWeightsToo) {
  Ring ring;
  Trajectory log(1, 1);
  log.append(0.0, VectorXd::Constant(1, 7.0), VectorXd::Zero(1));
  expect_error(
      [&] {
        iterate_policy({std::make_shared<CellAndMove>(), InputLayout::of(ring.spec()),
                        ring.spec().actions, VectorXd::Zero(14)},
                       log, {});
      },
      "row 0", "action = 7", "0 to 1");
}

TEST(PolicyIteration, ChoosesTheRidgeOnceAndReportsThePath) {
  Ring ring;
  Simulation simulation(ring, 3);
  UniformPolicy random(simulation.spec().actions);
  const Trajectory log = simulation.run(random, {.steps = 1000}).trajectory;
  const auto reservoir = std::make_shared<CellAndMove>();
  const InputLayout layout = InputLayout::of(simulation.spec());
  const ValueOptions value{.discount = 0.9, .solve = {}};
  const PolicyIteration result =
      iterate_policy({reservoir, layout, simulation.spec().actions}, log, {.value = value});
  EXPECT_GT(result.value.diagnostics.ridge, 0.0);
  EXPECT_TRUE(result.value.options.solve.choose());
  // It is that of the value of what was done, before any sweep.
  const FitDiagnostics once = fit_value(*reservoir, layout, log, value).diagnostics;
  EXPECT_NEAR(result.value.diagnostics.relative_ridge, once.relative_ridge,
              1e-12 * once.relative_ridge);
  const std::vector<RidgeCandidate>& path = result.value.diagnostics.ridge_path;
  ASSERT_EQ(path.size(), 20u);
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_EQ(path[i].error, once.ridge_path[i].error) << i;
  }
  // No action was greedy before the first sweep; in the last one none is another than before.
  ASSERT_EQ(result.end, PolicyIterationEnd::fixed_point);
  EXPECT_EQ(result.sweeps.front().actions_changed, 1.0);
  EXPECT_EQ(result.sweeps.back().actions_changed, 0.0);
}

TEST(PolicyIteration, BadInputIsNamed) {
  const auto network = std::make_shared<EchoStateNetwork>(plain_reservoir(5), 1);
  const InputLayout layout{.reward = false};
  Trajectory log(1, 0);
  log.append(0.0, VectorXd::Zero(1), VectorXd(0));
  const auto run = [&](const ActionSpace& space, const PolicyIterationOptions& options) {
    iterate_policy({network, layout, space}, log, options);
  };
  expect_error([&] { run(ActionSpace::unbounded(1), {}); }, "unbounded");
  expect_error([&] { run(ActionSpace::box(-1, 1), {.sweeps = 0}); }, "sweeps = 0");
  expect_error([&] { run(ActionSpace::box(-1, 1), {.value = {.washout = 5}}); }, "washout = 5");
}

}  // namespace
}  // namespace waggle
