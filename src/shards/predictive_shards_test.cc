#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/learner.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>
#include <waggle/recall.h>
#include <waggle/shards.h>

#include "expect_error.h"
#include "shard_parts.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Stage = ShardFit::Stage;

FitOptions small_fit(double discount) {
  FitOptions fit;
  fit.reservoir.units = 10;
  fit.value.discount = discount;
  fit.predictive->layer = 20;
  fit.predictive->dynamics = 20;
  fit.predictive->features = 30;
  fit.predictive->averaged = 2;
  // Where two actions are worth the same to rounding, rounding says which one is taken; with a
  // large ridge little depends on it.
  fit.predictive->value_ridge = 1.0;
  return fit;
}

double apart(const MatrixXd& a, const MatrixXd& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return 1e300;
  if (b.size() == 0 || a == b) return 0.0;
  // Not norm(): the squares of what is found of rewards of 1e-170 are 0.
  return MatrixXd(a - b).stableNorm() / b.stableNorm();
}

/// Sums of other parts are rounded in other places, and everything is solved from them.
constexpr double kSame = 1e-9;

void expect_same_heads(const PredictiveHead& a, const PredictiveHead& b) {
  EXPECT_LT(apart(a.first, b.first), kSame);
  EXPECT_LT(apart(a.layer.directions, b.layer.directions), kSame);
  EXPECT_LT(apart(a.second, b.second), kSame);
  EXPECT_LT(apart(a.base, b.base), kSame);
  EXPECT_LT(apart(a.drift, b.drift), kSame);
  EXPECT_LT(apart(a.reward, b.reward), kSame);
  EXPECT_LT(apart(a.bends, b.bends), kSame);
  EXPECT_LT(apart(a.value.directions, b.value.directions), kSame);
  EXPECT_EQ(a.squared, b.squared);
}

void expect_same_model(const Model& parts, const Model& whole, double quantities = kSame) {
  // A quantity is looked for where the value is best, a choice may be one of two that are as good.
  const double values = whole.controller.actions.is_discrete() ? 1e-3 : quantities;
  const PredictiveNetwork& a = *parts.controller.predictive();
  const PredictiveNetwork& b = *whole.controller.predictive();
  ASSERT_EQ(a.heads().size(), b.heads().size());
  for (std::size_t i = 0; i < a.heads().size(); ++i) {
    expect_same_heads(a.heads()[i], b.heads()[i]);
  }
  EXPECT_LT(apart(parts.controller.weights, whole.controller.weights), values);
  EXPECT_LT(apart(parts.state, whole.state), kSame);
  EXPECT_LT(apart(parts.deviation_factor, whole.deviation_factor), 1e-6);
  EXPECT_EQ(parts.diagnostics.samples, whole.diagnostics.samples);
  EXPECT_EQ(parts.diagnostics.rank, whole.diagnostics.rank);
  EXPECT_EQ(parts.diagnostics.ridge, whole.diagnostics.ridge);
  EXPECT_NEAR(parts.diagnostics.residual / whole.diagnostics.residual, 1.0, 1e-6);
  EXPECT_EQ(parts.improvement->sweeps, whole.improvement->sweeps);
  EXPECT_EQ(parts.improvement->end, whole.improvement->end);
  EXPECT_EQ(parts.predictions->names, whole.predictions->names);
  EXPECT_EQ(parts.predictions->horizons, whole.predictions->horizons);
  EXPECT_NEAR(parts.predictions->reward_model, whole.predictions->reward_model, kSame);
  ASSERT_EQ(parts.predictions->explained.size(), whole.predictions->explained.size());
  for (Index i = 0; i < whole.predictions->explained.size(); ++i) {
    const double mine = parts.predictions->explained.data()[i];
    const double theirs = whole.predictions->explained.data()[i];
    EXPECT_TRUE(std::abs(mine - theirs) < kSame || (std::isnan(mine) && std::isnan(theirs)));
  }
  ASSERT_EQ(parts.baseline.has_value(), whole.baseline.has_value());
  if (whole.baseline) {
    EXPECT_LT(apart(parts.baseline->mean, whole.baseline->mean), kSame);
    EXPECT_LT(apart(parts.baseline->weights, whole.baseline->weights), 1e-6);
    EXPECT_NEAR(parts.baseline->bellman_error / whole.baseline->bellman_error, 1.0, 1e-6);
    EXPECT_EQ(parts.baseline->longest_runs, whole.baseline->longest_runs);
  }
  EXPECT_EQ(parts.warnings.size(), whole.warnings.size());
  EXPECT_EQ(parts.options.value.washout, whole.options.value.washout);
  EXPECT_EQ(parts.options.predictive->seen, whole.options.predictive->seen);
  EXPECT_EQ(parts.options.predictive->extra_units, whole.options.predictive->extra_units);
  EXPECT_EQ(parts.provenance.rows, whole.provenance.rows);
}

Learnt learn_whole(const TemporaryFolder& folder, const Parts& parts, const FitOptions& fit,
                   bool in_parts) {
  Log log(in_parts ? parts.files : std::vector<std::string>{folder.path("whole.csv")},
          parts.reading);
  return learn_from_log(log.spec(), log, fit);
}

/// The stages that a fit goes through, through files all the way.
std::vector<Stage> stages_of(const ShardPlan& plan, ShardFit& fit) {
  std::vector<Stage> stages;
  fit = start_of(plan);
  while (fit.stage != Stage::done) {
    stages.push_back(fit.stage);
    fit = parse_fit(serialise(plan, fit), plan, "rounds");
    ShardStatistics all = all_parts(plan, fit);
    fit = solve_round(plan, fit, all);
  }
  return stages;
}

TEST(PredictiveShards, ChoicesInPartsThatEndWhereEpisodesDo) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 5, 2000);
  for (const Index layer : {20, 0}) {
    FitOptions fit = small_fit(0.9);
    fit.predictive->layer = layer;
    fit.confidence = layer > 0;
    const ShardPlan plan = plan_of(parts, fit);
    expect_same_model(model_of(plan, learn_parts(plan)), learn_whole(folder, parts, fit, true));
  }
}

TEST(PredictiveShards, AQuantityInALongRecord) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 4, 4000);
  FitOptions fit = small_fit(0.5);
  fit.limits.max_change = {0.05};
  const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
  const Learnt whole = learn_whole(folder, parts, fit, false);
  const Model model = model_of(plan, learn_parts(plan));
  expect_same_model(model, whole);
  // Which takes as many rows of the part before as it does.
  const ShardPlan hasty = plan_of(parts, fit, {.parts = {}, .continued = true, .overlap = 60});
  EXPECT_GT(apart(model_of(hasty, learn_parts(hasty)).controller.predictive()->heads()[0].first,
                  whole.controller.predictive()->heads()[0].first),
            kSame);
}

TEST(PredictiveShards, NeitherTheUnitNorTheZeroOfTheRewardShows) {
  const TemporaryFolder folder;
  FitOptions fit = small_fit(0.5);
  fit.predictive->averaged = 1;
  for (const double offset : {0.0, 1000.0}) {
    const double unit = offset == 0.0 ? 0x1p-560 : 1.0;
    const Parts parts = flight_parts(folder, 3, 1500, unit, offset);
    const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
    // An offset of 1000 takes three digits of the reward.
    expect_same_model(model_of(plan, learn_parts(plan)), learn_whole(folder, parts, fit, false),
                      offset == 0.0 ? kSame : 1e-6);
  }
}

TEST(PredictiveShards, EpisodesGoOnFromPartToPart) {
  const TemporaryFolder folder;
  CartPole pole;
  const Parts parts = parts_of(folder, pole.spec(), random_rows(pole, 4, 2000), 7, false);
  const FitOptions fit = small_fit(0.9);
  const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
  // Some part begins within an episode.
  EXPECT_GT(*std::max_element(plan.in_episode.begin(), plan.in_episode.end()), 0);
  expect_same_model(model_of(plan, learn_parts(plan)), learn_whole(folder, parts, fit, false));
}

TEST(PredictiveShards, WhatIsRewardedForWhatWasSeenIsRecalled) {
  const TemporaryFolder folder;
  Recall cards({.back = 4, .symbols = 2});
  const Parts parts = parts_of(folder, cards.spec(), random_rows(cards, 2, 3200), 5, true);
  FitOptions fit = small_fit(0.5);
  fit.predictive->dimensions = 1;  // a state does not tell it
  const ShardPlan plan = plan_of(parts, fit);
  ShardFit rounds;
  const std::vector<Stage> stages = stages_of(plan, rounds);
  EXPECT_EQ(stages, (std::vector<Stage>{Stage::predict, Stage::action, Stage::layer, Stage::follow,
                                        Stage::reward, Stage::recall, Stage::judge}));
  const Model model = model_of(plan, rounds);
  EXPECT_GT(model.controller.predictive()->heads()[0].reward.size(), 0);
  expect_same_model(model, learn_whole(folder, parts, fit, true));
}

TEST(PredictiveShards, OnlySomeRowsTravelWhereThereAreMany) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 3, 5000);
  FitOptions fit = small_fit(0.5);
  fit.predictive->value_rows = 1024;
  const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
  const ShardFit rounds = learn_parts(plan);
  EXPECT_LE(rounds.diagnostics.samples, 1024);
  EXPECT_GT(rounds.diagnostics.samples, 700);
  expect_same_model(model_of(plan, rounds), learn_whole(folder, parts, fit, false));
  // Of a sample it is not known which rows of all these are, but how many.
  const Parts many = pole_parts(folder, 10, 5000);
  const ShardPlan sampled = plan_of(many, fit, {}, true);
  EXPECT_NEAR(static_cast<double>(learn_parts(sampled).diagnostics.samples), 1024.0, 300.0);
}

TEST(PredictiveShards, BitsDoNotDependOnTheOrderOfArrival) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 5, 800);
  const ShardPlan plan = plan_of(parts, small_fit(0.9));
  ShardFit fit = start_of(plan);
  while (fit.stage != Stage::done) {
    ShardStatistics in_order = all_parts(plan, fit);
    ShardStatistics mixed(plan, fit);
    for (const std::size_t i : {3u, 0u, 4u, 2u, 1u}) {
      mixed.merge(ShardStatistics::parse(one_part(plan, fit, i).serialise(), "part"));
    }
    EXPECT_TRUE(mixed.serialise() == in_order.serialise());
    const ShardFit next = solve_round(plan, fit, in_order);
    // What is read back is what was written, and no round is taken for another.
    EXPECT_TRUE(serialise(plan, parse_fit(serialise(plan, next), plan, "rounds")) ==
                serialise(plan, next));
    EXPECT_NE(next.fingerprint(), fit.fingerprint());
    if (next.stage != Stage::done) {
      expect_error([&] { solve_round(plan, next, mixed); }, "another round");
    }
    fit = next;
  }
  const Model model = model_of(plan, fit);
  EXPECT_EQ(parse_model(serialise(model), "model").controller.weights, model.controller.weights);
  EXPECT_EQ(parse_plan(to_json_text(plan), "plan").fingerprint(), plan.fingerprint());
}

TEST(PredictiveShards, WhatLearningFromTheWholeChoosesIsChosen) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 3, 3300);
  FitOptions fit = small_fit(0.5);
  const Learnt whole = learn_whole(folder, parts, fit, false);
  const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
  const Model model = model_of(plan, learn_parts(plan));
  EXPECT_LT(apart(model.controller.weights, whole.controller.weights), kSame);
  EXPECT_EQ(model.options.value.washout, whole.options.value.washout);
  // Noise is averaged over the past by more units.
  Recall cards({.back = 0, .symbols = 2, .sensor = {.noise = 0.5}});
  const Parts noisy = parts_of(folder, cards.spec(), random_rows(cards, 2, 3100), 4, true);
  FitOptions chosen = small_fit(0.5);
  const Learnt learnt = learn_whole(folder, noisy, chosen, true);
  const ShardPlan remembers = plan_of(noisy, chosen);
  EXPECT_EQ(remembers.fit.predictive->extra_units, learnt.options.predictive->extra_units);
  EXPECT_EQ(remembers.fit.predictive->seen, learnt.options.predictive->seen);
}

TEST(PredictiveShards, NoMoreIsDeterminedThanThereAreRows) {
  const TemporaryFolder folder;
  FitOptions fit = small_fit(0.9);
  fit.predictive->features = 300;
  fit.predictive->averaged = 1;
  const ShardPlan plan = plan_of(pole_parts(folder, 2, 250), fit);
  const FitDiagnostics diagnostics = learn_parts(plan).diagnostics;
  EXPECT_GT(diagnostics.features, diagnostics.samples);
  EXPECT_EQ(diagnostics.rank, diagnostics.samples);
}

TEST(PredictiveShards, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 3, 600);
  const ShardPlan plan = plan_of(parts, small_fit(0.9));
  const ShardPlan direct = plan_of(parts, presets::direct().fit);
  ShardLog rows(plan, plan.parts[0]);
  expect_error([&] { sum_part(plan, {}, 0, rows); }, "on the memory itself", "part0.csv");
  expect_error([&] { sum_part(plan, start_of(plan), 1, rows); }, "part1.csv", "the plan says");
  expect_error([&] { model_of(plan, start_of(plan)); }, "no model");
  ShardStatistics first = all_parts(plan, start_of(plan));
  // Sums of another size, as a file that was made up might have.
  ShardSums sums = first.total();
  sums.added["0.1.cross"].setZero(3, 3);
  ShardStatistics odd(plan, start_of(plan));
  for (Index i = 0; i < 3; ++i) odd.add(i, i == 0 ? sums : ShardSums{.state = sums.state});
  expect_error([&] { solve_round(plan, start_of(plan), odd); }, "cross", "3 × 3");
  ShardFit tried = solve_round(plan, start_of(plan), first);
  EXPECT_EQ(tried.stage, Stage::action);
  tried.heads[0].first.conservativeResize(Eigen::NoChange, 3);
  expect_error([&] { sum_part(plan, tried, 0, rows); }, "part0.csv", "does not fit");
  FitOptions held = small_fit(0.9);
  held.limits.hold = 2;
  expect_error([&] { plan_of(parts, held, {.parts = {}, .continued = true}); }, "hold = 2");
  expect_error([&] { plan_of(parts, small_fit(0.9), {.parts = {}, .continued = true}, true); },
               "all of them");
  FitOptions members = small_fit(0.9);
  members.members = 2;
  expect_error([&] { plan_of(parts, members); }, "members", "preset direct");
  // Before a network is drawn, which would take minutes.
  FitOptions large = small_fit(0.9);
  large.reservoir.units = 20'000;
  expect_error([&] { plan_of(parts, large, {.parts = {}, .continued = true}); }, "up to 5000");
  large.reservoir.units = 10;
  large.predictive->features = 100'000;
  expect_error([&] { plan_of(parts, large); }, "100000 random features", "GB of memory");
}

}  // namespace
}  // namespace waggle
