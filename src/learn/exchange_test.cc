/// Rows that are spread over several processes, here threads.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/base/exchange.h>
#include <waggle/environments.h>
#include <waggle/learner.h>
#include <waggle/predictive.h>
#include <waggle/presets.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Numbers = Exchange::Numbers;

/// Where threads meet.
class Meeting {
 public:
  explicit Meeting(int threads) : given_(static_cast<std::size_t>(threads)) {}

  Numbers all(std::size_t number, Numbers mine,
              const std::function<Numbers(const std::vector<Numbers>&)>& combine) {
    std::unique_lock lock(mutex_);
    given_[number] = std::move(mine);
    if (++arrived_ == given_.size()) {
      result_ = combine(given_);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      const int round = round_;
      changed_.wait(lock, [&] { return round_ != round || failed_; });
    }
    if (failed_) throw Error("another thread has failed");
    return result_;
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Numbers> given_;
  std::size_t arrived_ = 0;
  int round_ = 0;
  bool failed_ = false;
  Numbers result_;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Meeting& meeting, const Part& part) : meeting_(meeting), part_(part) {}
  Part part() const override { return part_; }
  Numbers all(Numbers mine,
              const std::function<Numbers(const std::vector<Numbers>&)>& combine) override {
    return meeting_.all(static_cast<std::size_t>(part_.number), std::move(mine), combine);
  }

 private:
  Meeting& meeting_;
  Part part_;
};

/// The same log learnt from by so many threads, each with rows of its own.
std::vector<Learnt> learnt_in_parts(const EnvironmentSpec& spec, const Trajectory& log,
                                    const FitOptions& options, Index parts) {
  Meeting meeting(static_cast<int>(parts));
  const Index leaf = leaf_rows(log.steps());
  const Index leaves = (log.steps() + leaf - 1) / leaf;
  std::vector<Learnt> results(static_cast<std::size_t>(parts));
  std::exception_ptr fault;
  std::vector<std::thread> threads;
  for (Index i = 0; i < parts; ++i) {
    threads.emplace_back([&, i] {
      const Index first = leaves * i / parts * leaf;
      const Index end = std::min(leaves * (i + 1) / parts * leaf, log.steps());
      ThreadExchange exchange(meeting, {i, first, end - first});
      Trajectory rows(log.action_size(), log.observation_size());
      rows.append(log, first, std::min(end + Exchange::kOverlap, log.steps()) - first);
      TrajectoryChunks source(rows, 100, std::nullopt, &exchange);
      try {
        results[static_cast<std::size_t>(i)] =
            learn_from_log(spec, source, options, {.execution = {.threads = 1}});
      } catch (...) {
        if (!fault) fault = std::current_exception();
        meeting.fail();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (fault) std::rethrow_exception(fault);
  return results;
}

const std::vector<PredictiveHead>& heads_of(const Learnt& learnt) {
  return as<PredictiveNetwork>(*learnt.controller.reservoir)->heads();
}

void expect_same_in_parts(ControlProblem problem, std::uint64_t seed, Index steps,
                          const FitOptions& options) {
  Simulation simulation(*problem.environment, seed);
  const EnvironmentSpec spec = simulation.spec();
  const Trajectory log = simulation.run(*problem.initial, {.steps = steps}).trajectory;
  const Learnt alone = learn_from_log(spec, log, options, {.execution = {.threads = 1}});
  for (const Index parts : {1, 3, 7}) {
    const std::vector<Learnt> all = learnt_in_parts(spec, log, options, parts);
    for (const Learnt* learnt : {&all.front(), &all.back()}) {
      SCOPED_TRACE(parts);
      EXPECT_EQ(learnt->controller.weights, alone.controller.weights);
      EXPECT_EQ(learnt->deviation_factor, alone.deviation_factor);
      EXPECT_EQ(learnt->diagnostics.residual, alone.diagnostics.residual);
      EXPECT_EQ(learnt->state, alone.state);
      EXPECT_EQ(learnt->ranges.deviation, alone.ranges.deviation);
      EXPECT_EQ(learnt->scaling->spread, alone.scaling->spread);
      EXPECT_EQ(learnt->provenance.rows, alone.provenance.rows);
      EXPECT_EQ(learnt->provenance.episodes, alone.provenance.episodes);
      EXPECT_EQ(learnt->warnings, alone.warnings);
      EXPECT_EQ(learnt->predictions->reward_model, alone.predictions->reward_model);
      const std::vector<PredictiveHead>& heads = heads_of(*learnt);
      for (std::size_t i = 0; i < heads.size(); ++i) {
        const PredictiveHead& same = heads_of(alone)[i];
        EXPECT_EQ(heads[i].second, same.second);
        EXPECT_EQ(heads[i].drift, same.drift);
        EXPECT_EQ(heads[i].reward, same.reward);
      }
      ASSERT_TRUE(learnt->baseline && alone.baseline);
      EXPECT_EQ(learnt->baseline->weights, alone.baseline->weights);
      EXPECT_EQ(learnt->baseline->bellman_error, alone.baseline->bellman_error);
      EXPECT_EQ(learnt->baseline->longest_runs, alone.baseline->longest_runs);
    }
  }
}

FitOptions small() {
  FitOptions options = presets::predictive().fit;
  options.reservoir.units = 40;
  options.predictive->layer = 40;
  options.predictive->dynamics = 40;
  options.predictive->features = 120;
  options.predictive->averaged = 2;
  return options;
}

TEST(Exchange, TwoQuantitiesAreLearntInPartsAsAtOnce) {
  for (const std::uint64_t seed : {4, 5, 6}) {
    expect_same_in_parts(tanks_problem({.episode_steps = 600}), seed, 1800, small());
  }
}

TEST(Exchange, AnEpisodeMayGoOnThroughAllParts) {
  expect_same_in_parts(tanks_problem({.episode_steps = 0}), 1, 1900, small());
}

TEST(Exchange, ChoicesAreLearntInPartsAsAtOnce) {
  // Enough rows to choose a memory by.
  expect_same_in_parts(cart_pole_problem({}), 2, 3300, small());
}

TEST(Exchange, RewardsFromMemoryAreLearntInPartsAsAtOnce) {
  expect_same_in_parts(recall_problem({.back = 2}), 3, 2000, small());
}

TEST(Exchange, WithLimitsPartsAreLearntFromAsAtOnce) {
  FitOptions options = small();
  options.limits.hold = 3;
  expect_same_in_parts(tanks_problem({.episode_steps = 600}), 4, 1800, options);
}

TEST(Exchange, ValuesOnTheMemoryItselfAreRefused) {
  ControlProblem problem = tanks_problem();
  Simulation simulation(*problem.environment, 1);
  const Trajectory log = simulation.run(*problem.initial, {.steps = 600}).trajectory;
  expect_error([&] { learnt_in_parts(simulation.spec(), log, presets::direct().fit, 1); },
               "only predictive states");
}

}  // namespace
}  // namespace waggle
