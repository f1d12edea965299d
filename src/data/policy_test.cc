#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/policy.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(UniformPolicy, FillsItsSpace) {
  UniformPolicy box(ActionSpace::box(Eigen::Vector2d(-1, 5), Eigen::Vector2d(1, 6)));
  UniformPolicy discrete(ActionSpace::discrete(3));
  VectorXd sum = VectorXd::Zero(2), action(2), choice(1);
  std::vector<int> counts(3);
  for (std::uint64_t k = 0; k < 20000; ++k) {
    Draws draws = Random(4).at(Purpose::policy, k);
    box.act({}, draws, action);
    ASSERT_TRUE(std::abs(action[0]) < 1 && action[1] > 5 && action[1] < 6);
    sum += action / 20000;
    discrete.act({}, draws, choice);
    ++counts.at(static_cast<std::size_t>(choice[0]));
  }
  EXPECT_NEAR(sum[0], 0.0, 5 * std::sqrt(1.0 / 3 / 20000));
  EXPECT_NEAR(sum[1], 5.5, 5 * std::sqrt(1.0 / 12 / 20000));
  for (const int count : counts) EXPECT_NEAR(count, 20000 / 3.0, 350);
  expect_error([] { UniformPolicy(ActionSpace::unbounded(1)); }, "unbounded");
}

TEST(LinearPolicy, MeanAndNoise) {
  LinearPolicy policy(MatrixXd::Constant(1, 1, 0.25), 2.0);
  Percept percept;
  percept.observation = VectorXd::Constant(1, 8.0);
  double mean = 0.0, square = 0.0;
  VectorXd action(1);
  constexpr int n = 40000;
  for (std::uint64_t k = 0; k < n; ++k) {
    Draws draws = Random(4).at(Purpose::policy, k);
    policy.act(percept, draws, action);
    mean += action[0] / n;
    square += (action[0] + 2.0) * (action[0] + 2.0) / n;
  }
  EXPECT_NEAR(mean, -2.0, 5 * 2.0 / std::sqrt(n));
  EXPECT_NEAR(square, 4.0, 5 * 4.0 * std::sqrt(2.0 / n));
  expect_error([] { LinearPolicy(MatrixXd::Constant(1, 1, std::nan(""))); }, "gain");
  expect_error([] { LinearPolicy(MatrixXd::Zero(1, 1), -1.0); }, "noise = -1");
}

}  // namespace
}  // namespace waggle
