#include "prediction/dynamics_fit.h"

#include <algorithm>
#include <utility>

#include "linalg/dense.h"
#include "prediction/foresight.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kStretch = 256;  // rows that are kept or left out together
constexpr Index kOthers = 4;     // of a transition: reward, whether terminated, row, in_episode

/// dynamics(s) over (1, s) v_i for every i: the regressors of the after-state.
MatrixXd regressors(const PredictiveHead& head, const Ref<const MatrixXd>& s,
                    const Ref<const MatrixXd>& factors) {
  const Index features = head.dynamics.size();
  const Index q = s.rows();
  MatrixXd result(features + factors.rows() * (1 + q), s.cols());
  head.dynamics.write(s, result.topRows(features));
  for (Index i = 0; i < factors.rows(); ++i) {
    auto block = result.middleRows(features + i * (1 + q), 1 + q);
    block.row(0) = factors.row(i);
    block.bottomRows(q) = s.array().rowwise() * factors.row(i).array();
  }
  return result;
}

/// What (1, s) is multiplied with: a choice has a law of its own for each, a quantity shifts one
/// law.
MatrixXd action_factors(const Transitions& transitions, const InputLayout& layout,
                        const InputScaling& scaling) {
  if (layout.choices > 0) return transitions.channels;
  const Index c = layout.action_channels();
  MatrixXd factors(1 + c, transitions.count());
  factors.row(0).setOnes();
  for (Index i = 0; i < c; ++i) {
    const Index channel = layout.action_offset() + i;
    factors.row(1 + i) =
        (transitions.channels.row(i).array() - scaling.mean[channel]) / scaling.spread[channel];
  }
  return factors;
}

void add_ridge(double ridge, MatrixXd& gram) {
  gram.diagonal().array() += ridge * gram.trace() / static_cast<double>(gram.rows()) + 1e-300;
}

}  // namespace

TransitionGatherer::TransitionGatherer(const PredictiveHead& head, Index rows, Index most)
    : head_(head),
      stretches_((rows + kStretch - 1) / kStretch),
      wanted_(std::min(stretches_, std::max<Index>(1, most / kStretch))) {}

bool TransitionGatherer::is_kept(Index row) const {
  const Index stretch = row / kStretch;
  return (stretch + 1) * wanted_ / stretches_ != stretch * wanted_ / stretches_;
}

void TransitionGatherer::add(const RememberedRows& window) {
  const Index q = (head_.second.size() > 0 ? head_.second : head_.first).rows();
  const Index c = window.channels.rows();
  if (columns_.rows() == 0) columns_.resize(2 * q + c + kOthers, 0);
  bool any = false;
  for (Index i = 0; i < window.count && !any; ++i) any = is_kept(window.first + i);
  if (!any) return;
  const MatrixXd s = predictive_state(head_, window.memory.leftCols(window.columns));
  if (count_ + window.count > columns_.cols()) {
    columns_.conservativeResize(Eigen::NoChange, 2 * (count_ + window.count));
  }
  for (Index i = 0; i < window.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (window.following[at] == 0 || !is_kept(window.first + i)) continue;
    const bool terminated = window.ends[at + 1] == EpisodeEnd::terminated;
    columns_.col(count_++) << s.col(i), s.col(i + 1), window.channels.col(i), window.rewards[i + 1],
        terminated ? 1.0 : 0.0, static_cast<double>(window.first + i),
        static_cast<double>(window.in_episode[at]);
  }
}

Transitions TransitionGatherer::take(Exchange* exchange) {
  columns_.conservativeResize(Eigen::NoChange, count_);
  const MatrixXd all = joined(exchange, std::move(columns_));
  const Index q = (head_.second.size() > 0 ? head_.second : head_.first).rows();
  const Index c = all.rows() - 2 * q - kOthers;
  Transitions result;
  result.state = all.topRows(q);
  result.next = all.middleRows(q, q);
  result.channels = all.middleRows(2 * q, c);
  result.reward = all.row(2 * q + c).transpose();
  for (Index i = 0; i < all.cols(); ++i) {
    const auto others = all.col(i).tail(kOthers);
    result.terminated.push_back(others[1] != 0.0);
    result.rows.push_back(static_cast<Index>(others[2]));
    result.in_episode.push_back(static_cast<Index>(others[3]));
  }
  return result;
}

Transitions gather(RememberedExperience& experience, TrajectorySource& source,
                   const PredictiveHead& head, Index rows, Index most) {
  TransitionGatherer gatherer(head, rows, most);
  experience.for_each(source, [&](const RememberedRows& window) { gatherer.add(window); });
  return gatherer.take(source.exchange());
}

void fit_after_state(const Transitions& transitions, const InputLayout& layout,
                     const InputScaling& scaling, double ridge, PredictiveHead& head) {
  const Index q = transitions.state.rows();
  const Index c = layout.action_channels();
  const Index features = head.dynamics.size();
  const MatrixXd x =
      regressors(head, transitions.state, action_factors(transitions, layout, scaling));
  MatrixXd gram = MatrixXd::Zero(x.rows(), x.rows());
  linalg::add_square(x, gram);
  add_ridge(ridge, gram);
  MatrixXd next(layout.reward ? q : q + 1, transitions.count());
  next.topRows(q) = transitions.next;
  if (!layout.reward) next.row(q) = transitions.reward.transpose();
  MatrixXd cross = MatrixXd::Zero(x.rows(), next.rows());
  linalg::add_outer_product(x, next, cross);
  const MatrixXd solved = linalg::solve_positive(std::move(gram), cross).transpose();
  head.base = solved.leftCols(features);
  head.drift.setZero(next.rows(), (1 + c) * (1 + q));
  head.drift.rightCols(solved.cols() - features) = solved.rightCols(solved.cols() - features);
  if (layout.choices > 0) return;
  // In the action's own unit and zero.
  for (Index i = 0; i < c; ++i) {
    const Index channel = layout.action_offset() + i;
    auto block = head.drift.middleCols((1 + i) * (1 + q), 1 + q);
    block /= scaling.spread[channel];
    head.drift.leftCols(1 + q) -= scaling.mean[channel] * block;
  }
}

void carry_action(const InputLayout& layout, const InputScaling& scaling, PredictiveHead& head) {
  const Index q = head.size();
  const Index c = layout.action_channels();
  const Index after = head.after();
  head.base.conservativeResize(after + c, Eigen::NoChange);
  head.drift.conservativeResize(after + c, Eigen::NoChange);
  head.base.bottomRows(c).setZero();
  head.drift.bottomRows(c).setZero();
  for (Index i = 0; i < c; ++i) {
    const Index channel = layout.action_offset() + i;
    const bool choice = layout.choices > 0;
    const double mean = choice ? 0.0 : scaling.mean[channel];
    const double spread = choice ? 1.0 : scaling.spread[channel];
    head.drift(after + i, 0) = -mean / spread;
    head.drift(after + i, (1 + i) * (1 + q)) = 1.0 / spread;
  }
}

double unforeseen(const Transitions& transitions, const InputLayout& layout,
                  const InputScaling& scaling, Index seen, double ridge,
                  const PredictiveHead& head) {
  const MatrixXd x =
      regressors(head, transitions.state, action_factors(transitions, layout, scaling));
  MatrixXd y(seen + 1, transitions.count());
  y << transitions.next.bottomRows(seen), transitions.reward.transpose();
  std::vector<Index> members[2];
  for (Index i = 0; i < y.cols(); ++i) {
    members[(transitions.rows[static_cast<std::size_t>(i)] / kStretch) % 2].push_back(i);
  }
  if (members[0].empty() || members[1].empty()) return 0.0;
  VectorXd errors = VectorXd::Zero(y.rows());
  for (int half = 0; half < 2; ++half) {
    const MatrixXd known = x(Eigen::all, members[1 - half]);
    MatrixXd gram = MatrixXd::Zero(x.rows(), x.rows());
    linalg::add_square(known, gram);
    add_ridge(ridge, gram);
    MatrixXd cross = MatrixXd::Zero(x.rows(), y.rows());
    linalg::add_outer_product(known, y(Eigen::all, members[1 - half]), cross);
    const MatrixXd solved = linalg::solve_positive(std::move(gram), cross);
    errors += (y(Eigen::all, members[half]) - solved.transpose() * x(Eigen::all, members[half]))
                  .rowwise()
                  .squaredNorm();
  }
  const VectorXd mean = y.rowwise().mean();
  const VectorXd totals = (y.colwise() - mean).rowwise().squaredNorm();
  double sum = 0.0;
  for (Index i = 0; i < y.rows(); ++i) {
    // A number that is constant but for rounding has no variance to have a share of.
    if (totals[i] > 1e-20 * y.row(i).squaredNorm()) sum += std::min(errors[i] / totals[i], 1.0);
  }
  return sum;
}

MatrixXd next_after_states(const PredictiveHead& head, const Transitions& transitions) {
  const Index q = head.size();
  const Index blocks = head.drift.cols() / (1 + q);
  MatrixXd features(head.dynamics.size(), transitions.count());
  head.dynamics.write(transitions.next, features);
  const Index after = head.after();
  MatrixXd result(after * blocks, transitions.count());
  for (Index i = 0; i < blocks; ++i) {
    const auto drift = head.drift.middleCols(i * (1 + q), 1 + q);
    auto rows = result.middleRows(i * after, after);
    rows.noalias() = drift.rightCols(q) * transitions.next;
    rows.colwise() += drift.col(0);
  }
  linalg::add_product(head.base, features, result.topRows(after));
  return result;
}

MatrixXd after_states(const PredictiveHead& head, const Transitions& transitions) {
  const Index c = transitions.channels.rows();
  MatrixXd factors(1 + c, transitions.count());
  factors.row(0).setOnes();
  factors.bottomRows(c) = transitions.channels;
  MatrixXd coefficients(head.after(), head.base.cols() + head.drift.cols());
  coefficients << head.base, head.drift;
  MatrixXd result = MatrixXd::Zero(head.after(), transitions.count());
  linalg::add_product(coefficients, regressors(head, transitions.state, factors), result);
  return result;
}

}  // namespace waggle
