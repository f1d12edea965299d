#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include <waggle/temporal_difference.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

TdMoments::TdMoments(Index features, double discount) : discount_(discount) {
  require(features >= 1, "features = {}: must be at least 1", features);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  system_.setZero(features, features);
  gram_.setZero(features, features);
  target_.setZero(features);
}

void TdMoments::add(const Ref<const MatrixXd>& instruments, const Ref<const MatrixXd>& features,
                    const Ref<const MatrixXd>& next, const Ref<const VectorXd>& rewards) {
  const Index n = target_.size();
  const Index m = rewards.size();
  require(instruments.rows() == n && features.rows() == n && next.rows() == n &&
              instruments.cols() == m && features.cols() == m && next.cols() == m,
          "transitions of {}, {} and {} features and {} rewards: must be {} features and as many "
          "columns as rewards",
          instruments.rows(), features.rows(), next.rows(), m, n);
  require(first_non_finite(features).row < 0 && first_non_finite(next).row < 0 &&
              first_non_finite(rewards).row < 0,
          "transitions: a feature or reward is not finite");
  require(first_non_finite(instruments).row < 0, "transitions: an instrument is not finite");
  linalg::add_outer_product(instruments, features - discount_ * next, system_);
  linalg::add_outer_product(features, features, gram_);
  target_.noalias() += instruments * rewards;
  samples_ += m;
}

void TdMoments::merge(const TdMoments& other) {
  require(other.features() == features() && other.discount_ == discount_,
          "cannot merge moments of {} features, discount {} into {}, {}", other.features(),
          other.discount_, features(), discount_);
  system_ += other.system_;
  gram_ += other.gram_;
  target_ += other.target_;
  samples_ += other.samples_;
}

namespace {

constexpr double kAlmostUnpenalised = 1e-6;

/// G, b and S of some of the features, scaled so that the penalty is λ I.
struct Problem {
  MatrixXd system;
  VectorXd target;
  MatrixXd gram;
};

Problem restrict(const TdMoments& moments, const std::vector<Index>& which, const VectorXd& scale) {
  Problem problem{moments.system()(which, which), moments.target()(which),
                  moments.gram()(which, which)};
  problem.system = scale.asDiagonal() * problem.system * scale.asDiagonal();
  problem.target = scale.cwiseProduct(problem.target);
  problem.gram = scale.asDiagonal() * problem.gram * scale.asDiagonal();
  return problem;
}

/// Adds to each λ of the path its cross-validated projected Bellman error, the sum over folds of
/// (b − G W)ᵀ S⁻¹ (b − G W) on the fold left out.
void cross_validate(const std::vector<Problem>& folds, const Problem& whole, double unit,
                    std::vector<RidgeCandidate>& path) {
  const Index n = whole.target.size();
  const MatrixXd regular = whole.gram + 1e-6 * unit * MatrixXd::Identity(n, n);
  const Eigen::LLT<MatrixXd> metric(regular);
  for (const Problem& fold : folds) {
    const linalg::ShiftedSolver solver(whole.system - fold.system, whole.target - fold.target);
    for (RidgeCandidate& candidate : path) {
      const VectorXd w = solver.solve(candidate.ridge * unit);
      const double error =
          w.size() == 0 ? std::numeric_limits<double>::max()
                        : metric.matrixL().solve(fold.target - fold.system * w).squaredNorm();
      candidate.error = std::min(candidate.error + error, std::numeric_limits<double>::max());
    }
  }
}

/// One member's share of the features, and its problem in them.
struct Member {
  std::vector<Index> which;
  VectorXd scale;  // D^(-1/2)
  Problem problem;
  double unit;  // the mean over its features of Σ φ²
};

}  // namespace

TdFit solve_td(const std::vector<TdMoments>& folds, const RidgeOptions& options, Index unpenalised,
               Index members, Index member_features) {
  options.validate();
  require(!folds.empty(), "LSTD: there are no moments to solve");
  require(!options.choose || folds.size() >= 2,
          "LSTD: choosing the ridge needs at least 2 folds, there is {}", folds.size());
  require(members >= 1 && (members == 1 || members * member_features <= folds[0].features()),
          "LSTD: {} members of {} features do not fit into {}", members, member_features,
          folds[0].features());
  TdMoments whole = folds.front();
  for (std::size_t i = 1; i < folds.size(); ++i) whole.merge(folds[i]);
  require(whole.samples() >= 1, "LSTD: no samples to fit");
  const Index features = whole.features();

  TdFit fit;
  fit.samples = whole.samples();
  fit.features = features;
  fit.rank = features;
  fit.weights.setZero(features);
  const Index shared = members == 1 ? 0 : members * member_features;  // first feature all share
  require(unpenalised < features && (unpenalised < 0 || unpenalised >= shared),
          "LSTD: unpenalised = {} must be -1 or one of the features {} to {}", unpenalised, shared,
          features - 1);
  std::vector<Member> parts;
  for (Index member = 0; member < members; ++member) {
    Member& part = parts.emplace_back();
    if (members > 1) {
      for (Index i = 0; i < member_features; ++i)
        part.which.push_back(member * member_features + i);
    }
    for (Index i = shared; i < features; ++i) part.which.push_back(i);
    const auto n = static_cast<Index>(part.which.size());
    part.scale.setOnes(n);
    if (unpenalised >= 0) {
      part.scale[n - (features - unpenalised)] = 1.0 / std::sqrt(kAlmostUnpenalised);
    }
    part.problem = restrict(whole, part.which, part.scale);
    part.unit = whole.gram()(part.which, part.which).trace() / static_cast<double>(n);
  }
  RidgeOptions ridge = options;
  if (options.choose) {
    for (const double value : ridge_path(options)) fit.ridge_path.push_back({value, 0.0});
    for (const Member& part : parts) {
      std::vector<Problem> problems;
      for (const TdMoments& fold : folds)
        problems.push_back(restrict(fold, part.which, part.scale));
      cross_validate(problems, part.problem, part.unit, fit.ridge_path);
    }
    const auto best =
        std::min_element(fit.ridge_path.begin(), fit.ridge_path.end(),
                         [](const auto& a, const auto& b) { return a.error < b.error; });
    ridge = {.ridge = best->ridge, .scale = RidgeScale::relative};
  }

  for (const Member& part : parts) {
    const auto n = static_cast<Index>(part.which.size());
    const double lambda =
        ridge.scale == RidgeScale::relative ? ridge.ridge * part.unit : ridge.ridge;
    const MatrixXd system = part.problem.system + lambda * MatrixXd::Identity(n, n);
    const linalg::LinearSolution solution = linalg::solve(system, part.problem.target);
    VectorXd w = solution.x;
    if (!(solution.reciprocal_condition > std::numeric_limits<double>::epsilon())) {
      const linalg::Svd svd = linalg::svd(system);
      const Index rank = (svd.values.array() > 1e-13 * std::max(svd.values[0], 1e-300)).count();
      w = svd.v.leftCols(rank) * svd.values.head(rank).cwiseInverse().asDiagonal() *
          (svd.u.leftCols(rank).transpose() * part.problem.target);
      fit.singular = true;
      fit.rank = std::min(fit.rank, features - (n - rank));
    }
    w = part.scale.cwiseProduct(w);
    for (Index i = 0; i < n; ++i) {
      fit.weights[part.which[static_cast<std::size_t>(i)]] += w[i] / static_cast<double>(members);
    }
    fit.ridge = lambda;
    fit.relative_ridge = part.unit > 0.0 ? lambda / part.unit : 0.0;
    fit.condition_number =
        std::max(fit.condition_number, solution.reciprocal_condition > 0.0
                                           ? 1.0 / solution.reciprocal_condition
                                           : std::numeric_limits<double>::infinity());
  }
  return fit;
}

}  // namespace waggle
