#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "logs/log_habits.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kMostObservations = 8;
constexpr Index kMostActions = 4;
constexpr Index kRowsPerFeature = 10;
constexpr double kExplained = 1e-9;  // of the variance: what is left is rounding
constexpr double kRidge = 1e-9;      // of a feature's mean square, for those that depend on others

/// Every transition of an episode as a row of features, each of mean 0 and variance 1: those of the
/// actions of the same row, those of the actions before, all others; the reward is the last column.
/// Those of an action are it, its square and its products with what was seen.
MatrixXd feature_rows(const std::vector<SurveyedRow>& rows, Index actions,
                      const std::vector<Index>& seen) {
  std::vector<double> numbers;
  Index count = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    if (rows[k].begins || !rows[k].acts) continue;
    for (const SurveyedRow* row : {&rows[k], &rows[k - 1]}) {
      for (Index a = 0; a < actions; ++a) {
        const double action = row->actions[a];
        for (const double number : {action, action * action}) {
          numbers.push_back(number);
          for (const Index i : seen) numbers.push_back(number * row->observations[i]);
        }
      }
    }
    for (const SurveyedRow* row : {&rows[k], &rows[k - 1]}) {
      for (const Index i : seen) {
        numbers.push_back(row->observations[i]);
        numbers.push_back(row->observations[i] * row->observations[i]);
      }
    }
    numbers.push_back(rows[k - 1].reward);
    numbers.push_back(rows[k].reward);
    ++count;
  }
  if (count == 0) return {};
  MatrixXd features =
      Eigen::Map<const MatrixXd>(numbers.data(), std::ssize(numbers) / count, count).transpose();
  for (auto column : features.colwise()) {
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
  std::vector<Index> seen;  // the observations that are numbers in all rows
  for (Index i = 0; i < rows[0].observations.size() && std::ssize(seen) < kMostObservations; ++i) {
    const auto sound = [&](const SurveyedRow& row) { return std::isfinite(row.observations[i]); };
    if (std::all_of(rows.begin(), rows.end(), sound)) seen.push_back(i);
  }
  const Index actions = std::min(rows[0].actions.size(), kMostActions);
  const MatrixXd features = feature_rows(rows, actions, seen);
  const Index all = features.cols() - 1, count = features.rows();
  if (count < kRowsPerFeature * all || count == 0) return {};
  if (features.col(all).squaredNorm() == 0.0 || !features.allFinite()) return {};
  const MatrixXd gram = features.transpose() * features / static_cast<double>(count);
  const auto without = [&](Index first, Index number) {
    std::vector<Index> used;
    for (Index i = 0; i < all; ++i) {
      if (i < first || i >= first + number) used.push_back(i);
    }
    return unexplained(gram, used, count);
  };
  const double left = without(0, 0);
  const Index group = 2 * actions * (1 + std::ssize(seen));
  const auto share = [&](Index first) {
    const double otherwise = without(first, group);
    const bool rounding = otherwise * static_cast<double>(count) < kExplained;
    return rounding ? 0.0 : std::clamp(1.0 - left / otherwise, 0.0, 1.0);
  };
  return {.same_row = share(0), .row_before = share(group)};
}

}  // namespace waggle
