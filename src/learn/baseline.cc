#include "learn/baseline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/tree_sum.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kStretch = 128;            // rows looked at one after the other
constexpr Index kMostNumbers = 4'000'000;  // of features that are kept
constexpr Index kMostRows = 8192;
constexpr double kFamiliarShare = 0.99;  // of the rows have a novelty below 1
constexpr double kLeastSpread =
    1e-9;  // of a feature, in units of the largest: below, it is rounding

Index most_rows(Index features) { return std::clamp(kMostNumbers / features, kStretch, kMostRows); }

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
void measure_features(const Eigen::Ref<const MatrixXd>& features, Baseline& baseline) {
  baseline.mean = features.rowwise().mean();
  VectorXd spread(features.rows());
  for (Index i = 0; i < features.rows(); ++i) {
    const double squares = (features.row(i).array() - baseline.mean[i]).square().sum();
    spread[i] = std::sqrt(squares / static_cast<double>(features.cols()));
  }
  const double least = kLeastSpread * spread.maxCoeff();
  baseline.weights = (spread.array() > least).select(spread.cwiseInverse(), 0.0);
  VectorXd novelty(features.cols());
  for (Index k = 0; k < features.cols(); ++k) novelty[k] = baseline.novelty(features.col(k));
  baseline.weights /= quantile(std::move(novelty), kFamiliarShare);
}

}  // namespace

/// How often the numbers of a percept came again, one row after the other.
class BaselineMeasure::Runs {
 public:
  explicit Runs(Index channels) : numbers_(MatrixXd::Zero(kNumbers, channels)) {}

  void add(const StateBlock& block) {
    for (Index row = 0; row < block.steps(); ++row) {
      const bool inside = block.first_in_episode + row > 0;
      for (Index i = 0; i < numbers_.cols(); ++i) {
        const double value =
            i == 0 ? block.reward(row) : block.chunk.observations()(i - 1, block.row + row);
        auto n = numbers_.col(i);
        if (n[kRows] == 0.0) {
          n[kFirst] = value;
          n[kInside] = inside ? 1.0 : 0.0;
        }
        const bool again = n[kRows] > 0.0 && inside && value == n[kLast];
        n[kNow] = again ? n[kNow] + 1.0 : 1.0;
        if (n[kNow] == ++n[kRows]) n[kBegun] = n[kNow];
        n[kLongest] = std::max(n[kLongest], n[kNow]);
        n[kLast] = value;
      }
    }
  }
  /// A run may go on from one process's rows to the next one's.
  VectorXd longest(Exchange* exchange) const {
    const Index channels = numbers_.cols();
    const MatrixXd all = joined(exchange, numbers_);
    VectorXd longest = VectorXd::Zero(channels), now = longest, last = longest;
    for (Index column = 0; column < all.cols(); ++column) {
      const Index i = column % channels;
      const auto n = all.col(column);
      const bool again = column >= channels && n[kInside] > 0.0 && n[kFirst] == last[i];
      const double begun = n[kBegun] + (again ? now[i] : 0.0);
      longest[i] = std::max({longest[i], n[kLongest], begun});
      now[i] = n[kBegun] == n[kRows] ? begun : n[kNow];
      last[i] = n[kLast];
    }
    return longest;
  }

 private:
  // Of each channel: its first value, and whether rows of the same episode are before it; how long
  // that is repeated at first; the longest run, and the last one, of which value; and the rows.
  enum Number { kFirst, kInside, kBegun, kLongest, kNow, kLast, kRows, kNumbers };
  MatrixXd numbers_;
};

BaselineMeasure::BaselineMeasure(const Model& model)
    : model_(model),
      runs_(std::make_unique<Runs>(1 + model.environment.observation_size())),
      greedy_(model.controller),
      all_(model.provenance.rows),
      limit_(std::min(most_rows(model.fitted_size()), all_)) {
  all_features_.resize(model.controller.reservoir->features(), 1);
  looked_at_.resize(1 + model.fitted_size(), 0);
}

BaselineMeasure::~BaselineMeasure() = default;

void BaselineMeasure::add(const StateBlock& block) {
  runs_->add(block);
  const Index washout = std::max<Index>(1, model_.options.value.washout_rows());
  const Index stride = stride_of(all_, model_.fitted_size());
  Index room = limit_ - kept_;
  const PreparedRows& rows = greedy_.find(block, [&](Index row, Index in_episode) {
    if (row / kStretch % stride != 0 || in_episode < washout || room == 0) return false;
    --room;
    return true;
  });
  if (kept_ + rows.count > looked_at_.cols()) {
    const Index room_for = std::min(limit_, 2 * (kept_ + rows.count));
    looked_at_.conservativeResize(Eigen::NoChange, room_for);
  }
  for (Index i = 0; i < rows.count; ++i) {
    model_.controller.reservoir->map_features(rows.states.col(i), all_features_);
    auto here = looked_at_.col(kept_++);
    here[0] =
        rows.rewards[i] + model_.options.value.discount * greedy_.values()[i] - greedy_.before()[i];
    here.tail(here.size() - 1) = all_features_.bottomRows(here.size() - 1);
  }
}

std::optional<Baseline> BaselineMeasure::result(Exchange* exchange) {
  looked_at_.conservativeResize(Eigen::NoChange, kept_);
  const MatrixXd all = joined(exchange, std::move(looked_at_));
  const VectorXd longest = runs_->longest(exchange);
  if (all.cols() < 2) return std::nullopt;
  const VectorXd errors = all.row(0).transpose();
  Baseline baseline;
  baseline.bellman_error = std::sqrt(errors.squaredNorm() / static_cast<double>(errors.size()));
  baseline.longest_runs = longest;
  measure_features(all.bottomRows(all.rows() - 1), baseline);
  const bool known = std::isfinite(baseline.bellman_error) && baseline.mean.allFinite() &&
                     baseline.weights.allFinite() && baseline.weights.maxCoeff() > 0.0;
  if (!known) return std::nullopt;
  return baseline;
}

}  // namespace waggle
