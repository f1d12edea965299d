#include "learn/judging_features.h"

#include <gtest/gtest.h>

#include "random_heads.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd picked_from(const MatrixXd& all, const JudgingFeatures& judging) {
  MatrixXd picked(judging.size(), all.cols());
  judging.pick(all, picked);
  return picked;
}

TEST(JudgingFeatures, AreAllOfANetwork) {
  Controller controller;
  controller.reservoir = std::make_shared<const EchoStateNetwork>(plain_reservoir(6, 3), 2);
  const JudgingFeatures judging(controller);
  const MatrixXd all = RandomNumbers().matrix(controller.reservoir->features(), 4);
  EXPECT_EQ(picked_from(all, judging), all);
  EXPECT_EQ(judging.constant(), controller.reservoir->constant_feature());
  EXPECT_EQ(judging.is_needed(0), judging.constant() == 0);
}

TEST(JudgingFeatures, AreThoseOfTheLastFitOfPredictiveStates) {
  const InputLayout layout{.observation_size = 1};
  Controller controller;
  controller.reservoir = random_network(layout, {{.size = 3}, {.size = 4}});
  const Index last = controller.predictive()->heads().back().features();
  const Index features = controller.reservoir->features();
  ASSERT_LT(1 + last, features);
  const JudgingFeatures judging(controller);
  ASSERT_EQ(judging.size(), 1 + last);
  const MatrixXd all = RandomNumbers().matrix(features, 4);
  const MatrixXd picked = picked_from(all, judging);
  EXPECT_EQ(picked.row(0), all.row(0));
  EXPECT_EQ(picked.bottomRows(last), all.bottomRows(last));
  // What is expected at once, and the constant, which is the first of the fit's own.
  EXPECT_EQ(judging.constant(), 1);
  EXPECT_TRUE(judging.is_needed(0));
  EXPECT_TRUE(judging.is_needed(1));
  EXPECT_FALSE(judging.is_needed(2));
  MatrixXd mapped(features, 1);
  controller.reservoir->map_features(MatrixXd::Zero(controller.reservoir->units(), 1), mapped);
  EXPECT_EQ(picked_from(mapped, judging)(1, 0), 1.0);
}

}  // namespace
}  // namespace waggle
