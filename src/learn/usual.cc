#include "learn/usual.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/random.h>

#include "control/transitions.h"
#include "core/magnitude.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kStretch = 128;            // rows looked at one after the other
constexpr Index kMostNumbers = 4'000'000;  // of features that are kept
constexpr Index kMostRows = 8192;
constexpr double kUsualShare = 0.99;  // of the rows have a novelty below 1
constexpr double kLeastSpread =
    1e-9;  // of a feature, in units of the largest: below, it is rounding

/// How often the numbers of a percept came again, one row after the other.
class Runs {
 public:
  explicit Runs(Index channels)
      : longest_(VectorXd::Zero(channels)), now_(longest_), last_(longest_) {}

  void add(const Transition& transition) {
    for (Index i = 0; i < last_.size(); ++i) {
      const double value =
          i == 0 ? transition.reward() : transition.chunk.observations()(i - 1, transition.at);
      const bool again = transition.in_episode > 0 && value == last_[i];
      now_[i] = again ? now_[i] + 1.0 : 1.0;
      longest_[i] = std::max(longest_[i], now_[i]);
      last_[i] = value;
    }
  }
  const VectorXd& longest() const { return longest_; }

 private:
  VectorXd longest_, now_, last_;
};

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

}  // namespace

std::optional<Usual> measure_usual(const Model& model, TrajectorySource& experience) {
  const double discount = model.options.value.discount;
  const Index washout = std::max<Index>(1, model.options.value.washout_rows());
  const Index size = model.fitted_size();
  const Index most = std::clamp(kMostNumbers / size, kStretch, kMostRows);
  const Index stretches = most / kStretch;
  const Index stride = (model.provenance.rows / kStretch + stretches) / stretches;
  ActionSearch search(model.controller);
  Runs runs(1 + model.environment.observation_size());
  RootMeanSquare errors;
  MatrixXd features(size, std::min(most, model.provenance.rows));
  Index kept = 0;
  VectorXd state = VectorXd::Zero(model.controller.reservoir->units());
  for_each_transition(
      search, experience, Random(0), Purpose::policy, state, [&](Transition& transition) {
        runs.add(transition);
        const bool looked_at = transition.row / kStretch % stride == 0 && kept < features.cols();
        if (!looked_at || transition.in_episode < washout) return;
        const double value = search.value_of(transition.state);
        const double target = transition.terminated() ? 0.0 : discount * transition.greedy().value;
        errors.add(transition.reward() + target - value);
        model.write_fitted(transition.state, features.col(kept++));
      });
  if (kept < 2) return std::nullopt;
  Usual usual;
  usual.bellman_error = errors.value();
  usual.longest_runs = runs.longest();
  measure_features(features.leftCols(kept), usual);
  const bool known = std::isfinite(usual.bellman_error) && usual.mean.allFinite() &&
                     usual.weights.allFinite() && usual.weights.maxCoeff() > 0.0;
  if (!known) return std::nullopt;
  return usual;
}

}  // namespace waggle
