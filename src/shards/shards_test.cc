#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/learner.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>
#include <waggle/shards.h>

#include "expect_error.h"
#include "shard_parts.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using Stage = ShardFit::Stage;

FitOptions small_fit(double discount = 0.5) {
  FitOptions fit = presets::direct().fit;
  fit.reservoir.units = 12;
  fit.members = 2;
  fit.value.discount = discount;
  fit.sweeps = 4;
  return fit;
}

/// Not norm(): the squares of what is found of rewards of 1e-170 are 0.
double distance(const VectorXd& a, const VectorXd& b) {
  return (a - b).stableNorm() / b.stableNorm();
}

void expect_same_model(const Model& parts, const Model& whole) {
  EXPECT_LT(distance(parts.controller.weights, whole.controller.weights), 1e-9);
  EXPECT_LT((parts.state - whole.state).norm(), 1e-9 * (1.0 + whole.state.norm()));
  EXPECT_NEAR(parts.diagnostics.ridge / whole.diagnostics.ridge, 1.0, 1e-9);
  EXPECT_NEAR(parts.diagnostics.residual / whole.diagnostics.residual, 1.0, 1e-9);
  EXPECT_EQ(parts.diagnostics.samples, whole.diagnostics.samples);
  // The same rows are in the same folds.
  ASSERT_EQ(parts.diagnostics.ridge_path.size(), whole.diagnostics.ridge_path.size());
  for (std::size_t i = 0; i < parts.diagnostics.ridge_path.size(); ++i) {
    EXPECT_NEAR(parts.diagnostics.ridge_path[i].error / whole.diagnostics.ridge_path[i].error, 1.0,
                1e-6);
  }
  EXPECT_EQ(parts.improvement->sweeps, whole.improvement->sweeps);
  EXPECT_EQ(parts.improvement->end, whole.improvement->end);
  EXPECT_EQ(parts.provenance.rows, whole.provenance.rows);
  EXPECT_EQ(parts.provenance.episodes, whole.provenance.episodes);
  EXPECT_EQ(parts.controller.actions.choices, whole.controller.actions.choices);
  EXPECT_LT((parts.ranges.deviation - whole.ranges.deviation).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_EQ(parts.ranges.maximum, whole.ranges.maximum);
  EXPECT_EQ(parts.warnings, whole.warnings);
  ASSERT_EQ(parts.deviation_factor.size(), whole.deviation_factor.size());
  EXPECT_LT(distance(parts.deviation_factor.reshaped(), whole.deviation_factor.reshaped()), 1e-7);
  ASSERT_TRUE(parts.baseline && whole.baseline);
  EXPECT_LT(distance(parts.baseline->mean, whole.baseline->mean), 1e-9);
  EXPECT_LT(distance(parts.baseline->weights, whole.baseline->weights), 1e-6);
  EXPECT_NEAR(parts.baseline->bellman_error / whole.baseline->bellman_error, 1.0, 1e-6);
  EXPECT_EQ(parts.baseline->longest_runs, whole.baseline->longest_runs);
}

TEST(Shards, PartsThatEndWhereEpisodesDoGiveWhatTheWholeGives) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 5);
  for (const int sweeps : {0, 4}) {
    FitOptions fit = small_fit(0.9);
    fit.sweeps = sweeps;
    const ShardPlan plan = plan_of(parts, fit);
    Log log(parts.files, parts.reading);
    const Learnt whole = learn_from_log(log.spec(), log, fit);
    expect_same_model(model_of(plan, learn_parts(plan)), whole);
    EXPECT_EQ(whole.improvement->sweeps > 0, sweeps > 0);
  }
}

TEST(Shards, ALongRecordGoesOnFromPartToPart) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 4);
  const FitOptions fit = small_fit();
  Log log(folder.path("whole.csv"), parts.reading);
  const Learnt whole = learn_from_log(log.spec(), log, fit);
  const ShardPlan plan = plan_of(parts, fit, {.parts = {}, .continued = true});
  EXPECT_GT(plan.overlap, 100);
  EXPECT_EQ(plan.measured.rows, log.rows());
  EXPECT_EQ(plan.measured.counted, log.rows() - 30);  // the record begins once
  EXPECT_EQ(plan.measured.episodes, 1);
  expect_same_model(model_of(plan, learn_parts(plan)), whole);
  // Too short an overlap is not the same, and none at all less so: the washout is at each part.
  const ShardPlan hasty = plan_of(parts, fit, {.parts = {}, .continued = true, .overlap = 30});
  const double off =
      distance(model_of(hasty, learn_parts(hasty)).controller.weights, whole.controller.weights);
  EXPECT_GT(off, 1e-9);
  EXPECT_EQ(plan_of(parts, fit).measured.counted, log.rows() - 4 * 30);
}

TEST(Shards, NeitherTheUnitNorTheZeroOfTheRewardShows) {
  const TemporaryFolder folder;
  const auto learnt = [&](double unit, double offset) {
    const Parts parts = flight_parts(folder, 3, 700, unit, offset);
    Log log(folder.path("whole.csv"), parts.reading);
    const ShardPlan plan = plan_of(parts, small_fit(), {.parts = {}, .continued = true});
    const Model model = model_of(plan, learn_parts(plan));
    expect_same_model(model, learn_from_log(log.spec(), log, small_fit()));
    return model;
  };
  const Model plain = learnt(1.0, 0.0);
  for (const double unit : {0x1p-560, 0x1p20}) {
    const Model model = learnt(unit, 0.0);
    EXPECT_EQ(model.controller.weights, unit * plain.controller.weights);
    EXPECT_EQ(model.ranges.deviation[0], unit * plain.ranges.deviation[0]);
  }
  learnt(1.0, 1000.0);
}

TEST(Shards, MeasuresAddUpInWhateverUnit) {
  // Columns of three channels: one that varies little, one that only differs between the sets, and
  // one that does not vary.
  for (const double unit : {1.0, 0x1p-560, 0x1p300}) {
    ChannelSums one, other;
    one.add(Eigen::MatrixXd{{unit, 3.0 * unit}, {0.0, 0.0}, {2.0, 2.0}});
    other.add(Eigen::MatrixXd{{0x1p-30 * unit}, {8.0 * unit}, {2.0}});
    one.merge(other);
    one.validate("sums");
    const double varied = one.unit[0] * std::sqrt(one.squares[0]);
    const double between = one.unit[1] * std::sqrt(one.squares[1]);
    EXPECT_NEAR(varied / unit, std::sqrt(14.0 / 3.0), 1e-8);
    EXPECT_NEAR(between / unit, 8.0 * std::sqrt(2.0 / 3.0), 1e-12);
    EXPECT_EQ(one.squares[2], 0.0);
  }
}

TEST(Shards, AMeasureReadsBackAsItWasOrIsRefused) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 2, 300);
  const ShardPlan plan = plan_of(parts, small_fit());
  ShardLog rows(plan, parts.files[0]);
  const ShardMeasure measure = measure_part(plan, rows);
  const std::string text = to_json_text(measure);
  EXPECT_EQ(to_json_text(parse_measure(text, "'m'")), text);
  ShardMeasure odd = measure;
  odd.percepts.unit.clear();  // as one that another version has made
  expect_error([&] { parse_measure(to_json_text(odd), "'m'"); }, "'m'", "percepts.unit",
               "0 numbers for 1 channels");
  odd = measure;
  odd.inputs.unit[0] = 3.0;
  expect_error([&] { parse_measure(to_json_text(odd), "'m'"); }, "inputs.unit: 3", "power of two");
  odd = measure;
  odd.actions.squares[0] = -1.0;
  expect_error([&] { parse_measure(to_json_text(odd), "'m'"); }, "actions.squares: -1");
  odd = measure;
  odd.rows = -1;
  expect_error([&] { parse_measure(to_json_text(odd), "'m'"); }, "rows = -1");
}

TEST(Shards, APartIsReadTheSameHoweverOften) {
  const TemporaryFolder folder;
  const Parts parts = flight_parts(folder, 3);
  const ShardPlan plan =
      plan_of(parts, small_fit(), {.parts = {}, .continued = true, .overlap = 40});
  ShardLog rows(plan, parts.files[1], parts.files[0]);
  std::vector<Eigen::Index> counts;
  Trajectory chunk(1, 0);
  for (int pass = 0; pass < 2; ++pass) {
    Eigen::Index& count = counts.emplace_back(0);
    rows.rewind();
    while (rows.next(chunk)) count += chunk.steps();
  }
  EXPECT_EQ(rows.lead(), 40);
  EXPECT_EQ(counts[0], Log(parts.files[1], parts.reading).rows() + 40);
  EXPECT_EQ(counts[1], counts[0]);
}

TEST(Shards, BitsDoNotDependOnTheOrderOfArrivalNorOnWhoAddsWhat) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 7);
  const ShardPlan plan = plan_of(parts, small_fit(0.9));
  ShardStatistics in_order = all_parts(plan, {});
  const std::string expected = in_order.serialise();
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{6, 5, 4, 3, 2, 1, 0}, {3, 0, 6, 1, 5, 2, 4}}) {
    ShardStatistics all(plan, {});
    for (const std::size_t i : order) {
      // Through a file and back, as other machines do it.
      all.merge(ShardStatistics::parse(one_part(plan, {}, i).serialise(), "part"));
    }
    EXPECT_TRUE(all.serialise() == expected);
  }
  // Merges of merges.
  ShardStatistics even(plan, {}), odd(plan, {});
  for (std::size_t i = 0; i < 7; ++i) (i % 2 == 0 ? even : odd).merge(one_part(plan, {}, i));
  EXPECT_EQ(even.present(), 4);
  EXPECT_EQ(even.missing(), 1);
  EXPECT_EQ(odd.missing(), 0);
  odd = ShardStatistics::parse(odd.serialise(), "odd");
  odd.merge(std::move(even));
  EXPECT_EQ(odd.missing(), -1);
  EXPECT_TRUE(odd.serialise() == expected);
  EXPECT_EQ(in_order.total().rows(), plan.measured.counted);
}

TEST(Shards, ASampleIsEnoughForAPlan) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 4);
  const ShardPlan plan = plan_of(parts, small_fit(0.9), {}, true);
  EXPECT_TRUE(plan.counted.empty());
  EXPECT_LT(plan.measured.rows, 700);
  const Model model = model_of(plan, learn_parts(plan));
  EXPECT_EQ(model.diagnostics.samples, Log(parts.files, parts.reading).rows());
}

TEST(Shards, AModelIsANormalFileAndAPlanReadsBackAsItWas) {
  const TemporaryFolder folder;
  const ShardPlan plan = plan_of(pole_parts(folder, 2), small_fit(0.9));
  const ShardPlan again = parse_plan(to_json_text(plan), "plan");
  EXPECT_EQ(to_json_text(again), to_json_text(plan));
  EXPECT_EQ(again.fingerprint(), plan.fingerprint());
  ShardFit fit = learn_parts(plan);
  const ShardFit read = parse_fit(serialise(plan, fit), plan, "rounds");
  EXPECT_EQ(read.weights, fit.weights);
  EXPECT_EQ(read.fingerprint(), fit.fingerprint());
  EXPECT_EQ(serialise(plan, read), serialise(plan, fit));
  const Model model = model_of(plan, fit);
  EXPECT_EQ(parse_model(serialise(model), "model").controller.weights, model.controller.weights);
  EXPECT_EQ(model.provenance.sources, plan.parts);
}

TEST(Shards, SumsTravelAsHalvesAndOfASweepAsOneMatrixAMember) {
  const TemporaryFolder folder;
  FitOptions fit = small_fit(0.9);
  fit.members = 1;
  fit.reservoir.units = 60;
  fit.value.solve.ridge = 1e-6;
  const ShardPlan plan = plan_of(pole_parts(folder, 2), fit);
  ShardStatistics first = all_parts(plan, {});
  const auto n = static_cast<double>(first.total().moments[0][0].features());
  EXPECT_LT(static_cast<double>(first.serialise().size()), 8.0 * n * (n + 3.0) + 2000.0);
  fit.value.solve.ridge.reset();
  const ShardPlan chosen = plan_of(pole_parts(folder, 2), fit);
  EXPECT_LT(static_cast<double>(all_parts(chosen, {}).serialise().size()),
            8.0 * (5.5 * n * n + 8.0 * n) + 4000.0);
}

TEST(Shards, WhatDoesNotBelongTogetherIsRefused) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 3);
  const ShardPlan plan = plan_of(parts, small_fit(0.9));
  const ShardPlan other = plan_of(parts, small_fit(0.8));
  ShardStatistics some = one_part(plan, {}, 0);
  expect_error([&] { some.merge(one_part(other, {}, 1)); }, "another plan");
  expect_error([&] { some.merge(one_part(plan, {}, 0)); }, "part 0", "twice");
  expect_error([&] { solve_round(plan, {}, some); }, "2 of 3 parts are missing", "part 1");
  ShardStatistics all = all_parts(plan, {});
  expect_error([&] { solve_round(other, {}, all); }, "another plan");
  const ShardFit fit = solve_round(plan, {}, all);
  expect_error([&] { solve_round(plan, fit, all); }, "another round");
  expect_error([&] { all.merge(one_part(plan, fit, 0)); }, "another round");
  expect_error([&] { model_of(plan, {}); }, "no model");
  expect_error([&] { parse_fit(serialise(plan, fit), other, "rounds"); }, "rounds", "another plan");
  expect_error([&] { plan.index_of("part9.csv"); }, "no part", "part");
  EXPECT_EQ(plan.index_of("elsewhere/part2.csv"), 2);
}

TEST(Shards, DamageIsSeen) {
  const TemporaryFolder folder;
  const ShardPlan plan = plan_of(pole_parts(folder, 2), small_fit(0.9));
  const std::string bytes = one_part(plan, {}, 0).serialise();
  const auto parse = [](const std::string& text) { return ShardStatistics::parse(text, "'p'"); };
  expect_error([&] { parse(bytes.substr(0, bytes.size() - 8)); }, "'p'");
  expect_error([&] { parse(bytes.substr(0, 4)); }, "'p'");
  std::string flipped = bytes;
  flipped[bytes.size() - 100] ^= 1;
  expect_error([&] { parse(flipped); }, "'p'", "damaged", "make it again");
  std::string older = bytes;
  const std::string version = "\"waggle_version\":\"";
  older[older.find(version) + version.size()] = '7';
  expect_error([&] { parse(older); }, "made by waggle 7", "this is waggle");
  ShardPlan newer = plan;
  newer.waggle_version = "9.9.9";
  expect_error([&] { parse_plan(to_json_text(newer), "'plan'"); }, "'plan'", "waggle 9.9.9");
}

TEST(Shards, APartThatThePlanDoesNotFitIsNamed) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 3);
  const ShardPlan plan = plan_of(parts, small_fit(0.9));
  Log rows(parts.files[0], plan.reading);
  expect_error([&] { sum_part(plan, {}, 1, rows); }, "part1.csv", "the plan says");
  folder.write("part1.csv", "episode,cart,pole\n0,1,2\n");
  expect_error([&] { ShardLog(plan, parts.files[1]); }, "part1.csv", "column");
  folder.write("part1.csv", "");
  expect_error([&] { ShardLog(plan, parts.files[1]); }, "part1.csv");
}

TEST(Shards, WhatIsNoSumIsRefusedByName) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 2);
  const auto refused = [&](auto change, const std::string& what) {
    FitOptions fit = small_fit();
    Parts read = parts;
    change(fit, read.reading);
    const Log log(parts.files, parts.reading);
    expect_error([&] { begin_plan(log, read.reading, fit, {.parts = parts.files}); }, what);
  };
  refused([](FitOptions& fit, LogOptions&) { fit.predictive.emplace(); }, "members counts only");
  refused([](FitOptions& fit, LogOptions&) { fit.value.method = Method::bellman_residual; },
          "bellman_residual");
  refused([](FitOptions& fit, LogOptions&) { fit.reweight = true; }, "reweight");
  refused([](FitOptions&, LogOptions& reading) { reading.time = "t"; }, "time");
  refused([](FitOptions&, LogOptions& reading) { reading.missing = LogOptions::Missing::hold; },
          "missing = hold");
}

}  // namespace
}  // namespace waggle
