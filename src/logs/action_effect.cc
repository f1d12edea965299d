#include "logs/action_effect.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <Eigen/Cholesky>

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kMostObservations = 8;
constexpr Index kMostActions = 4;
constexpr std::size_t kMostChoices = 5;
constexpr Index kRowsPerFeature = 10;
constexpr double kExplained = 1e-9;  // of the variance: what is left is rounding
constexpr double kRidge = 1e-9;      // of a feature's mean square, for those that depend on others

/// What is known of the action of a row: its numbers and their squares, or which of few it is.
class ActionFeatures {
 public:
  explicit ActionFeatures(const std::vector<SurveyedRow>& rows) {
    std::set<double> values;
    if (rows[0].actions.size() == 1) {
      for (const SurveyedRow& row : rows) {
        if (row.acts && values.size() <= kMostChoices) values.insert(row.actions[0]);
      }
    }
    if (values.size() <= kMostChoices) choices_.assign(values.begin(), values.end());
    numbers_ = std::min(rows[0].actions.size(), kMostActions);
  }

  /// One less than there are choices, since one of them it is.
  Index size() const {
    return choices_.empty() ? 2 * numbers_ : std::max<Index>(std::ssize(choices_) - 1, 0);
  }
  void write(const SurveyedRow& row, Eigen::Ref<VectorXd> to) const {
    for (Index i = 0; i < to.size(); ++i) {
      if (!choices_.empty()) {
        to[i] = row.actions[0] == choices_[static_cast<std::size_t>(i)] ? 1.0 : 0.0;
      } else {
        const double number = row.actions[i / 2];
        to[i] = i % 2 == 0 ? number : number * number;
      }
    }
  }

 private:
  std::vector<double> choices_;
  Index numbers_ = 0;
};

/// The observations that are numbers in all rows.
std::vector<Index> usable_observations(const std::vector<SurveyedRow>& rows) {
  std::vector<Index> usable;
  for (Index i = 0; i < rows[0].observations.size(); ++i) {
    const bool sound = std::all_of(rows.begin(), rows.end(), [&](const SurveyedRow& row) {
      return std::isfinite(row.observations[i]);
    });
    if (sound && std::ssize(usable) < kMostObservations) usable.push_back(i);
  }
  return usable;
}

/// Every transition of an episode as a row of features, each of mean 0 and variance 1: those of the
/// action of the same row, those of the action before, all others; the reward is the last column.
MatrixXd feature_rows(const std::vector<SurveyedRow>& rows, const ActionFeatures& actions,
                      const std::vector<Index>& seen) {
  const Index action = actions.size(), o = std::ssize(seen);
  const Index width = 2 * action * (1 + o) + 4 * o + 2;
  MatrixXd features(std::ssize(rows), width);
  Index count = 0;
  VectorXd done(action);
  for (std::size_t k = 1; k < rows.size(); ++k) {
    if (rows[k].begins || !rows[k].acts) continue;
    Index at = 0;
    const auto put = [&](double value) { features(count, at++) = value; };
    for (const SurveyedRow* row : {&rows[k], &rows[k - 1]}) {
      actions.write(*row, done);
      for (const double number : done) {
        put(number);
        for (const Index i : seen) put(number * row->observations[i]);
      }
    }
    for (const SurveyedRow* row : {&rows[k], &rows[k - 1]}) {
      for (const Index i : seen) {
        put(row->observations[i]);
        put(row->observations[i] * row->observations[i]);
      }
    }
    put(rows[k - 1].reward);
    put(rows[k].reward);
    ++count;
  }
  features.conservativeResize(count, Eigen::NoChange);
  for (Index i = 0; i < width && count > 0; ++i) {
    auto column = features.col(i);
    column.array() -= column.mean();
    const double deviation = std::sqrt(column.squaredNorm() / static_cast<double>(count));
    column /= std::isfinite(deviation) && deviation > 0.0 ? deviation : 1.0;
  }
  return features;
}

/// The share of the target's variance that least squares on some features leaves, per degree of
/// freedom. `gram` has the mean products of all features and, as the last, of the target.
double unexplained(const MatrixXd& gram, const std::vector<Index>& features, Index rows) {
  const MatrixXd products = gram(features, features);
  const VectorXd target = gram(features, Eigen::indexing::last);
  MatrixXd ridged = products;
  ridged.diagonal().array() += kRidge;
  const VectorXd weights = ridged.ldlt().solve(target);
  const double left = 1.0 - 2.0 * weights.dot(target) + weights.dot(products * weights);
  return left / static_cast<double>(rows - std::ssize(features) - 1);
}

}  // namespace

ActionEffect measure_action_effect(const std::vector<SurveyedRow>& rows) {
  if (rows.size() < 2) return {};
  const ActionFeatures actions(rows);
  const std::vector<Index> seen = usable_observations(rows);
  const MatrixXd features = feature_rows(rows, actions, seen);
  const Index all = features.cols() - 1, count = features.rows();
  const bool varies = count > 0 && features.col(all).squaredNorm() > 0.0 && features.allFinite();
  if (!varies || actions.size() == 0 || count < kRowsPerFeature * all) return {};
  const MatrixXd gram = features.transpose() * features / static_cast<double>(count);
  const Index action = actions.size() * (1 + std::ssize(seen));
  const auto without = [&](Index first, Index number) {
    std::vector<Index> used;
    for (Index i = 0; i < all; ++i) {
      if (i < first || i >= first + number) used.push_back(i);
    }
    return unexplained(gram, used, count);
  };
  const double left = without(0, 0);
  const auto share = [&](Index first) {
    const double otherwise = without(first, action);
    const bool rounding = otherwise * static_cast<double>(count) < kExplained;
    return rounding ? 0.0 : std::clamp(1.0 - left / otherwise, 0.0, 1.0);
  };
  return {.same_row = share(0), .row_before = share(action)};
}

}  // namespace waggle
