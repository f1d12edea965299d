#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/fit/least_squares.h>

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

constexpr double kSmallest = 1e-8;  // where a path of λ begins if nobody says

}  // namespace

void RidgeOptions::validate() const {
  const double given = ridge.value_or(0.0);
  require(given >= 0.0 && std::isfinite(given), "ridge = {}: must be finite and not negative",
          given);
  const double first = smallest_or(std::min(kSmallest, largest));
  require(first > 0.0 && first <= largest && std::isfinite(largest),
          "smallest_ridge = {}, largest_ridge = {}: the ridge's path must be positive, finite and "
          "in order",
          first, largest);
}

RidgeEdge FitDiagnostics::ridge_edge() const {
  if (ridge_path.empty()) return RidgeEdge::none;
  const double smallest = ridge_path.front().ridge;
  const double largest = ridge_path.back().ridge;
  if (smallest == largest) return RidgeEdge::none;  // there was nothing to choose
  // λ itself is kept in other units and comes back with another last digit.
  const auto is = [&](double end) { return std::abs(relative_ridge - end) <= 1e-9 * end; };
  return is(smallest) ? RidgeEdge::smallest : is(largest) ? RidgeEdge::largest : RidgeEdge::none;
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
  // The factor and, to solve it, a copy and the parts of its decomposition.
  const auto size = static_cast<double>(features) + static_cast<double>(targets);
  require_room(6.0 * size, size, fmt::format("least squares over {} features", features));
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

std::vector<double> ridge_path(const RidgeOptions& options) {
  const double low = std::log10(options.smallest_or(std::min(kSmallest, options.largest)));
  const double high = std::log10(options.largest);
  std::vector<double> path(20);
  for (std::size_t i = 0; i < path.size(); ++i) {
    path[i] = std::pow(10.0, low + (high - low) * static_cast<double>(i) / 19.0);
  }
  return path;
}

namespace {

/// min_W ‖R W − q‖² + λ‖W‖²: what is left of all the rows.
struct Reduced {
  MatrixXd r;     // n × n
  MatrixXd q;     // n × targets
  MatrixXd rest;  // what no W can explain
  double samples;
  double mean_squared;  // mean over features of Σ φ²: what a relative λ is measured in
};

/// How well the singular values σ of R determine W.
void judge(const VectorXd& sigma, FitDiagnostics& fit) {
  const Index n = sigma.size();
  const double rounding = static_cast<double>(std::max(n, fit.samples)) *
                          std::numeric_limits<double>::epsilon() * sigma[0];
  fit.rank = std::min<Index>((sigma.array() > rounding).count(), fit.samples);
  fit.condition_number =
      sigma[n - 1] > 0.0 ? sigma[0] / sigma[n - 1] : std::numeric_limits<double>::infinity();
}

/// The λ of the path with the least generalised cross-validation error,
/// (residual²/N) / (1 − df/N)², from the coordinates of q in the singular basis alone.
void choose_ridge(const Reduced& problem, const linalg::Svd& svd, const RidgeOptions& options,
                  FitDiagnostics& fit) {
  const VectorXd squared = svd.values.cwiseAbs2();
  const VectorXd energy = (svd.u.transpose() * problem.q).rowwise().squaredNorm();
  double best = std::numeric_limits<double>::infinity();
  for (const double ridge : ridge_path(options)) {
    const auto shrink = squared.array() / (squared.array() + ridge * problem.mean_squared);
    const double misfit =
        (energy.array() * (1.0 - shrink).square()).sum() + problem.rest.squaredNorm();
    const double free = std::max(1e-3, 1.0 - shrink.sum() / problem.samples);
    const double error = misfit / problem.samples / (free * free);
    fit.ridge_path.push_back({ridge, error});
    if (error < best) {
      best = error;
      fit.ridge = ridge * problem.mean_squared;
    }
  }
}

/// s/(s²+λ), but 0 for directions that neither the data nor λ determines.
VectorXd ridge_filter(const VectorXd& sigma, double ridge, Index rank) {
  VectorXd filter(sigma.size());
  for (Index i = 0; i < sigma.size(); ++i) {
    const double denominator = sigma[i] * sigma[i] + ridge;
    const bool kept = (ridge > 0.0 || i < rank) && denominator > 0.0;
    filter[i] = kept ? sigma[i] / denominator : 0.0;
  }
  return filter;
}

/// What the weights leave of the equations.
void measure_residuals(const Reduced& problem, RidgeFit& fit) {
  const VectorXd misfit =
      (problem.r * fit.weights - problem.q).colwise().squaredNorm().transpose() +
      problem.rest.colwise().squaredNorm().transpose();
  fit.target_residuals = (misfit / problem.samples).cwiseSqrt();
  fit.residual = std::sqrt(misfit.sum() / problem.samples);
}

}  // namespace

RidgeFit LeastSquares::solve(const RidgeOptions& options) const {
  options.validate();
  require(samples() >= 1, "least squares: no samples to fit");
  State s = *state_;
  s.flush();
  const Index n = s.features;
  Reduced problem{
      .r = s.factor.topLeftCorner(n, n).triangularView<Eigen::Upper>(),
      .q = s.factor.topRightCorner(n, s.targets),
      .rest = s.factor.bottomRightCorner(s.targets, s.targets).triangularView<Eigen::Upper>(),
      .samples = static_cast<double>(s.samples),
      .mean_squared = 0.0};

  const linalg::Svd svd = linalg::svd(problem.r);
  problem.mean_squared = svd.values.cwiseAbs2().sum() / static_cast<double>(n);

  RidgeFit fit;
  fit.options = options;
  fit.samples = s.samples;
  fit.features = n;
  judge(svd.values, fit);
  if (options.choose()) {
    choose_ridge(problem, svd, options, fit);
  } else {
    fit.ridge =
        *options.ridge * (options.scale == RidgeScale::relative ? problem.mean_squared : 1.0);
  }
  fit.relative_ridge = problem.mean_squared > 0.0 ? fit.ridge / problem.mean_squared : 0.0;

  const VectorXd filter = ridge_filter(svd.values, fit.ridge, fit.rank);
  fit.weights = svd.v * (filter.asDiagonal() * (svd.u.transpose() * problem.q));
  measure_residuals(problem, fit);
  return fit;
}

}  // namespace waggle
