#include "learn/half_judge.h"

#include <algorithm>
#include <cmath>

#include <waggle/states.h>

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
      judging_(features) {
  require_fit(layout_, rows);
  const Index all = rows.steps();
  require_memory(8.0 * static_cast<double>(all) *
                     static_cast<double>(reservoir_->units() + 4 * judging_.size()),
                 "judging what settings are worth");
  std::vector<Index> starts;
  states_.resize(reservoir_->units(), all);
  VectorXd state = VectorXd::Zero(reservoir_->units());
  for_each_block(*reservoir_, layout_, rows, state, [&](const StateBlock& block) {
    for (Index i = 0; i < block.steps(); ++i) {
      const Index in_episode = block.first_in_episode + i;
      if (in_episode < washout) continue;
      if (in_episode == washout) starts.push_back(judged());
      states_.col(judged()) = block.states.col(i);
      judged_.push_back(block.first + i);
    }
    episodic_ = episodic_ || block.terminated(block.steps() - 1);
  });
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
  features.resize(judging_.size(), states.cols());
  judging_.pick(all, features);
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
  if (judging_.constant() >= 0) penalty[judging_.constant()] *= kOfConstant;
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
