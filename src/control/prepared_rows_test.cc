/// Sweeps of policy iteration that keep the states of all rows, on any number of threads, against a
/// walk along the experience that starts over for every sweep.
#include "control/prepared_rows.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <waggle/fit/policy_iteration.h>

#include "core/parallel.h"
#include "expect_error.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "value/equations.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kRows = 1200;

struct Case {
  std::string name;
  ActionSpace space = ActionSpace::box(-1.0, 1.0);
  std::function<void(Controller&, PolicyIterationOptions&)> change = [](auto&, auto&) {};
  bool episodes = true;
  Index members = 2;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Rows of noise that rewards actions near the last observation; episodes of 37 rows, of which
/// every other terminates.
Trajectory noise(const ActionSpace& space, bool episodes) {
  RandomNumbers numbers(3);
  Trajectory log(space.size(), 1);
  double seen = 0.0;
  double before = 0.0;
  for (Index k = 0; k < kRows; ++k) {
    VectorXd action = numbers.vector(space.size());
    if (space.is_discrete()) action[0] = std::floor(1.5 * (action[0] + 1.0));
    const double reward = 1.0 - std::abs(before - seen) + 0.1 * numbers.vector(1)[0];
    seen = 0.8 * seen + 0.4 * numbers.vector(1)[0];
    const bool ends = episodes && k % 37 == 36;
    log.append(reward, action, VectorXd::Constant(1, seen),
               !ends             ? EpisodeEnd::none
               : k / 37 % 2 == 0 ? EpisodeEnd::terminated
                                 : EpisodeEnd::truncated);
    before = action[0];
  }
  return log;
}

class EveryWalk : public testing::TestWithParam<Case> {
 protected:
  EveryWalk() : log(noise(GetParam().space, GetParam().episodes)) {
    const ActionSpace& space = GetParam().space;
    controller.actions = space;
    controller.layout = {.reward = true,
                         .action_size = space.size(),
                         .choices = space.choices,
                         .observation_size = 1};
    controller.reservoir = std::make_shared<EchoStateNetwork>(
        ReservoirOptions{.units = 20, .seed = 4}, controller.layout.size(), GetParam().members);
    options.value = {.discount = 0.8, .solve = {.ridge = 1e-3, .scale = RidgeScale::relative}};
    options.sweeps = 5;
    options.tolerance = 0.0;
    GetParam().change(controller, options);
  }

  PolicyIteration iterate(int threads, double kept_memory) {
    options.execution = {threads, kept_memory};
    return iterate_policy(controller, log, options);
  }

  /// The same by the definition: every sweep walks along the rows, one after the other.
  VectorXd started_over(std::size_t sweeps) {
    TrajectoryChunks source(log);
    ActionSearch search(controller);
    if (controller.weights.size() == 0) {
      search.set_weights(
          fit_value(*controller.reservoir, controller.layout, log, options.value).weights);
    }
    ValueFit fit;
    for (std::size_t i = 0; i < sweeps; ++i) {
      ValueEquations equations(*controller.reservoir, options.value, source, {});
      VectorXd state = VectorXd::Zero(controller.reservoir->units());
      VectorXd next = state, best = state, action = VectorXd::Zero(controller.actions.size());
      Actuator actuator(controller.limits, controller.actions);
      Index in_episode = 0;
      for (Index k = 0; k < log.steps(); ++k) {
        search.prepare(state, log.rewards()[k], log.observations().col(k));
        search.set_reach(actuator.reach());
        search.apply(log.actions().col(k), next);
        Draws draws = Random(0).at(Purpose::policy, static_cast<std::uint64_t>(k));
        search.maximise(draws, action);
        search.apply(action, best);
        if (in_episode++ >= options.value.washout_rows()) {
          equations.add({.state = state,
                         .reward = log.rewards()[k],
                         .next = best,
                         .terminated = log.end(k) == EpisodeEnd::terminated});
        }
        actuator.take(log.actions().col(k));
        state = next;
        if (log.end(k) == EpisodeEnd::none) continue;
        state.setZero();
        actuator.reset();
        in_episode = 0;
      }
      equations.solve(fit);
      search.set_weights(fit.weights);
    }
    return fit.weights;
  }

  Trajectory log;
  Controller controller;
  PolicyIterationOptions options;
};

TEST_P(EveryWalk, KeptStatesGiveWhatDrivingAnewGives) {
  const PolicyIteration kept = iterate(1, 0.25);
  const PolicyIteration anew = iterate(1, 0.0);
  ASSERT_EQ(kept.sweeps.size(), anew.sweeps.size());
  EXPECT_EQ(kept.value.weights, anew.value.weights);
  EXPECT_EQ(kept.value.state, anew.value.state);
  for (std::size_t i = 0; i < kept.sweeps.size(); ++i) {
    EXPECT_EQ(kept.sweeps[i].bellman_error, anew.sweeps[i].bellman_error);
    EXPECT_EQ(kept.sweeps[i].actions_changed, anew.sweeps[i].actions_changed);
  }
  EXPECT_GT(kept.sweeps.front().weight_change, 1e-3);  // there was something to agree about
  if (options.reweight) {
    // λ is in units of the rows' mean square, which weights change from the second sweep on.
    options.sweeps = 1;
    EXPECT_NE(iterate(1, 0.25).value.diagnostics.ridge, kept.value.diagnostics.ridge);
    return;
  }
  ASSERT_GE(kept.sweeps.size(), 3u);  // or it has come to a fixed point
  const VectorXd expected = started_over(kept.sweeps.size());
  EXPECT_LE((kept.value.weights - expected).norm(), 1e-9 * expected.norm());
}

TEST_P(EveryWalk, TheNumberOfThreadsDoesNotShow) {
  const PolicyIteration one = iterate(1, 0.25);
  for (const int threads : {2, 3}) {
    const PolicyIteration more = iterate(threads, 0.25);
    EXPECT_EQ(more.value.weights, one.value.weights) << threads;
    EXPECT_EQ(more.sweeps.back().bellman_error, one.sweeps.back().bellman_error) << threads;
    EXPECT_EQ(iterate(threads, 0.0).value.weights, one.value.weights) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EveryWalk,
    testing::Values(
        Case{.name = "one_long_record", .episodes = false}, Case{.name = "episodes"},
        Case{.name = "washout", .change = [](auto&, auto& o) { o.value.washout = 7; }},
        Case{.name = "rate_limit", .change = [](auto& c, auto&) { c.limits.max_change = {0.3}; }},
        Case{.name = "held_actions", .change = [](auto& c, auto&) { c.limits.hold = 3; }},
        Case{.name = "random_candidates",
             .change =
                 [](auto& c, auto&) {
                   c.greedy.maximiser = Maximiser::sampled;
                   c.greedy.candidates = 7;
                 }},
        Case{.name = "vector_actions",
             .space = ActionSpace::box(VectorXd::Constant(2, -1.0), VectorXd::Constant(2, 1.0))},
        Case{.name = "choices", .space = ActionSpace::discrete(3)},
        Case{.name = "held_choices",
             .space = ActionSpace::discrete(3),
             .change = [](auto& c, auto&) { c.limits.hold = 2; }},
        Case{.name = "bellman_residual",
             .change = [](auto&, auto& o) { o.value.method = Method::bellman_residual; }},
        Case{.name = "reweighted", .change = [](auto&, auto& o) { o.reweight = true; }},
        Case{.name = "from_weights",
             .change = [](auto& c,
                          auto&) { c.weights = RandomNumbers(5).vector(c.reservoir->features()); }},
        Case{.name = "tanh_and_sparse",
             .change =
                 [](auto& c, auto&) {
                   c.reservoir = std::make_shared<EchoStateNetwork>(
                       ReservoirOptions{.units = 20,
                                        .activation = Activation::tanh,
                                        .orthogonal = false,
                                        .density = 0.3,
                                        .seed = 4},
                       c.layout.size());
                 }},
        Case{.name = "one_member", .members = 1}),
    [](const auto& info) { return info.param.name; });

/// A source that counts how often it is read.
class Counted final : public TrajectorySource {
 public:
  explicit Counted(const Trajectory& log) : chunks_(log) {}
  void rewind() override { chunks_.rewind(); }
  bool next(Trajectory& chunk) override {
    const bool more = chunks_.next(chunk);
    read += chunk.steps();
    return more;
  }
  Index read = 0;

 private:
  TrajectoryChunks chunks_;
};

TEST(PreparedWalk, ReadsKeptRowsOnceAndTheOthersEveryTime) {
  const Trajectory log = noise(ActionSpace::box(-1.0, 1.0), false);
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 1};
  const Controller controller{std::make_shared<EchoStateNetwork>(plain_reservoir(10), 3), layout,
                              ActionSpace::box(-1, 1)};
  const double enough = PreparedWalk::bytes(controller) * (kRows + 800);
  struct {
    double bytes;
    Index known;
    Index read;
  } const cases[] = {{enough, 0, kRows},
                     {enough, kRows, kRows},
                     {0.0, 0, 3 * kRows},
                     {0.5 * enough, 0, 3 * kRows},
                     {enough, 2 * kRows, 3 * kRows}};
  for (const auto& c : cases) {
    Counted source(log);
    PreparedWalk walk(controller, source, 5, c.bytes, c.known);
    VectorXd state;
    for (int i = 0; i < 3; ++i) {
      Index rows = 0;
      walk.for_each(state, [&](const PreparedRows& block) {
        EXPECT_EQ(block.row.front(), 5 + rows);
        rows += block.count;
      });
      EXPECT_EQ(rows, kRows - 5);
      EXPECT_EQ(walk.rows(), kRows);
    }
    EXPECT_EQ(source.read, c.read) << c.bytes << " " << c.known;
  }
}

TEST(PolicyIterationExecution, BadInputIsNamed) {
  const auto run = [](const ExecutionOptions& execution) {
    PolicyIterationOptions{.execution = execution}.validate();
  };
  expect_error([&] { run({.threads = -1}); }, "threads = -1");
  expect_error([&] { run({.kept_memory = 1.5}); }, "kept_memory = 1.5", "[0, 1]");
  expect_error([&] { run({.kept_memory = std::nan("")}); }, "kept_memory = nan");
}

}  // namespace
}  // namespace waggle
