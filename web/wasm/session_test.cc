#include <cmath>

#include <gtest/gtest.h>

#include "bee_session.h"
#include "expect_error.h"
#include "market_session.h"

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

}  // namespace
}  // namespace waggle::playground
