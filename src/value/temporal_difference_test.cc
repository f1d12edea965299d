#include <algorithm>
#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/fit/temporal_difference.h>

#include "expect_error.h"
#include "linalg/dense.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Data {
  RandomNumbers numbers;
  MatrixXd phi = numbers.matrix(8, 500), next = numbers.matrix(8, 500);
  VectorXd rewards = numbers.vector(500);

  TdMoments moments(Index first, Index count, double gamma) const {
    TdMoments result(8, gamma);
    const auto f = phi.middleCols(first, count);
    result.add(f, f, next.middleCols(first, count), rewards.segment(first, count));
    return result;
  }
};

TEST(Td, SolvesItsEquation) {
  const Data data;
  const double gamma = 0.7;
  for (const double ridge : {0.0, 0.5}) {
    const TdFit fit = solve_td({data.moments(0, 500, gamma)}, {.ridge = ridge});
    const VectorXd errors = (data.phi - gamma * data.next).transpose() * fit.weights - data.rewards;
    EXPECT_LT((data.phi * errors + ridge * fit.weights).norm(), 1e-10);
    EXPECT_FALSE(fit.singular);
  }
}

TEST(Td, RelativeRidgeIsMeasuredInMeanSquaredFeatures) {
  const Data data;
  const TdMoments moments = data.moments(0, 500, 0.5);
  const double unit = data.phi.squaredNorm() / 8;
  const TdFit relative = solve_td({moments}, {.ridge = 0.01, .scale = RidgeScale::relative});
  const TdFit absolute = solve_td({moments}, {.ridge = 0.01 * unit});
  EXPECT_LT((relative.weights - absolute.weights).norm(), 1e-12);
  EXPECT_NEAR(relative.ridge, 0.01 * unit, 1e-10);
}

TEST(Td, MergedMomentsAreTheMomentsOfTheWhole) {
  const Data data;
  TdMoments merged = data.moments(0, 123, 0.4);
  merged.merge(data.moments(123, 377, 0.4));
  const TdMoments whole = data.moments(0, 500, 0.4);
  EXPECT_LT((merged.system() - whole.system()).norm(), 1e-11);
  EXPECT_LT((merged.target() - whole.target()).norm(), 1e-11);
  EXPECT_LT((merged.gram() - whole.gram()).norm(), 1e-11);
  EXPECT_EQ(merged.samples(), 500);
}

TEST(Td, SingularSystemsAreReportedAndSolvedByMinimumNorm) {
  Data data;
  data.phi.row(7) = data.phi.row(6);
  data.next.row(7) = data.next.row(6);
  const TdFit fit = solve_td({data.moments(0, 500, 0.5)}, {.ridge = 0.0});
  EXPECT_TRUE(fit.singular);
  EXPECT_EQ(fit.rank, 7);
  EXPECT_NEAR(fit.weights[6], fit.weights[7], 1e-9);  // the minimum norm shares between copies
  const VectorXd errors = (data.phi - 0.5 * data.next).transpose() * fit.weights - data.rewards;
  EXPECT_LT((data.phi * errors).norm(), 1e-8);
}

TEST(Td, AConstantFeatureIsAlmostUnpenalised) {
  RandomNumbers numbers;
  // Rewards 5 for ever, a constant and noise: the value is 5/(1−γ) whatever the ridge.
  MatrixXd phi = numbers.matrix(3, 2000);
  phi.row(2).setOnes();
  MatrixXd next = numbers.matrix(3, 2000);
  next.row(2).setOnes();
  TdMoments moments(3, 0.5);
  moments.add(phi, phi, next, VectorXd::Constant(2000, 5.0));
  const RidgeOptions heavy{.ridge = 1.0, .scale = RidgeScale::relative};
  EXPECT_NEAR(solve_td({moments}, heavy, 2).weights[2], 10.0, 0.05);
  EXPECT_LT(solve_td({moments}, heavy).weights[2], 8.0);
}

TEST(Td, TheRidgePathFromOneReductionEqualsTwentySolves) {
  const Data data;
  const TdMoments moments = data.moments(0, 500, 0.6);
  const linalg::ShiftedSolver path(moments.system(), moments.target());
  for (const double ridge : ridge_path()) {
    const VectorXd direct = solve_td({moments}, {.ridge = ridge}).weights;
    EXPECT_LT((path.solve(ridge) - direct).norm(), 1e-10 * direct.norm());
  }
}

TEST(Td, TheRankIsAtMostTheRowsThoughTheRidgeMakesTheSystemRegular) {
  const Data data;
  const std::vector<TdMoments> few{data.moments(0, 5, 0.5)};
  const TdFit fit = solve_td(few, {.ridge = 1e-3});
  EXPECT_FALSE(fit.singular);
  EXPECT_EQ(fit.features, 8);
  EXPECT_EQ(fit.rank, 5);
  EXPECT_TRUE(fit.rank_deficient());
  // Two members, each with fewer features than rows, but more together.
  TdMoments member(4, 0.5);
  const auto phi = data.phi.topRows(4).leftCols(5);
  member.add(phi, phi, data.next.topRows(4).leftCols(5), data.rewards.head(5));
  const TdFit both = solve_td_ensemble({{member}, {member}}, {.ridge = 1e-3}, 0);
  EXPECT_EQ(both.features, 8);
  EXPECT_EQ(both.rank, 5);
  EXPECT_EQ(solve_td({data.moments(0, 500, 0.5)}, {.ridge = 1e-3}).rank, 8);
}

TEST(Td, CrossValidationFindsMoreRidgeForMoreNoise) {
  RandomNumbers numbers;
  // φ' independent of φ and zero weights wanted for most features: noise asks for shrinkage.
  std::vector<double> chosen;
  for (const double noise : {0.0, 3.0}) {
    const MatrixXd phi = numbers.matrix(40, 400);
    VectorXd rewards = 2.0 * phi.row(0).transpose() + noise * numbers.vector(400);
    std::vector<TdMoments> folds;
    for (Index f = 0; f < 5; ++f) {
      TdMoments& fold = folds.emplace_back(40, 0.3);
      const auto part = phi.middleCols(80 * f, 80);
      fold.add(part, part, MatrixXd::Zero(40, 80), rewards.segment(80 * f, 80));
    }
    const TdFit fit = solve_td(folds, {});
    EXPECT_EQ(fit.ridge_path.size(), 20u);
    chosen.push_back(fit.ridge);
  }
  EXPECT_LT(chosen[0], 1e-3 * chosen[1]);
}

TEST(Td, MembersAreFittedByThemselvesAndAveraged) {
  // 3 members with 2 features of their own and the last 2 of all; folds only choose λ.
  const Data data;
  const Index shared = 2;
  const auto member_folds = [&](Index member, const std::vector<Index>& ends) {
    const std::vector<Index> which = {2 * member, 2 * member + 1, 6, 7};
    const MatrixXd phi = data.phi(which, Eigen::all);
    const MatrixXd next = data.next(which, Eigen::all);
    std::vector<TdMoments> folds;
    Index first = 0;
    for (const Index end : ends) {
      const auto part = phi.middleCols(first, end - first);
      folds.emplace_back(4, 0.5).add(part, part, next.middleCols(first, end - first),
                                     data.rewards.segment(first, end - first));
      first = end;
    }
    return folds;
  };
  for (const std::vector<Index>& ends : {std::vector<Index>{500}, {100, 230, 500}}) {
    std::vector<std::vector<TdMoments>> members;
    VectorXd expected = VectorXd::Zero(8);
    for (Index member = 0; member < 3; ++member) {
      members.push_back(member_folds(member, ends));
      const VectorXd w = solve_td(members.back(), {.ridge = 0.1}, 3).weights / 3.0;
      expected.segment(2 * member, 2) = w.head(2);
      expected.tail(2) += w.tail(2);
    }
    const TdFit averaged = solve_td_ensemble(members, {.ridge = 0.1}, shared, 3);
    EXPECT_EQ(averaged.features, 8);
    EXPECT_EQ(averaged.samples, 500);
    EXPECT_LT((averaged.weights - expected).norm(), 1e-12);
  }

  // The λ that is chosen has the least error summed over the members.
  std::vector<std::vector<TdMoments>> members;
  std::vector<double> errors(20, 0.0);
  for (Index member = 0; member < 3; ++member) {
    members.push_back(member_folds(member, {100, 230, 500}));
    const TdFit alone = solve_td(members.back(), {});
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += alone.ridge_path[i].error;
  }
  const TdFit chosen = solve_td_ensemble(members, {}, shared);
  const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin();
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_NEAR(chosen.ridge_path[i].error, errors[i], 1e-12 * errors[i]);
  }
  const double least = chosen.ridge_path[static_cast<std::size_t>(best)].ridge;
  EXPECT_NEAR(chosen.relative_ridge, least, 1e-12 * least);
}

TEST(Td, BadInputIsNamed) {
  expect_error([] { TdMoments(0, 0.5); }, "features = 0");
  expect_error([] { TdMoments(3, 1.0); }, "discount = 1");
  TdMoments moments(2, 0.5);
  const MatrixXd phi = MatrixXd::Zero(2, 3);
  expect_error([&] { moments.add(phi, phi, phi, VectorXd::Zero(4)); }, "4 rewards");
  expect_error([&] { moments.add(phi, phi, phi * std::nan(""), VectorXd::Zero(3)); }, "finite");
  expect_error([&] { moments.merge(TdMoments(3, 0.5)); }, "cannot merge");
  expect_error([&] { solve_td({moments}, {.ridge = 1e-9}); }, "no samples");
  expect_error([&] { solve_td({}, {.ridge = 1e-9}); }, "no moments");
  moments.add(phi, phi, phi, VectorXd::Zero(3));
  expect_error([&] { solve_td({moments}, {}); }, "2 folds");
  expect_error([&] { solve_td({moments}, {.ridge = -1.0}); }, "ridge = -1");
  expect_error([&] { solve_td({moments}, {.ridge = 1e-9}, 2); }, "unpenalised = 2", "0 to 1");
  expect_error([] { solve_td_ensemble({}, {.ridge = 1e-9}, 0); }, "no members");
  using Ensemble = std::vector<std::vector<TdMoments>>;
  expect_error([&] { solve_td_ensemble(Ensemble{{moments}}, {.ridge = 1e-9}, 3); }, "shared = 3",
               "[0, 2]");
  TdMoments longer = moments;
  longer.merge(moments);
  expect_error(
      [&] {
        solve_td_ensemble(Ensemble{{moments}, {longer}}, {.ridge = 1e-9}, 0);
      },
      "6 samples", "alike");
}

}  // namespace
}  // namespace waggle
