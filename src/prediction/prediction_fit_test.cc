#include "prediction/prediction_fit.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <gtest/gtest.h>

#include "prediction/dynamics_fit.h"
#include "prediction/foresight.h"
#include "prediction/remembered.h"
#include "prediction/reward_fit.h"
#include "random_heads.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::Matrix2d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

/// x' = A x + B a + w, o = C x + v: a swing that is pushed at random and seen through noise.
struct NoisySwing {
  Matrix2d a = (Matrix2d() << 0.95, 0.25, -0.25, 0.95).finished() * 0.98;
  Vector2d b = {0.0, 0.3};

  Trajectory trajectory{1, 1};
  MatrixXd filtered;  // the Kalman filter's estimate at every row

  NoisySwing(Index steps, Index episode, std::uint64_t seed, double process = 0.1,
             double sensor = 0.5) {
    const Matrix2d q = Matrix2d::Identity() * process * process;
    const MatrixXd c = (MatrixXd(1, 2) << 1.0, 0.0).finished();
    const double r = sensor * sensor;
    filtered.resize(2, steps);
    Vector2d x, mean;
    Matrix2d covariance;
    for (Index k = 0; k < steps; ++k) {
      Draws draws = Random(seed).at(Purpose::user, static_cast<std::uint64_t>(k));
      if (k % episode == 0) {
        x = Vector2d(draws.normal(), draws.normal());
        mean.setZero();
        covariance.setIdentity();
      }
      const double seen = x[0] + sensor * draws.normal();
      const Vector2d gain = covariance * c.transpose() / (covariance(0, 0) + r);
      mean += gain * (seen - mean[0]);
      covariance = (Matrix2d::Identity() - gain * c) * covariance;
      filtered.col(k) = mean;
      const VectorXd action = VectorXd::Constant(1, draws.uniform(-1.0, 1.0));
      trajectory.append(-x.squaredNorm(), action, VectorXd::Constant(1, seen),
                        k % episode == episode - 1 ? EpisodeEnd::truncated : EpisodeEnd::none);
      x = a * x + b * action[0] + process * Vector2d(draws.normal(), draws.normal());
      mean = a * mean + b * action[0];
      covariance = a * covariance * a.transpose() + q;
    }
  }
};

InputLayout swing_layout() {
  return {.reward = false, .action_size = 1, .choices = 0, .observation_size = 1};
}

HistoryMemory memory_for(const InputLayout& layout, const InputScaling& scaling, Index units = 60,
                         Index frames = 8) {
  ReservoirOptions options;
  options.units = units;
  return {EchoStateNetwork(options, layout.size()).with_input_scaling(scaling), layout, frames, 0};
}

/// R² of the rows of y as linear functions of the columns of x and a constant.
double explained(const MatrixXd& x, const MatrixXd& y) {
  MatrixXd regressors(x.rows() + 1, x.cols());
  regressors << x, MatrixXd::Ones(1, x.cols());
  const MatrixXd w = regressors.transpose().colPivHouseholderQr().solve(y.transpose());
  const MatrixXd left = y - (regressors.transpose() * w).transpose();
  return 1.0 - left.squaredNorm() / (y.colwise() - y.rowwise().mean()).squaredNorm();
}

TEST(Remembered, TheFirstRowsOfEveryEpisodePredictNothing) {
  const NoisySwing swing(2500, 50, 1);  // more than one window
  const InputLayout layout = swing_layout();
  RememberedExperience remembered(memory_for(layout, InputScaling::none(layout.size()), 5));
  TrajectoryChunks source(swing.trajectory);
  for (const Index washout : {0, 7, 60, 0}) {
    remembered.set_washout(washout);
    Index seen = 0;
    remembered.for_each(source, [&](const RememberedRows& rows) {
      ASSERT_EQ(rows.first, seen);
      for (Index i = 0; i < rows.count; ++i, ++seen) {
        const Index in_episode = seen % 50;
        const Index following = rows.following[static_cast<std::size_t>(i)];
        const Index known = in_episode < washout ? 0 : 49 - in_episode;
        EXPECT_EQ(std::min(following, RememberedRows::kLookahead),
                  std::min(known, RememberedRows::kLookahead))
            << seen << " " << washout;
      }
    });
    EXPECT_EQ(seen, 2500);
  }
}

TEST(Remembered, EveryEpisodeIsRememberedByItself) {
  const NoisySwing swing(2500, 50, 1);
  const Trajectory& rows = swing.trajectory;
  const InputLayout layout = swing_layout();
  RememberedExperience remembered(memory_for(layout, InputScaling::none(layout.size()), 5));
  remembered.set_rewards(2.0, 4.0);
  const HistoryMemory& memory = remembered.memory();
  TrajectoryChunks source(rows);
  const VectorXd scaled = (rows.rewards().array() - 2.0) / 4.0;
  for (int pass = 0; pass < 2; ++pass) {  // the second one reads what was kept
    VectorXd state, next(memory.size()), z(layout.size());
    remembered.for_each(source, [&](const RememberedRows& window) {
      for (Index i = 0; i < window.count; ++i) {
        const Index row = window.first + i;
        if (row % 50 == 0) state.setZero(memory.size());
        layout.write(rows.rewards()[row], rows.actions().col(row), rows.observations().col(row), z);
        // What is remembered at a step is the action before it; an episode begins without one.
        auto action = z.segment(layout.action_offset(), layout.action_channels());
        action.setZero();
        if (row % 50 > 0) action = rows.actions().col(row - 1);
        memory.step(state, z, next);
        state = next;
        ASSERT_EQ(window.memory.col(i), state) << row;
        ASSERT_EQ(window.rewards[i], scaled[row]) << row;
      }
    });
  }
  PredictiveHead head;
  head.first = MatrixXd::Identity(2, memory.size());
  const Transitions transitions = gather(remembered, source, head, rows.steps(), 2 * rows.steps());
  ASSERT_EQ(transitions.count(), 49 * 50);
  for (Index i = 0; i < transitions.count(); ++i) {
    const Index row = transitions.rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(transitions.in_episode[static_cast<std::size_t>(i)], row % 50);
    EXPECT_EQ(transitions.reward[i], scaled[row + 1]);
  }
}

TEST(Prediction, FindsWhatTheKalmanFilterEstimates) {
  const NoisySwing swing(12'000, 200, 1);
  const InputLayout layout = swing_layout();
  const InputScaling scaling = measure_inputs(layout, swing.trajectory);
  RememberedExperience remembered(memory_for(layout, scaling));
  const HistoryMemory& memory = remembered.memory();
  PredictionSums sums(memory, memory.size(), {.dimensions = 2, .reward_deviation = 0.0});
  TrajectoryChunks source(swing.trajectory);
  remembered.for_each(source, [&](const RememberedRows& rows) {
    sums.add(rows, rows.memory.leftCols(rows.count));
  });
  PredictiveHead head;
  head.first = sums.solve(false);
  ASSERT_EQ(head.first.rows(), 3);  // two directions and what is seen
  MatrixXd states(3, swing.trajectory.steps());
  remembered.for_each(source, [&](const RememberedRows& rows) {
    states.middleCols(rows.first, rows.count) =
        predictive_state(head, rows.memory.leftCols(rows.count));
  });
  // The state is the filter's estimate in another basis; what is seen alone is far from it.
  EXPECT_GT(explained(states, swing.filtered), 0.94);
  EXPECT_LT(explained(states.bottomRows(1), swing.filtered), 0.6);
  // Whitened: uncorrelated and of variance 1.
  const MatrixXd centred = states.topRows(2).colwise() - states.topRows(2).rowwise().mean();
  const MatrixXd covariance = centred * centred.transpose() / static_cast<double>(states.cols());
  EXPECT_LT((covariance - MatrixXd::Identity(2, 2)).norm(), 0.05);
  const MatrixXd judged = sums.cross_validated();
  // One step ahead the exact filter explains 1 − (innovation variance) / (variance of o).
  EXPECT_GT(judged(0, 0), 0.4);
  EXPECT_GT(judged(0, 0), judged(4, 0));
}

TEST(Prediction, ItsRidgesAreThoseThatForeseeMost) {
  const auto sums_of = [](double process, double sensor, Index steps, const auto& use) {
    const NoisySwing swing(steps, 200, 3, process, sensor);
    const InputLayout layout = swing_layout();
    RememberedExperience remembered(
        memory_for(layout, measure_inputs(layout, swing.trajectory), 60));
    const HistoryMemory& memory = remembered.memory();
    PredictionSums sums(memory, memory.size(), {.dimensions = 2, .reward_deviation = 0.0});
    TrajectoryChunks source(swing.trajectory);
    remembered.for_each(source, [&](const RememberedRows& rows) {
      sums.add(rows, rows.memory.leftCols(rows.count));
    });
    use(sums);
  };
  const auto filled = [](double ridge) {
    PredictionRidges ridges;
    ridges.fill(ridge);
    return ridges;
  };
  const auto unexplained = [&](PredictionSums& sums, double ridge) {
    sums.set_ridges(filled(ridge));
    return VectorXd((1.0 - sums.cross_validated().array()).col(0));
  };
  // Under much noise.
  sums_of(0.1, 2.0, 1000, [&](PredictionSums& sums) {
    const PredictionRidges best = sums.best_ridges();
    const std::vector<double> ridges = {1e-4, 1e-3, 1e-2, 1e-1, 1.0};
    MatrixXd left(kHorizonCount, 5);
    for (Index i = 0; i < 5; ++i) {
      left.col(i) = unexplained(sums, ridges[static_cast<std::size_t>(i)]);
    }
    for (Index h = 0; h < kHorizonCount; ++h) {
      Index least = 0;
      left.row(h).minCoeff(&least);
      EXPECT_EQ(best[static_cast<std::size_t>(h)], ridges[static_cast<std::size_t>(least)]) << h;
      EXPECT_GE(least, 2) << h;
    }
    // One that was chosen before has its neighbours tried only.
    EXPECT_EQ(sums.best_ridges(filled(1e-4))[0], 1e-3);
  });
  // With little to gain the usual one stays.
  sums_of(0.1, 0.5, 10'000, [&](PredictionSums& sums) {
    EXPECT_EQ(sums.best_ridges(), filled(1e-3));
    EXPECT_LT(unexplained(sums, 1e-2)[0], 1.05 * unexplained(sums, 1e-3)[0]);
  });
  // With one half only there is nothing to judge by.
  sums_of(0.1, 0.5, 200,
          [&](PredictionSums& sums) { EXPECT_EQ(sums.best_ridges(), filled(1e-3)); });
}

TEST(Prediction, AgreesWithARegressionWrittenOut) {
  const NoisySwing swing(700, 50, 2);
  const InputLayout layout = swing_layout();
  RememberedExperience remembered(
      memory_for(layout, measure_inputs(layout, swing.trajectory), 5, 1));
  const HistoryMemory& memory = remembered.memory();
  const double ridge = 1e-3;
  PredictionSums sums(memory, memory.size(), {.dimensions = 1, .reward_deviation = 0.0});
  const Index n = memory.size();
  MatrixXd all(n, 700);
  TrajectoryChunks source(swing.trajectory, 33);
  remembered.for_each(source, [&](const RememberedRows& rows) {
    sums.add(rows, rows.memory.leftCols(rows.count));
    all.middleCols(rows.first, rows.count) = rows.memory.leftCols(rows.count);
  });
  // Every horizon by hand: rows of the same episode only.
  MatrixXd predictions(n, 0);
  for (const Index h : kHorizons) {
    std::vector<Index> members;
    for (Index k = 0; k + h < 700; ++k) {
      if (k / 50 == (k + h) / 50) members.push_back(k);
    }
    const auto count = static_cast<Index>(members.size());
    MatrixXd x(n + h, count);
    VectorXd y(count);
    for (Index j = 0; j < count; ++j) {
      const Index k = members[static_cast<std::size_t>(j)];
      x.col(j).head(n) = all.col(k);
      for (Index i = 0; i < h; ++i) x(n + i, j) = swing.trajectory.actions()(0, k + i);
      y[j] = all(memory.input_offset() + memory.seen_channel(0), k + h);
    }
    MatrixXd gram = x * x.transpose();
    gram.diagonal().array() += ridge * gram.trace() / static_cast<double>(gram.rows());
    predictions.conservativeResize(Eigen::NoChange, predictions.cols() + 1);
    predictions.rightCols(1) = gram.ldlt().solve(x * y).head(n);
  }
  std::vector<Index> rows;
  for (Index k = 0; k < 700; ++k) {
    if (k % 50 != 49) rows.push_back(k);
  }
  const MatrixXd known = all(Eigen::all, rows);
  const MatrixXd centred = known.colwise() - known.rowwise().mean();
  const MatrixXd values = predictions.transpose() * centred;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(values * values.transpose());
  VectorXd direction = predictions * eigen.eigenvectors().rightCols(1);
  direction /= std::sqrt((direction.transpose() * centred).squaredNorm() /
                         static_cast<double>(known.cols()));
  VectorXd found = sums.solve(false).row(0);
  // Up to its sign, and to the constant, which centres it.
  found[memory.constant()] = direction[memory.constant()] = 0.0;
  if (found.dot(direction) < 0.0) direction = -direction;
  EXPECT_LT((found - direction).norm(), 1e-6 * direction.norm());
}

TEST(AfterState, IsExactWhereTheDynamicsAreBilinear) {
  // s' = (0.2 + 0.5 s) + a (0.3 − 0.4 s), for a quantity; each choice has a law of its own.
  for (const bool discrete : {false, true}) {
    InputLayout layout = swing_layout();
    layout.observation_size = 2;
    if (discrete) layout.choices = 2;
    const Index c = layout.action_channels();
    Transitions transitions;
    const Index count = 400;
    transitions.state.resize(2, count);
    transitions.next.resize(2, count);
    transitions.channels.setZero(c, count);
    transitions.reward.resize(count);
    Draws draws = Random(4).at(Purpose::user);
    for (Index k = 0; k < count; ++k) {
      const Vector2d s(draws.normal(), draws.normal());
      const double a = discrete ? static_cast<double>(draws.index(2)) : draws.uniform(2.0, 5.0);
      transitions.state.col(k) = s;
      transitions.next.col(k) = (0.2 + 0.5 * s.array()) + a * (0.3 - 0.4 * s.array());
      transitions.reward[k] = 1.0 + s[0] - a * s[1];
      if (discrete) {
        transitions.channels(static_cast<Index>(a), k) = 1.0;
      } else {
        transitions.channels(0, k) = a;
      }
      transitions.rows.push_back(k);
    }
    PredictiveHead head;
    head.dynamics = {MatrixXd::Ones(1, 2), VectorXd::Zero(1)};
    InputScaling scaling = InputScaling::none(layout.size());
    scaling.mean[0] = 3.5;
    scaling.spread[0] = 0.9;
    fit_after_state(transitions, layout, scaling, 1e-12, head);
    // The next state, and the reward, which is not among what is seen.
    const MatrixXd after = after_states(head, transitions);
    ASSERT_EQ(after.rows(), 3);
    EXPECT_LT((after.topRows(2) - transitions.next).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_LT((after.row(2).transpose() - transitions.reward).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_LT(unforeseen(transitions, layout, scaling, 2, 1e-12, head), 1e-9);
    layout.reward = true;
    PredictiveHead seen = head;
    fit_after_state(transitions, layout, scaling, 1e-12, seen);
    EXPECT_EQ(seen.after(), 2);
    // The same as an affine function of the action, from the next state on.
    const MatrixXd affine = next_after_states(head, transitions);
    for (Index k = 0; k < 5; ++k) {
      MatrixXd out(3, 1 + c);
      Foresight(head).after_state(transitions.next.col(k), out);
      EXPECT_LT((out.reshaped() - affine.col(k)).norm(), 1e-12);
    }
  }
}

/// A lever that is mounted either way round: the first thing seen tells, then nothing does but what
/// it makes of an action.
Trajectory levers(Index steps, Index episode, VectorXd& mounted) {
  Trajectory trajectory(1, 2);
  mounted.resize(steps);
  double way = 1.0;
  double seen = 0.0;
  for (Index k = 0; k < steps; ++k) {
    Draws draws = Random(3).at(Purpose::user, static_cast<std::uint64_t>(k));
    const bool starts = k % episode == 0;
    if (starts) way = draws.index(2) == 0 ? -1.0 : 1.0;
    if (starts) seen = 0.0;
    mounted[k] = way;
    const VectorXd action = VectorXd::Constant(1, draws.uniform(-1.0, 1.0));
    trajectory.append(0.0, action, Vector2d(seen, starts ? way : 0.0),
                      k % episode == episode - 1 ? EpisodeEnd::truncated : EpisodeEnd::none);
    seen = way * action[0] + 0.1 * draws.normal();
  }
  return trajectory;
}

TEST(AfterState, MayHoldTheActionItself) {
  RandomNumbers numbers(5);
  for (const int choices : {0, 2}) {
    const InputLayout layout{.reward = false,
                             .action_size = choices > 0 ? 1 : 2,
                             .choices = choices,
                             .observation_size = 1};
    const HistoryMemory memory = small_memory(layout, 1, 0);
    const PredictiveHead plain = random_head(numbers, {.rewarded = true}, memory);
    PredictiveHead head = plain;
    const InputScaling scaling{Eigen::Vector3d(0.5, -2.0, 0.0), Eigen::Vector3d(2.0, 0.1, 1.0)};
    carry_action(layout, scaling, head);
    ASSERT_EQ(head.after(), plain.after() + 2);
    Transitions transitions;
    transitions.state = numbers.matrix(3, 7);
    transitions.next = numbers.matrix(3, 7);
    transitions.channels = numbers.matrix(2, 7);
    transitions.rows.resize(7);
    const MatrixXd u = after_states(head, transitions);
    EXPECT_TRUE(u.topRows(4).isApprox(after_states(plain, transitions), 1e-12));
    MatrixXd held = transitions.channels;
    if (choices == 0) {
      held.colwise() -= Eigen::Vector2d(0.5, -2.0);
      held.array().colwise() /= Eigen::Array2d(2.0, 0.1);
    }
    EXPECT_LT((u.bottomRows(2) - held).cwiseAbs().maxCoeff(), 1e-12);
    // Of the action after it nothing is said but by that action.
    const MatrixXd next = next_after_states(head, transitions);
    const Eigen::Map<const MatrixXd> affine(next.col(3).data(), 6, 3);
    const double mean[] = {choices > 0 ? 0.0 : 0.5, choices > 0 ? 0.0 : -2.0};
    const double spread[] = {choices > 0 ? 1.0 : 2.0, choices > 0 ? 1.0 : 0.1};
    for (Index i = 0; i < 2; ++i) {
      EXPECT_NEAR(affine(4 + i, 0), -mean[i] / spread[i], 1e-12);
      EXPECT_NEAR(affine(4 + i, 1 + i), 1.0 / spread[i], 1e-12);
      EXPECT_EQ(affine(4 + i, 2 - i), 0.0);
    }
  }
}

TEST(Prediction, KeepsWhatOnlyAnActionBringsOut) {
  VectorXd mounted;
  const Trajectory trajectory = levers(6000, 30, mounted);
  InputLayout layout = swing_layout();
  layout.observation_size = 2;
  const InputScaling scaling = measure_inputs(layout, trajectory);
  RememberedExperience remembered(memory_for(layout, scaling, 20, 1));
  const HistoryMemory& memory = remembered.memory();
  PredictionSums sums(memory, memory.size(), {.dimensions = 2, .reward_deviation = 0.0});
  TrajectoryChunks source(trajectory);
  remembered.for_each(source, [&](const RememberedRows& rows) {
    sums.add(rows, rows.memory.leftCols(rows.count));
  });
  ASSERT_TRUE(sums.has_products());
  double left[2];
  for (const bool by_action : {false, true}) {
    PredictiveHead head;
    head.first = sums.solve(by_action);
    head.dynamics = {MatrixXd::Ones(1, head.first.rows()), VectorXd::Zero(1)};
    MatrixXd states(head.first.rows(), trajectory.steps());
    remembered.for_each(source, [&](const RememberedRows& rows) {
      states.middleCols(rows.first, rows.count) =
          predictive_state(head, rows.memory.leftCols(rows.count));
    });
    const double told = explained(states.topRows(head.first.rows() - 2), mounted.transpose());
    if (by_action) {
      EXPECT_GT(told, 0.9);
    } else {
      EXPECT_LT(told, 0.5);
    }
    const Transitions transitions = gather(remembered, source, head, trajectory.steps(), 6000);
    left[by_action] = unforeseen(transitions, layout, scaling, 2, 1e-4, head);
  }
  // What is seen next is the lever's way times the action: told by s, or hardly at all.
  EXPECT_LT(left[true], 0.5 * left[false]);
}

}  // namespace
}  // namespace waggle
