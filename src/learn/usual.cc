#include "learn/usual.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <waggle/random.h>

#include "core/magnitude.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kStretch = 128;                 // rows looked at one after the other
constexpr Index kMostUsualNumbers = 4'000'000;  // of features that are kept
constexpr Index kMostUsualRows = 8192;
constexpr Index kMostForecastRows = 4096;                 // that forecasts are learnt from …
constexpr Index kLeastForecastRows = 50;                  // … and half of the fewest
constexpr double kForecastRidges[] = {1e-4, 1e-3, 1e-2};  // of the mean squared feature
constexpr double kUsualShare = 0.99;                      // of the rows have a novelty below 1
constexpr double kLeastSpread =
    1e-9;  // of a feature, in units of the largest: below, it is rounding

Index most_rows(Index features) {
  return std::clamp(kMostUsualNumbers / features, kStretch, kMostUsualRows);
}

/// One stretch in so many is looked at, of an experience of so many rows.
Index stride_of(Index rows, Index features) {
  const Index stretches = most_rows(features) / kStretch;
  return (rows / kStretch + stretches) / stretches;
}

/// The value that a share of them stays below.
double quantile(VectorXd values, double share) {
  const Index at =
      std::min(values.size() - 1, static_cast<Index>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

/// Mean and weights from features, a row of the experience in each column.
void measure_features(const Eigen::Ref<const MatrixXd>& features, Usual& usual) {
  usual.mean = features.rowwise().mean();
  VectorXd spread(features.rows());
  for (Index i = 0; i < features.rows(); ++i) {
    RootMeanSquare deviation;
    for (Index k = 0; k < features.cols(); ++k) deviation.add(features(i, k) - usual.mean[i]);
    spread[i] = deviation.value();
  }
  const double least = kLeastSpread * spread.maxCoeff();
  usual.weights = (spread.array() > least).select(spread.cwiseInverse(), 0.0);
  VectorXd novelty(features.cols());
  for (Index k = 0; k < features.cols(); ++k) novelty[k] = usual.novelty(features.col(k));
  usual.weights /= quantile(std::move(novelty), kUsualShare);
}

/// What features, less their mean, foretell of what was seen with them. A ridge is chosen by what
/// is learnt from the first half of the rows and foretells of the second.
void fit_forecast(const Eigen::Ref<const MatrixXd>& features,
                  const Eigen::Ref<const MatrixXd>& seen, Usual& usual) {
  const Index n = features.rows(), rows = features.cols(), half = rows / 2;
  if (half < kLeastForecastRows) return;
  const VectorXd mean = seen.rowwise().mean();
  // In units of each number's own size, whose squares neither vanish nor overflow.
  MatrixXd off = seen.colwise() - mean;
  const VectorXd size = off.cwiseAbs().rowwise().maxCoeff().unaryExpr(&power_of_two);
  off.array().colwise() /= size.array();
  VectorXd variance = off.rowwise().squaredNorm() / static_cast<double>(rows);
  MatrixXd gram = MatrixXd::Zero(n, n), moments = MatrixXd::Zero(n, seen.rows());
  const auto add = [&](Index first, Index count) {
    linalg::add_square(features.middleCols(first, count), gram);
    linalg::add_outer_product(features.middleCols(first, count), off.middleCols(first, count),
                              moments);
  };
  const auto solve = [&](double ridge) {
    MatrixXd system = gram;
    system.diagonal().array() += ridge * gram.trace() / static_cast<double>(n);
    return linalg::solve_positive(std::move(system), moments);
  };
  const auto errors = [&](const MatrixXd& weights, Index first, Index count) -> VectorXd {
    const MatrixXd left =
        off.middleCols(first, count) - weights.transpose() * features.middleCols(first, count);
    return left.rowwise().squaredNorm() / static_cast<double>(count);
  };
  const VectorXd units =
      (variance.array() > 0.0).select(variance.cwiseInverse(), VectorXd::Zero(variance.size()));
  add(0, half);
  if (!gram.allFinite() || !moments.allFinite() || !(gram.trace() > 0.0)) return;
  double best = 0.0, least = std::numeric_limits<double>::infinity();
  for (const double ridge : kForecastRidges) {
    const double error = units.dot(errors(solve(ridge), half, rows - half));
    if (!(error < least)) continue;
    least = error;
    best = ridge;
  }
  add(half, rows - half);
  if (!(best > 0.0) || !gram.allFinite()) return;
  MatrixXd forecast = solve(best);
  VectorXd error = errors(forecast, 0, rows).cwiseSqrt().cwiseProduct(size);
  forecast *= size.asDiagonal();
  if (!forecast.allFinite() || !error.allFinite()) return;
  usual.forecast = std::move(forecast);
  usual.forecast_mean = mean;
  usual.forecast_error = std::move(error);
}

}  // namespace

/// How often the numbers of a percept came again, one row after the other.
class UsualMeasure::Runs {
 public:
  explicit Runs(Index channels)
      : longest_(VectorXd::Zero(channels)), now_(longest_), last_(longest_) {}

  void add(const StateBlock& block) {
    for (Index row = 0; row < block.steps(); ++row) {
      for (Index i = 0; i < last_.size(); ++i) {
        const double value =
            i == 0 ? block.reward(row) : block.chunk.observations()(i - 1, block.row + row);
        const bool again = block.first_in_episode + row > 0 && value == last_[i];
        now_[i] = again ? now_[i] + 1.0 : 1.0;
        longest_[i] = std::max(longest_[i], now_[i]);
        last_[i] = value;
      }
    }
  }
  const VectorXd& longest() const { return longest_; }

 private:
  VectorXd longest_, now_, last_;
};

UsualMeasure::UsualMeasure(const Model& model)
    : model_(model),
      runs_(std::make_unique<Runs>(1 + model.environment.observation_size())),
      rows_(model.controller),
      greedy_(model.controller),
      all_(model.provenance.rows),
      limit_(std::min(most_rows(model.fitted_size()), all_)) {
  features_.resize(model.fitted_size(), 0);
  seen_.resize(1 + model.environment.observation_size(), 0);
}

UsualMeasure::~UsualMeasure() = default;

void UsualMeasure::add(const StateBlock& block) {
  runs_->add(block);
  const Index washout = std::max<Index>(1, model_.options.value.washout_rows());
  const Index stride = stride_of(all_, model_.fitted_size());
  Index room = limit_ - kept_;
  const PreparedRows& rows =
      rows_.of(block, model_.controller.layout, [&](Index row, Index in_episode) {
        if (row / kStretch % stride != 0 || in_episode < washout || room == 0) {
          return false;
        }
        --room;
        return true;
      });
  if (rows.count == 0) return;
  greedy_.find(rows, model_.controller.weights, Random(0), Purpose::policy);
  if (kept_ + rows.count > features_.cols()) {
    const Index room_for = std::min(limit_, 2 * (kept_ + rows.count));
    features_.conservativeResize(Eigen::NoChange, room_for);
    seen_.conservativeResize(Eigen::NoChange, room_for);
  }
  for (Index i = 0; i < rows.count; ++i) {
    errors_.push_back(rows.rewards[i] + model_.options.value.discount * greedy_.values()[i] -
                      greedy_.before()[i]);
    seen_(0, kept_) = rows.rewards[i];
    seen_.col(kept_).tail(seen_.rows() - 1) = rows.inputs.col(i).tail(seen_.rows() - 1);
    model_.write_fitted(rows.states.col(i), features_.col(kept_++));
  }
}

std::optional<Usual> UsualMeasure::result() const {
  MatrixXd features = features_.leftCols(kept_);
  if (features.cols() < 2) return std::nullopt;
  RootMeanSquare error;
  for (const double each : errors_) error.add(each);
  Usual usual;
  usual.bellman_error = error.value();
  usual.longest_runs = runs_->longest();
  measure_features(features, usual);
  const bool known = std::isfinite(usual.bellman_error) && usual.mean.allFinite() &&
                     usual.weights.allFinite() && usual.weights.maxCoeff() > 0.0;
  if (!known) return std::nullopt;
  const Index most = std::min(features.cols(), kMostForecastRows);
  features.leftCols(most).colwise() -= usual.mean;
  fit_forecast(features.leftCols(most), seen_.leftCols(most), usual);
  return usual;
}

std::optional<Usual> measure_usual(const Model& model, TrajectorySource& experience) {
  const Controller& controller = model.controller;
  UsualMeasure measure(model);
  VectorXd state = VectorXd::Zero(controller.reservoir->units());
  for_each_block(*controller.reservoir, controller.layout, experience, state,
                 [&](const StateBlock& block) { measure.add(block); });
  return measure.result();
}

}  // namespace waggle
