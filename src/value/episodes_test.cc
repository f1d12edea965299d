/// How episodes end, row by row and by hand, for everything that reads a trajectory.
#include "episodes.h"

#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/fit/policy_iteration.h>
#include <waggle/fit/value.h>

#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Episodes;
using test::kDiscount;

TEST(Episodes, MomentsAndBellmanErrorCountEachEndAsWhatItIs) {
  const Episodes episodes;
  const Eigen::Vector3d w(0.4, -1.0, 2.0);
  for (const Index washout : {0, 1}) {
    MatrixXd system = MatrixXd::Zero(3, 3);
    VectorXd target = VectorXd::Zero(3);
    double squares = 0.0;
    for (const auto& row : episodes.rows(washout)) {
      system += row.before * (row.before - kDiscount * row.after).transpose();
      target += row.before * row.reward;
      squares += std::pow(row.reward + kDiscount * w.dot(row.after) - w.dot(row.before), 2);
    }
    const auto count = static_cast<double>(episodes.rows(washout).size());
    for (const Index chunk : {1, 3, 100}) {
      TrajectoryChunks source(episodes.log, chunk);
      const TdMoments moments =
          td_moments(episodes.reservoir, episodes.layout, source, kDiscount, washout);
      EXPECT_LT((moments.system() - system).norm(), 1e-14);
      EXPECT_LT((moments.target() - target).norm(), 1e-14);
      EXPECT_NEAR(bellman_error(episodes.reservoir, episodes.layout, source, w, kDiscount, washout),
                  std::sqrt(squares / count), 1e-14);
    }
  }
}

/// The features (x, 1), of which one is not 0 at x = 0.
class WithConstant final : public ReservoirSystem {
 public:
  Index units() const override { return memory_.units(); }
  Index inputs() const override { return memory_.inputs(); }
  Index features() const override { return units() + 1; }
  void step(const Eigen::Ref<const VectorXd>& x, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    memory_.step(x, z, next);
  }
  void map_features(const Eigen::Ref<const MatrixXd>& x, Eigen::Ref<MatrixXd> out) const override {
    out.topRows(units()) = x;
    out.bottomRows(1).setOnes();
  }

 private:
  toy::FadingObservations memory_{3, 2};
};

TEST(Episodes, NothingHasValueAfterTerminationThoughAFeatureIsNever0) {
  const Episodes episodes;
  const auto rows = episodes.rows(0);
  MatrixXd features = MatrixXd::Ones(4, std::ssize(rows)), differences = features;
  VectorXd rewards(std::ssize(rows));
  for (Index k = 0; k < rewards.size(); ++k) {
    const auto& row = rows[static_cast<std::size_t>(k)];
    const bool terminated = Episodes::end(static_cast<std::size_t>(k)) == EpisodeEnd::terminated;
    features.col(k).head(3) = row.before;
    differences.col(k).head(3) = row.before - kDiscount * row.after;
    differences(3, k) = terminated ? 1.0 : 1.0 - kDiscount;
    rewards[k] = row.reward;
  }
  for (const Method method : {Method::lstd, Method::bellman_residual}) {
    const MatrixXd& instruments = method == Method::lstd ? features : differences;
    const MatrixXd system = instruments * differences.transpose();
    const VectorXd expected = system.partialPivLu().solve(instruments * rewards);
    const ValueFit fit =
        fit_value(WithConstant(), episodes.layout, episodes.log,
                  {.discount = kDiscount, .method = method, .solve = {.ridge = 1e-12}});
    EXPECT_LT((fit.weights - expected).norm(), 1e-9 * expected.norm());
  }
}

TEST(Episodes, ASweepStartsEachEpisodeAfresh) {
  const Episodes episodes;
  // The action has no effect on the state, so a sweep of policy iteration is LSTD itself.
  const auto reservoir = std::make_shared<toy::FadingObservations>(3, 2);
  for (const Index washout : {0, 1}) {
    MatrixXd system = 1e-9 * MatrixXd::Identity(3, 3);
    VectorXd target = VectorXd::Zero(3);
    for (const auto& row : episodes.rows(washout)) {
      system += row.before * (row.before - kDiscount * row.after).transpose();
      target += row.before * row.reward;
    }
    const PolicyIteration swept = iterate_policy(
        {reservoir, episodes.layout, ActionSpace::box(-1.0, 1.0)}, episodes.log,
        {.value = {.discount = kDiscount, .solve = {.ridge = 1e-9}, .washout = washout},
         .sweeps = 1});
    EXPECT_LT((swept.value.weights - system.partialPivLu().solve(target)).norm(), 1e-9);
    EXPECT_LT((swept.value.state - episodes.rows(washout).back().after).norm(), 1e-15);
    EXPECT_EQ(swept.value.diagnostics.samples, static_cast<Index>(episodes.rows(washout).size()));
  }
}

}  // namespace
}  // namespace waggle
