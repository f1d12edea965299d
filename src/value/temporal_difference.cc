#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>

#include <waggle/fit/temporal_difference.h>

#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

TdMoments::TdMoments(Index features, double discount) : discount_(discount) {
  require(features >= 1, "features = {}: must be at least 1", features);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  require_room(2.0 * static_cast<double>(features), static_cast<double>(features),
               fmt::format("LSTD over {} features", features));
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
  const MatrixXd differences = features - discount_ * next;  // finite only where both are
  require(first_non_finite(features).row < 0 && first_non_finite(differences).row < 0 &&
              first_non_finite(rewards).row < 0,
          "transitions: a feature or reward is not finite");
  require(instruments.data() == features.data() || first_non_finite(instruments).row < 0,
          "transitions: an instrument is not finite");
  linalg::add_moments(instruments, differences, system_, features,
                      gram_is_known_ ? nullptr : &gram_);
  target_.noalias() += instruments * rewards;
  samples_ += m;
}

void TdMoments::restart() {
  system_.setZero();
  target_.setZero();
  samples_ = 0;
  gram_is_known_ = true;
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

TdMoments TdMoments::of(double discount, Index samples, MatrixXd system, VectorXd target,
                        MatrixXd gram) {
  const Index n = target.size();
  require(samples >= 0 && system.rows() == n && system.cols() == n && gram.rows() == n &&
              gram.cols() == n,
          "moments of {} samples: {} × {} and {} × {} numbers, must be {} × {}", samples,
          system.rows(), system.cols(), gram.rows(), gram.cols(), n, n);
  TdMoments moments(n, discount);
  moments.samples_ = samples;
  moments.system_ = std::move(system);
  moments.target_ = std::move(target);
  moments.gram_ = std::move(gram);
  return moments;
}

namespace {

constexpr double kAlmostUnpenalised = 1e-6;

/// G and b, scaled so that the penalty is λ I.
struct Problem {
  MatrixXd system;
  VectorXd target;
};

Problem scaled(const TdMoments& moments, const VectorXd& scale) {
  return {scale.asDiagonal() * moments.system() * scale.asDiagonal(),
          scale.cwiseProduct(moments.target())};
}

/// All that is known of one member.
struct Member {
  const std::vector<TdMoments>* folds;
  TdMoments whole;
  VectorXd scale;  // D^(-1/2)
  double unit;     // the mean over its features of Σ φ²
};

Member gather(const std::vector<TdMoments>& folds, const RidgeOptions& options, Index unpenalised) {
  require(!folds.empty(), "LSTD: there are no moments to solve");
  require(!options.choose() || folds.size() >= 2,
          "LSTD: choosing the ridge needs at least 2 folds, there is {}", folds.size());
  TdMoments whole = folds.front();
  for (std::size_t i = 1; i < folds.size(); ++i) whole.merge(folds[i]);
  require(whole.samples() >= 1, "LSTD: no samples to fit");
  const Index n = whole.features();
  require(unpenalised >= -1 && unpenalised < n,
          "LSTD: unpenalised = {}: must be -1 or one of the features 0 to {}", unpenalised, n - 1);
  VectorXd scale = VectorXd::Ones(n);
  if (unpenalised >= 0) scale[unpenalised] = 1.0 / std::sqrt(kAlmostUnpenalised);
  const double unit = whole.gram().trace() / static_cast<double>(n);
  return {&folds, std::move(whole), std::move(scale), unit};
}

/// Adds to each λ of the path its cross-validated projected Bellman error, the sum over folds of
/// (b − G W)ᵀ S⁻¹ (b − G W) on the fold left out.
void cross_validate(const Member& member, std::vector<RidgeCandidate>& path) {
  MatrixXd gram = member.scale.asDiagonal() * member.whole.gram() * member.scale.asDiagonal();
  gram.diagonal().array() += 1e-6 * member.unit;
  const Eigen::LLT<MatrixXd> metric(gram);
  const Problem whole = scaled(member.whole, member.scale);
  const auto folds = static_cast<int>(member.folds->size());
  std::vector<VectorXd> errors(member.folds->size());
  parallel_for(folds, 0, [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    const Problem fold = scaled((*member.folds)[at], member.scale);
    const linalg::ShiftedSolver solver(whole.system - fold.system, whole.target - fold.target);
    errors[at].resize(static_cast<Index>(path.size()));
    for (std::size_t k = 0; k < path.size(); ++k) {
      const VectorXd w = solver.solve(path[k].ridge * member.unit);
      errors[at][static_cast<Index>(k)] =
          w.size() == 0 ? std::numeric_limits<double>::max()
                        : metric.matrixL().solve(fold.target - fold.system * w).squaredNorm();
    }
  });
  for (const VectorXd& of_fold : errors) {
    for (std::size_t k = 0; k < path.size(); ++k) {
      path[k].error = std::min(path[k].error + of_fold[static_cast<Index>(k)],
                               std::numeric_limits<double>::max());
    }
  }
}

/// The λ of the path that does best for all members together; the path goes to `fit`.
double choose_ridge(const std::vector<Member>& members, const RidgeOptions& options,
                    FitDiagnostics& fit) {
  for (const double value : ridge_path(options)) fit.ridge_path.push_back({value, 0.0});
  for (const Member& member : members) cross_validate(member, fit.ridge_path);
  const auto best =
      std::min_element(fit.ridge_path.begin(), fit.ridge_path.end(),
                       [](const auto& a, const auto& b) { return a.error < b.error; });
  return best->ridge;
}

/// Solves each of the members, whose last `shared` features are the same in all, and averages.
TdFit solve_members(const std::vector<Member>& members, const RidgeOptions& options, Index shared) {
  const Index n = members.front().whole.features();
  const Index own = n - shared;
  const auto count = static_cast<Index>(members.size());
  TdFit fit;
  fit.samples = members.front().whole.samples();
  fit.features = count * own + shared;
  Index missing = 0;  // directions in which a member's system is singular
  fit.weights.setZero(fit.features);
  RidgeOptions ridge = options;
  if (options.choose()) {
    ridge = {.ridge = choose_ridge(members, options, fit), .scale = RidgeScale::relative};
  }
  for (Index i = 0; i < count; ++i) {
    const Member& member = members[static_cast<std::size_t>(i)];
    const double lambda = *ridge.ridge * (ridge.scale == RidgeScale::relative ? member.unit : 1.0);
    Problem problem = scaled(member.whole, member.scale);
    problem.system.diagonal().array() += lambda;
    const linalg::LinearSolution solution = linalg::solve(problem.system, problem.target);
    VectorXd w = solution.x;
    if (!(solution.reciprocal_condition > std::numeric_limits<double>::epsilon())) {
      const linalg::Svd svd = linalg::svd(problem.system);
      const Index rank = (svd.values.array() > 1e-13 * svd.values[0]).count();
      w = svd.v.leftCols(rank) * svd.values.head(rank).cwiseInverse().asDiagonal() *
          (svd.u.leftCols(rank).transpose() * problem.target);
      fit.singular = true;
      missing += n - rank;
    }
    w.array() *= member.scale.array() / static_cast<double>(count);
    fit.weights.segment(i * own, own) = w.head(own);
    fit.weights.tail(shared) += w.tail(shared);
    fit.ridge = lambda;
    fit.relative_ridge = member.unit > 0.0 ? lambda / member.unit : 0.0;
    // Infinite where the reciprocal is 0 or not a number.
    fit.condition_number =
        std::max(fit.condition_number, 1.0 / std::max(0.0, solution.reciprocal_condition));
  }
  fit.rank = std::min(fit.samples, std::max<Index>(fit.features - missing, 0));
  return fit;
}

}  // namespace

TdFit solve_td(const std::vector<TdMoments>& folds, const RidgeOptions& options,
               Index unpenalised) {
  return solve_td_ensemble({folds}, options, 0, unpenalised);
}

TdFit solve_td_ensemble(const std::vector<std::vector<TdMoments>>& members,
                        const RidgeOptions& options, Index shared, Index unpenalised) {
  options.validate();
  require(!members.empty(), "LSTD: there are no members to solve");
  std::vector<Member> gathered;
  for (const std::vector<TdMoments>& folds : members) {
    const Member& member = gathered.emplace_back(gather(folds, options, unpenalised));
    const TdMoments& first = gathered.front().whole;
    require(
        member.whole.features() == first.features() && member.whole.samples() == first.samples(),
        "LSTD: a member of {} features and {} samples beside one of {} and {}: must be alike",
        member.whole.features(), member.whole.samples(), first.features(), first.samples());
  }
  const Index n = gathered.front().whole.features();
  require(shared >= 0 && shared <= n, "LSTD: shared = {}: must be in [0, {}]", shared, n);
  return solve_members(gathered, options, shared);
}

}  // namespace waggle
