#include "logs/log_habits.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/base/random.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using Names = std::vector<std::string>;

/// Random rows of one action and two observations; episodes of 25, whose last action is not taken.
std::vector<SurveyedRow> random_rows(Index count) {
  const Random random(1);
  std::vector<SurveyedRow> rows(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Draws draws = random.at(Purpose::user, k);
    rows[k].reward = draws.uniform(-1, 1);
    rows[k].actions = VectorXd::Constant(1, draws.uniform(-1, 1));
    rows[k].observations = Eigen::Vector2d(draws.uniform(-1, 1), draws.uniform(-1, 1));
    rows[k].begins = k % 25 == 0;
    rows[k].acts = k % 25 != 24;
  }
  return rows;
}

Names notes_of(const std::vector<SurveyedRow>& rows, const std::string& name = "x") {
  LogNames names;
  names.actions = {"move"};
  names.observations = {"other", name};
  LogHabits habits(names);
  for (const SurveyedRow& row : rows) habits.add(row);
  return habits.notes();
}

/// Expects one note, with the parts in it, if the second observation is made by `number` of the
/// row's index, and none if it is once something else.
void expect_said(const std::function<double(std::size_t, const std::vector<SurveyedRow>&)>& number,
                 const Names& parts, const std::string& name = "x") {
  std::vector<SurveyedRow> rows = random_rows(201);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].observations[1] = number(k, rows);
  const Names notes = notes_of(rows, name);
  ASSERT_EQ(notes.size(), 1u);
  for (const std::string& part : parts) {
    EXPECT_NE(notes[0].find(part), std::string::npos) << part << " not in: " << notes[0];
  }
  rows[101].observations[1] += 0.125;  // acts, and is followed
  EXPECT_EQ(notes_of(rows, name), Names{});
  rows.resize(19);
  EXPECT_EQ(notes_of(rows, name), Names{}) << "too few to tell";
}

TEST(LogHabits, NothingIsSaidOfWhatIsNotOdd) {
  EXPECT_EQ(notes_of(random_rows(300)), Names{});
  EXPECT_EQ(notes_of({}), Names{});
}

TEST(LogHabits, ConstantsAndTwinsAreNamed) {
  expect_said([](auto, const auto&) { return 3.5; }, {"'x' is 3.5 in every row", "--ignore"});
  expect_said([](auto k, const auto& rows) { return rows[k].observations[0]; },
              {"'x' is the same as 'other'", "--ignore"});
}

TEST(LogHabits, ManyConstantsAreSaidOnce) {
  LogNames names;
  names.actions = {"move"};
  for (int i = 0; i < 4095; ++i) names.observations.push_back(fmt::format("c{}", i));
  LogHabits habits(names);
  for (SurveyedRow& row : random_rows(50)) {
    row.observations = VectorXd::LinSpaced(4095, 0.0, 1.0);
    row.observations[7] = row.reward;
    habits.add(row);
  }
  const Names notes = habits.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("4094 of 4095 columns observed never change: 'c0', 'c1'"),
            std::string::npos)
      << notes[0];
  EXPECT_LT(notes[0].size(), 400u);
}

TEST(LogHabits, WhatIsNotKnownInTimeIsNamed) {
  // Where the action was not taken, and where an episode ends, it may be anything.
  expect_said([](auto k, const auto& rows) { return rows[k].acts ? rows[k].actions[0] : 99.0; },
              {"'x' is the action 'move' of the same row", "--ignore"});
  expect_said(
      [](auto k, const auto& rows) {
        const bool last = k + 1 == rows.size() || rows[k + 1].begins;
        return last ? -99.0 : rows[k + 1].reward;
      },
      {"'x' is the reward of the next row", "--ignore"});
}

TEST(LogHabits, AClockIsNamedByItsNameAndItsSteps) {
  const auto ticks = [](std::size_t k, const auto&) { return 0.1 * static_cast<double>(k % 25); };
  expect_said(ticks, {"'Time'", "--time", "--ignore"}, "Time");
  std::vector<SurveyedRow> rows = random_rows(200);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].observations[1] = ticks(k, rows);
  EXPECT_EQ(notes_of(rows, "ramp"), Names{}) << "may be something else that grows";
  for (SurveyedRow& row : rows) row.observations[1] = -row.observations[1];
  EXPECT_EQ(notes_of(rows, "t"), Names{}) << "runs backwards";
}

TEST(LogHabits, WhatMayEndEpisodesIsNamed) {
  const Names notes = notes_of(random_rows(100), "done");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("--terminated"), std::string::npos);
}

TEST(LogHabits, LabelsAreLeftAlone) {
  std::vector<SurveyedRow> rows = random_rows(100);
  for (SurveyedRow& row : rows) {
    row.observations.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  EXPECT_EQ(notes_of(rows), Names{});
}

/// The effect on rewards that are made of the action of a row, plus noise.
ActionEffect effect_of(std::size_t delay, double noise, Index count = 5000) {
  std::vector<SurveyedRow> rows = random_rows(count);
  for (std::size_t k = rows.size(); k-- > delay;) {
    const SurveyedRow& from = rows[k - delay];
    rows[k].reward = noise * rows[k].reward + from.actions[0] * from.observations[0];
  }
  return measure_action_effect(rows);
}

TEST(ActionEffectOf, IsTheShareOfWhatIsNotExplainedOtherwise) {
  // Products of two uniform numbers have the variance 1/9, the noise noise²/3.
  EXPECT_NEAR(effect_of(0, 1.0).same_row, 0.25, 0.05);
  EXPECT_LT(effect_of(0, 1.0).row_before, 0.02);
  EXPECT_NEAR(effect_of(1, 0.5).row_before, 4.0 / 7.0, 0.05);
  EXPECT_LT(effect_of(1, 0.5).same_row, 0.02);
  EXPECT_EQ(effect_of(0, 0.0, 5).same_row, 0.0) << "too few rows";
}

TEST(ActionEffectOf, ChoicesAreNoNumbers) {
  // The middle one of three is worth something: no number times the action says so.
  std::vector<SurveyedRow> rows = random_rows(1000);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k].actions[0] = static_cast<double>(k * k % 7 % 3);
    rows[k].reward = 0.1 * rows[k].reward + (rows[k].actions[0] == 1.0 ? 1.0 : 0.0);
  }
  EXPECT_GT(measure_action_effect(rows).same_row, 0.9);
  for (SurveyedRow& row : rows) row.reward = 7.0;
  EXPECT_EQ(measure_action_effect(rows).same_row, 0.0) << "nothing to explain";
}

TEST(ActionEffect, DoesNotReachIntoTheNextEpisode) {
  std::vector<SurveyedRow> rows = random_rows(3000);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k].begins = k % 3 == 0;
    rows[k].acts = k % 3 != 2 || k % 2 == 0;  // cut off, or terminated
    if (!rows[k].begins) rows[k].reward = 2.0 * rows[k - 1].actions[0] + 0.1 * rows[k].reward;
  }
  // What an episode begins with no action has brought about: with it, half would be explained.
  const ActionEffect effect = measure_action_effect(rows);
  EXPECT_GT(effect.row_before, 0.99);
  EXPECT_LT(effect.same_row, 0.01);
}

}  // namespace
}  // namespace waggle
