#include "learn/half_judge.h"

#include <algorithm>
#include <cmath>

#include <waggle/predictive.h>

#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// λ in units of the mean squared feature. Half of a small log has hardly more rows than there are
/// features: less of it, and policies that differ in little are told apart by noise.
constexpr double kRidge = 1e-3;
constexpr double kOfConstant = 1e-6;  // the share of λ that a constant feature has

}  // namespace

HalfJudge::HalfJudge(const Controller& features, const Trajectory& rows, double discount,
                     Index washout)
    : reservoir_(features.reservoir),
      layout_(features.layout),
      rows_(rows),
      discount_(discount),
      used_(reservoir_->features()),
      constant_(reservoir_->constant_feature()) {
  require_fit(layout_, rows);
  if (const PredictiveNetwork* network = features.predictive()) {
    // What is expected at once, and the last of the fits that were averaged.
    used_ = network->heads().back().features();
    first_too_ = true;
    constant_ = 1;
  }
  const Index all = rows.steps();
  require_memory(
      8.0 * static_cast<double>(all) * static_cast<double>(reservoir_->units() + 4 * used_),
      "judging what settings are worth");
  std::vector<Index> starts;
  states_.resize(reservoir_->units(), all);
  VectorXd state = VectorXd::Zero(reservoir_->units()), next = state, z(layout_.size());
  Index in_episode = 0;
  for (Index k = 0; k < all; ++k) {
    if (in_episode >= washout) {
      if (in_episode == washout) starts.push_back(judged());
      states_.col(judged()) = state;
      judged_.push_back(k);
    }
    layout_.write(rows.rewards()[k], rows.actions().col(k), rows.observations().col(k), z);
    reservoir_->step(state, z, next);
    state.swap(next);
    ++in_episode;
    if (rows.end(k) == EpisodeEnd::none) continue;
    episodic_ = episodic_ || rows.end(k) == EpisodeEnd::terminated;
    state.setZero();
    in_episode = 0;
  }
  const Index m = judged();
  require(m > 0, "every episode is within the washout of {} rows", washout);
  states_.conservativeResize(Eigen::NoChange, m);
  map(states_, features_);
  rewards_ = rows.rewards()(judged_);
  weights_ = VectorXd::Constant(m, (1.0 - discount) / static_cast<double>(m));
  if (episodic_) {
    weights_.setZero();
    for (const Index start : starts) weights_[start] = 1.0 / static_cast<double>(starts.size());
  }
  logged_ = worth(rows.actions());
}

void HalfJudge::map(const MatrixXd& states, MatrixXd& features) const {
  MatrixXd all(reservoir_->features(), states.cols());
  reservoir_->map_features(states, all);
  features.resize(used_ + (first_too_ ? 1 : 0), states.cols());
  features.bottomRows(used_) = all.bottomRows(used_);
  if (first_too_) features.row(0) = all.row(0);
}

MatrixXd HalfJudge::features_after(const Eigen::Ref<const MatrixXd>& actions) const {
  MatrixXd nexts(states_.rows(), judged());
  VectorXd z(layout_.size());
  for (Index i = 0; i < judged(); ++i) {
    const Index k = judged_[static_cast<std::size_t>(i)];
    // Of a terminated row no action was taken, and it is not looked at.
    layout_.write(rows_.rewards()[k], actions.col(k), rows_.observations().col(k), z);
    reservoir_->step(states_.col(i), z, nexts.col(i));
  }
  MatrixXd features;
  map(nexts, features);
  for (Index i = 0; i < judged(); ++i) {
    if (rows_.end(judged_[static_cast<std::size_t>(i)]) == EpisodeEnd::terminated) {
      features.col(i).setZero();
    }
  }
  return features;
}

HalfWorth HalfJudge::worth(const Eigen::Ref<const MatrixXd>& actions) const {
  require(actions.rows() == layout_.action_size && actions.cols() == rows_.steps(),
          "{} × {} actions, must be {} × {}", actions.rows(), actions.cols(), layout_.action_size,
          rows_.steps());
  return worth_of(features_after(actions));
}

HalfWorth HalfJudge::worth_of(const MatrixXd& followed) const {
  const Index n = features_.rows();
  const Index m = judged();
  MatrixXd system = MatrixXd::Zero(n, n);
  linalg::add_outer_product(features_, features_ - discount_ * followed, system);
  VectorXd penalty =
      VectorXd::Constant(n, kRidge * features_.squaredNorm() / static_cast<double>(n));
  if (constant_ >= 0) penalty[constant_] *= kOfConstant;
  system.diagonal() += penalty;
  const VectorXd wanted = followed * weights_;
  const VectorXd value = linalg::solve(system, features_ * rewards_).x;  // W
  const VectorXd adjoint = linalg::solve(system.transpose(), wanted).x;  // z
  const VectorXd ratios = features_.transpose() * adjoint;               // ω
  const VectorXd after = followed.transpose() * value;
  const VectorXd errors = rewards_ + discount_ * after - features_.transpose() * value;  // δ
  const VectorXd terms =
      VectorXd(weights_.cwiseProduct(after)) + VectorXd(ratios.cwiseProduct(errors));
  HalfWorth result{.value = terms.sum(), .influence = VectorXd::Zero(kGroups)};
  const double total = weights_.sum();
  for (Index i = 0; i < m; ++i) {
    result.influence[i * kGroups / m] += terms[i] - result.value * weights_[i] / total;
  }
  result.stretch = ratios.squaredNorm() * static_cast<double>(m) / std::pow(ratios.sum(), 2);
  return result;
}

}  // namespace waggle
