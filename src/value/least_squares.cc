#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/least_squares.h>

#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kRows = 256;  // rows gathered before the factor is updated

}  // namespace

void RidgeOptions::validate() const {
  require(ridge >= 0.0 && std::isfinite(ridge), "ridge = {}: must be finite and not negative",
          ridge);
  require(smallest > 0.0 && smallest <= largest && std::isfinite(largest),
          "smallest_ridge = {}, largest_ridge = {}: the ridge's path must be positive, finite and "
          "in order",
          smallest, largest);
}

struct LeastSquares::State {
  State(Index features_, Index targets_)
      : features(features_),
        targets(targets_),
        factor(MatrixXd::Zero(features_ + targets_, features_ + targets_)),
        rows(kRows, features_ + targets_),
        update(features_ + targets_) {}

  void flush() {
    if (pending == 0) return;
    update(factor, rows.topRows(pending));
    pending = 0;
  }

  Index features;
  Index targets;
  Index samples = 0;
  MatrixXd factor;  // R: RᵀR = [Φ T]ᵀ[Φ T] over the rows factored so far
  MatrixXd rows;    // the first `pending` rows are not yet in the factor
  Index pending = 0;
  linalg::TriangularUpdate update;
};

LeastSquares::LeastSquares(Index features, Index targets) {
  require(features >= 1, "features = {}: must be at least 1", features);
  require(targets >= 1, "targets = {}: must be at least 1", targets);
  const auto size = static_cast<double>(features) + static_cast<double>(targets);
  require_memory(3.0 * size * size, fmt::format("the least squares of {} features", features));
  state_ = std::make_unique<State>(features, targets);
}

LeastSquares::~LeastSquares() = default;
LeastSquares::LeastSquares(const LeastSquares& other)
    : state_(std::make_unique<State>(*other.state_)) {}
LeastSquares& LeastSquares::operator=(const LeastSquares& other) {
  state_ = std::make_unique<State>(*other.state_);
  return *this;
}
LeastSquares::LeastSquares(LeastSquares&&) noexcept = default;
LeastSquares& LeastSquares::operator=(LeastSquares&&) noexcept = default;

void LeastSquares::add(const Ref<const MatrixXd>& features, const Ref<const MatrixXd>& targets) {
  State& s = *state_;
  require(features.rows() == s.features && targets.rows() == s.targets,
          "samples have {} features and {} targets, must be {} and {}", features.rows(),
          targets.rows(), s.features, s.targets);
  require(features.cols() == targets.cols(), "{} columns of features and {} of targets: must match",
          features.cols(), targets.cols());
  const Entry bad_feature = first_non_finite(features);
  require(bad_feature.row < 0, "feature {} of sample {} is not finite", bad_feature.row,
          bad_feature.column);
  const Entry bad_target = first_non_finite(targets);
  require(bad_target.row < 0, "target {} of sample {} is not finite", bad_target.row,
          bad_target.column);
  for (Index first = 0; first < features.cols();) {
    const Index count = std::min(kRows - s.pending, features.cols() - first);
    auto block = s.rows.middleRows(s.pending, count);
    block.leftCols(s.features) = features.middleCols(first, count).transpose();
    block.rightCols(s.targets) = targets.middleCols(first, count).transpose();
    s.pending += count;
    first += count;
    if (s.pending == kRows) s.flush();
  }
  s.samples += features.cols();
}

void LeastSquares::merge(const LeastSquares& other) {
  State& s = *state_;
  require(other.state_->features == s.features && other.state_->targets == s.targets,
          "cannot merge {} features and {} targets into {} and {}", other.state_->features,
          other.state_->targets, s.features, s.targets);
  State theirs = *other.state_;
  theirs.flush();
  s.flush();
  s.update(s.factor, theirs.factor);
  s.samples += theirs.samples;
}

Index LeastSquares::samples() const { return state_->samples; }

namespace {

/// Back substitution in the triangular factor of [R q; √λ I 0].
MatrixXd solve_triangular(const MatrixXd& r, const MatrixXd& q, double ridge) {
  const Index n = r.rows();
  MatrixXd factor(n + q.cols(), n + q.cols());
  factor.setZero();
  factor.topLeftCorner(n, n) = r;
  factor.topRightCorner(n, q.cols()) = q;
  MatrixXd rows = MatrixXd::Zero(n, n + q.cols());
  rows.leftCols(n).diagonal().setConstant(std::sqrt(ridge));
  linalg::TriangularUpdate update(factor.cols());
  update(factor, rows);
  return factor.topLeftCorner(n, n).triangularView<Eigen::Upper>().solve(
      factor.topRightCorner(n, q.cols()));
}

}  // namespace

std::vector<double> ridge_path(const RidgeOptions& options) {
  const double low = std::log10(options.smallest);
  const double high = std::log10(options.largest);
  std::vector<double> path(20);
  for (std::size_t i = 0; i < path.size(); ++i) {
    path[i] = std::pow(10.0, low + (high - low) * static_cast<double>(i) / 19.0);
  }
  return path;
}

RidgeFit LeastSquares::solve(const RidgeOptions& options) const {
  options.validate();
  require(samples() >= 1, "least squares: no samples to fit");
  State s = *state_;
  s.flush();
  const Index n = s.features;
  const auto samples = static_cast<double>(s.samples);
  const MatrixXd r = s.factor.topLeftCorner(n, n).triangularView<Eigen::Upper>();
  const MatrixXd q = s.factor.topRightCorner(n, s.targets);
  const MatrixXd rest = s.factor.bottomRightCorner(s.targets, s.targets)
                            .triangularView<Eigen::Upper>();  // what no W can explain

  const bool by_svd = options.solver == Solver::svd || options.choose;
  linalg::Svd svd;
  if (by_svd) {
    svd = linalg::svd(r);
  } else {
    svd.values = linalg::singular_values(r);
  }
  const VectorXd& sigma = svd.values;
  const VectorXd squared = sigma.cwiseAbs2();
  const double unit = squared.sum() / static_cast<double>(n);  // mean over features of Σ φ²

  RidgeFit fit;
  fit.options = options;
  fit.samples = s.samples;
  fit.features = n;
  const double rounding = static_cast<double>(std::max(n, s.samples)) *
                          std::numeric_limits<double>::epsilon() * sigma[0];
  fit.rank = (sigma.array() > rounding).count();
  fit.condition_number =
      sigma[n - 1] > 0.0 ? sigma[0] / sigma[n - 1] : std::numeric_limits<double>::infinity();
  fit.ridge = options.scale == RidgeScale::relative ? options.ridge * unit : options.ridge;
  if (options.choose) {
    // GCV: (residual²/N) / (1 − df/N)², from the coordinates of q in the singular basis alone.
    const VectorXd energy = (svd.u.transpose() * q).rowwise().squaredNorm();
    double best = std::numeric_limits<double>::infinity();
    for (const double ridge : ridge_path(options)) {
      const auto shrink = squared.array() / (squared.array() + ridge * unit);
      const double misfit = (energy.array() * (1.0 - shrink).square()).sum() + rest.squaredNorm();
      const double free = std::max(1e-3, 1.0 - shrink.sum() / samples);
      const double error = misfit / samples / (free * free);
      fit.ridge_path.push_back({ridge, error});
      if (error < best) {
        best = error;
        fit.ridge = ridge * unit;
      }
    }
  }

  fit.relative_ridge = unit > 0.0 ? fit.ridge / unit : 0.0;

  VectorXd filter(n);
  for (Index i = 0; i < n; ++i) {
    const double denominator = squared[i] + fit.ridge;
    const bool kept = (fit.ridge > 0.0 || i < fit.rank) && denominator > 0.0;
    filter[i] = kept ? sigma[i] / denominator : 0.0;
  }
  fit.degrees_of_freedom = filter.dot(sigma);
  if (!by_svd && (fit.ridge > 0.0 || fit.rank == n)) {
    fit.weights = solve_triangular(r, q, fit.ridge);
  } else {
    // Also for a singular factor at λ = 0, where back substitution would divide by rounding noise.
    if (!by_svd) svd = linalg::svd(r);
    fit.weights = svd.v * (filter.asDiagonal() * (svd.u.transpose() * q));
  }
  const VectorXd misfit = (r * fit.weights - q).colwise().squaredNorm().transpose() +
                          rest.colwise().squaredNorm().transpose();
  fit.target_residuals = (misfit / samples).cwiseSqrt();
  fit.residual = std::sqrt(misfit.sum() / samples);
  return fit;
}

}  // namespace waggle
