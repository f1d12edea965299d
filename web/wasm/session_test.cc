#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "bee_session.h"
#include "expect_error.h"
#include "market_session.h"
#include "swing_session.h"

namespace waggle::playground {
namespace {

using Eigen::Index;

TEST(BeeSession, OneSolveFollowsTheNectar) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    BeeSession session({}, {}, seed);
    session.fly(Flight::random, 2000);
    EXPECT_NEAR(session.rows().row(BeeSession::nectar).mean(), 1.0, 0.1);
    session.learn();
    session.fly(Flight::greedy, 2000);
    const double mean = session.rows().row(BeeSession::nectar).mean();
    EXPECT_GT(mean, 1.4) << "seed " << seed;
    EXPECT_LT(mean, session.optimum());
  }
}

TEST(BeeSession, RowsAreWhatHappened) {
  const BeeWorldOptions world = {.angular_frequency = 0.2, .max_move = 0.05};
  BeeSession session(world, {.units = 20, .experience = 300}, 1);
  session.fly(Flight::random, 300);
  session.learn();
  session.fly(Flight::exploring, 50);
  const Eigen::MatrixXd& rows = session.rows();
  for (Index k = 0; k < 50; ++k) {
    const double place = rows(BeeSession::position, k);
    const double time = 300.0 + static_cast<double>(k);
    EXPECT_DOUBLE_EQ(rows(BeeSession::nectar, k), nectar(world, place, time));
    EXPECT_LE(std::abs(rows(BeeSession::move, k)), 0.05);
    EXPECT_TRUE(std::isfinite(rows(BeeSession::value, k)));
    EXPECT_DOUBLE_EQ(session.field()(10, k), nectar(world, 10.5 / BeeSession::kCells, time));
    if (k > 0) {
      const double before = rows(BeeSession::position, k - 1) + rows(BeeSession::move, k - 1);
      EXPECT_NEAR(std::remainder(place - before, 1.0), 0.0, 1e-12);
    }
  }
  EXPECT_EQ(session.experience_steps(), 350);
  Eigen::VectorXd memory;
  session.copy_memory(memory);
  EXPECT_EQ(memory.size(), 20);
}

TEST(BeeSession, TheGhostIsTheOptimumAlsoPastTheEndOfItsFlight) {
  BeeSession session({}, {.units = 10}, 1);
  session.fly(Flight::random, 4500);  // more than two of the ghost's flights
  const auto optimal = reference::optimal_flight({.discount = 0.5, .steps = 4500, .grid = 1000});
  const auto ghost = session.rows().row(BeeSession::ghost_nectar).transpose();
  EXPECT_LT((ghost - optimal.nectar).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(BeeSession, HowItIsCutIntoPiecesDoesNotMatter) {
  BeeSession whole({}, {.units = 30}, 5);
  BeeSession pieces({}, {.units = 30}, 5);
  whole.fly(Flight::random, 600);
  for (int i = 0; i < 6; ++i) pieces.fly(Flight::random, 100);
  whole.learn();
  pieces.learn();
  whole.fly(Flight::greedy, 40);
  pieces.fly(Flight::greedy, 30);
  pieces.fly(Flight::greedy, 10);
  EXPECT_EQ(whole.rows().rightCols(10), pieces.rows());
}

// The bee goes on from what it has just seen, also by a network that was not there at the time.
TEST(BeeSession, LearningAgainFromTheSameExperienceChangesNothing) {
  BeeSession once({}, {.units = 50}, 2);
  BeeSession twice({}, {.units = 50}, 2);
  for (BeeSession* session : {&once, &twice}) {
    session->fly(Flight::random, 1000);
    session->learn();
    session->fly(Flight::greedy, 3000);
  }
  twice.learn();
  once.fly(Flight::greedy, 20);
  twice.fly(Flight::greedy, 20);
  EXPECT_LT((once.rows() - twice.rows()).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(BeeSession, KeepsLearning) {
  BeeSession session({}, {}, 4);
  session.fly(Flight::random, 2000);
  session.learn();
  for (int round = 0; round < 3; ++round) {
    session.fly(Flight::exploring, 200);
    session.learn();
  }
  session.fly(Flight::greedy, 2000);
  EXPECT_GT(session.rows().row(BeeSession::nectar).mean(), 1.4);
}

TEST(BeeSession, SaysWhatIsWrong) {
  expect_error([] { BeeSession({.max_move = 0.9}, {}, 0); }, "max_move = 0.9: must be in (0, 0.5]");
  expect_error([] { BeeSession({}, {.units = 5000}, 0); }, "units = 5000: must be in [1, 1000]");
  expect_error([] { BeeSession({}, {.experience = 10}, 0); },
               "experience = 10: must be in [100, 20000]");
  expect_error([] { BeeSession({}, {.discount = 1.0}, 0); }, "discount = 1");
  BeeSession session({}, {}, 0);
  expect_error([&] { session.learn(); }, "there is no experience to learn from");
  expect_error([&] { session.fly(Flight::greedy, 1); }, "the bee has learnt nothing yet");
  expect_error([&] { session.fly(Flight::random, 0); }, "steps = 0: must be in [1, 20000]");
  expect_error([&] { session.set_learner({.ridge = -1.0}); }, "ridge = -1");
}

TEST(MarketSession, LearnsUnderBothTimings) {
  for (const RewardTiming timing : {RewardTiming::arrival, RewardTiming::departure}) {
    MarketSession session(timing, 0);
    session.run(10);
    EXPECT_TRUE(std::isnan(session.rows()(MarketSession::kQuantities, 0)));
    session.learn();
    session.run(5000);
    const auto cost = [&](int who) {
      return session.rows().row(MarketSession::cost + int{MarketSession::kQuantities} * who).mean();
    };
    EXPECT_NEAR(cost(MarketSession::optimal), session.optimum().control.average_cost, 0.15);
    EXPECT_LT(cost(MarketSession::learnt), 1.25 * session.optimum().control.average_cost);
    EXPECT_GT(cost(MarketSession::initial), 5.0);
    EXPECT_NE(session.optimum().control.gain, session.other_optimum().control.gain);
  }
  MarketSession session(RewardTiming::arrival, 0);
  expect_error([&] { session.run(0); }, "steps = 0: must be in [1, 5000]");
}

using Swing = SwingSession;

/// The share of the steps in which the pole is within this of upright.
double upright(const Eigen::MatrixXd& rows, double angle) {
  return (rows.row(Swing::angle).array().abs() < angle).cast<double>().mean();
}

TEST(SwingSession, SwingsUpThePendulumAndHoldsIt) {
  Swing session({}, {.steps = 10'000}, 0);  // enough for any seed and processor
  Index steps = 0, fits = 0, episodes = 0, told = 0;
  session.learn([&](const Progress& progress) {
    steps += session.rows().cols();
    EXPECT_EQ(steps, session.steps_practised());
    EXPECT_EQ(progress.done, static_cast<double>(steps));
    EXPECT_EQ(progress.total, 10'000.0);
    for (Index i = 0; i < session.marks().cols(); ++i) {
      EXPECT_LE(session.marks()(0, i), static_cast<double>(steps));
      EXPECT_LT(session.marks()(1, i), 0.0);
      ++(session.marks()(2, i) == 1.0 ? fits : episodes);
    }
    ++told;
    return true;
  });
  // As many as it needed.
  EXPECT_GE(steps, 2900);
  EXPECT_LE(steps, 10'000);
  EXPECT_GE(fits, 4);
  EXPECT_GE(episodes, 12);
  EXPECT_GT(told, 10);
  EXPECT_GT(session.score(), -600.0);

  session.run(400);
  const Eigen::MatrixXd hanging = session.rows();
  EXPECT_NEAR(std::abs(hanging(Swing::angle, 0)), std::numbers::pi, 0.32);
  EXPECT_GT(upright(hanging, 0.3), 0.3);
  // What it expects to see is what comes, the sooner the better.
  const auto error = [&](std::size_t which) {
    const Index ahead = Swing::kAhead[which];
    double sum = 0.0;
    for (Index k = 0; k + ahead < hanging.cols(); ++k) {
      const double angle = hanging(Swing::ahead + 2 * static_cast<Index>(which) + 1, k);
      sum += 1.0 - std::cos(angle - hanging(Swing::seen_angle, k + ahead));
    }
    return sum / static_cast<double>(hanging.cols() - ahead);
  };
  EXPECT_LT(error(0), 0.01);
  EXPECT_LT(error(1), 0.05);
  EXPECT_LT(error(0), error(2));

  session.hold(0.0, 2.0);
  session.run(10);  // of which the first ends an episode, and is no step
  EXPECT_NEAR(session.rows()(Swing::angle, 8), 2.0, 1e-12);
  EXPECT_EQ(session.rows()(Swing::angular_velocity, 8), 0.0);
  session.let_go();
  session.run(380);
  EXPECT_GT(upright(session.rows(), 0.3), 0.3);
  session.push(100.0);
  session.run(1);
  EXPECT_NEAR(session.rows()(Swing::angular_velocity, 0), 8.0, 1e-12);
}

TEST(SwingSession, BalancesThePoleUntilTheWorldChanges) {
  Swing session({.system = SwingSystem::cart_pole}, {.steps = 10'000}, 0);
  session.learn();
  EXPECT_GT(session.score(), 300.0);
  EXPECT_EQ(session.seconds_a_step(), 0.02);
  session.run(800);
  EXPECT_EQ(session.rows()(Swing::episode_step, session.rows().cols() - 1),
            static_cast<double>(session.rows().cols() - 1));
  session.hold(9.0, 9.0);  // it stays on its track, and the pole where it has not fallen
  session.run(2);
  EXPECT_NEAR(session.rows()(Swing::position, 1), 0.9 * 2.4, 1e-12);
  EXPECT_LT(session.rows()(Swing::angle, 1), 0.21);
  session.let_go();
  // Seen six steps late, a pole falls that was learnt without.
  session.set_world({.system = SwingSystem::cart_pole, .sensor = {.delay = 6}});
  session.run(1000);
  const auto steps = session.rows().row(Swing::episode_step);
  EXPECT_GT((steps.array() == 0.0).count(), 2);
}

TEST(SwingSession, PractisesAsLongAsItMayWhatItCannotDo) {
  Swing heavy({.gravity = 3.0}, {.units = 20, .steps = 4000}, 0);  // no torque lifts that
  heavy.learn();
  // The last row of an episode is no step.
  EXPECT_NEAR(static_cast<double>(heavy.steps_practised()), 4000.0, 40.0);
  EXPECT_TRUE(heavy.has_learnt());
  heavy.run(400);
  EXPECT_LT(upright(heavy.rows(), 0.3), 0.2);
}

TEST(SwingSession, SeesThroughItsSensor) {
  Swing session({.sensor = {.noise = 0.2, .delay = 2}}, {.units = 10, .steps = 400}, 3);
  Eigen::MatrixXd rows(Swing::column_count, 0);
  session.learn([&](const Progress&) {
    const Index before = rows.cols();
    rows.conservativeResize(Eigen::NoChange, before + session.rows().cols());
    rows.rightCols(session.rows().cols()) = session.rows();
    return true;
  });
  double apart = 0.0, late = 0.0;
  for (Index k = 10; k < 200; ++k) {
    apart += 1.0 - std::cos(rows(Swing::seen_angle, k) - rows(Swing::angle, k));
    late += 1.0 - std::cos(rows(Swing::seen_angle, k) - rows(Swing::angle, k - 2));
  }
  EXPECT_LT(late, apart);
  EXPECT_GT(late, 0.0);
}

TEST(SwingSession, EndsWhenItIsAskedTo) {
  Swing session({}, {.units = 10, .steps = 1000}, 0);
  EXPECT_THROW(session.learn([](const Progress&) { return false; }), Stopped);
  EXPECT_FALSE(session.has_learnt());
  session.learn();
  EXPECT_TRUE(session.has_learnt());
}

TEST(SwingSession, SaysWhatIsWrong) {
  expect_error([] { Swing({.gravity = 11.0}, {}, 0); }, "gravity = 11: must be in [0, 10]");
  expect_error([] { Swing({.mass = 0.0}, {}, 0); }, "mass = 0: must be in [0.1, 10]");
  expect_error([] { Swing({.sensor = {.noise = -1.0}}, {}, 0); }, "noise = -1");
  expect_error([] { Swing({.sensor = {.delay = 2000}}, {}, 0); }, "delay = 2000");
  expect_error([] { Swing({}, {.units = 0}, 0); }, "units = 0: must be in [1, 500]");
  expect_error([] { Swing({}, {.steps = 10}, 0); }, "steps = 10: must be in [100, 50000]");
  Swing session({}, {}, 0);
  expect_error([&] { session.run(1); }, "nothing was learnt yet");
  expect_error([&] { session.hold(0.0, 0.0); }, "nothing runs yet");
  expect_error([&] { session.score(); }, "nothing was learnt yet");
  expect_error([&] { session.set_world({.system = SwingSystem::cart_pole}); },
               "another system is another session");
}

}  // namespace
}  // namespace waggle::playground
