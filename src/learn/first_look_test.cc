#include "learn/first_look.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

TEST(FirstLook, WhatIsCutOutLosesItsFirstRowsWhereTheyCanBeSpared) {
  EXPECT_EQ(usual_washout({.cut_out = false, .predictive = false, .rows = 10}), 0);
  EXPECT_EQ(usual_washout({.cut_out = true, .predictive = false, .rows = 10}), kCutOutWashout);
  EXPECT_EQ(usual_washout({.cut_out = false, .predictive = true, .rows = 10'000}), 1);
  EXPECT_EQ(usual_washout({.cut_out = true, .predictive = true, .rows = 10 * kCutOutWashout}),
            kCutOutWashout);
  EXPECT_EQ(usual_washout({.cut_out = true, .predictive = true, .rows = 10 * kCutOutWashout - 1}),
            1);
}

TEST(FirstLook, FirstRowsAreAtMostSoMany) {
  Trajectory rows(1, 0);
  for (Index k = 0; k < 100; ++k) {
    rows.append(static_cast<double>(k), VectorXd::Zero(1), VectorXd(0), EpisodeEnd::none);
  }
  TrajectoryChunks log(rows, 30);
  for (const Index most : {1, 30, 31, 100, 1000}) {
    const Trajectory first = first_rows(log, most);
    EXPECT_EQ(first.steps(), std::min<Index>(most, 100));
    EXPECT_EQ(first.rewards()[first.steps() - 1], static_cast<double>(first.steps() - 1));
  }
  const Trajectory none(1, 0);
  TrajectoryChunks empty(none);
  EXPECT_EQ(first_rows(empty, 10).steps(), 0);
}

}  // namespace
}  // namespace waggle
