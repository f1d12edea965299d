#include "learn/off_policy.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

#include <waggle/predictive.h>

#include "core/check.h"
#include "linalg/dense.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kGroups = 10;
constexpr Index kFewestGroups = 5;        // with rows, or there is no interval
constexpr Index kBlock = 100;             // rows added together
constexpr Index kSample = 1024;           // rows that support is told by
constexpr double kFamiliar = 0.99;        // of the log's own steps
constexpr Index kMostFeatures = 2000;     // whose moments, by groups, are a gigabyte
constexpr double kLargestFeature = 1e30;  // beyond, sums of products keep no digit of the others

/// Of a log without episodes, rows that stay together: longer than a memory, and than the discount
/// looks ahead.
Index stretch_of(double discount) {
  return std::clamp<Index>(static_cast<Index>(5.0 / (1.0 - discount)), 100, 10'000);
}

}  // namespace

Estimate interval(double value, double standard_error, double groups, double level) {
  const boost::math::students_t distribution(groups - 1.0);
  const double width = boost::math::quantile(distribution, 0.5 + 0.5 * level) * standard_error;
  return {value, standard_error, value - width, value + width};
}

Estimate difference(const LeftOut& one, const LeftOut& other, double level) {
  const VectorXd without = one.without - other.without;
  const auto groups = static_cast<double>(without.size());
  const double spread = (without.array() - without.mean()).matrix().norm();
  return interval(one.value - other.value, spread * std::sqrt((groups - 1.0) / groups), groups,
                  level);
}

OffPolicyJudge::OffPolicyJudge(const Controller& features, double discount)
    : reservoir_(features.reservoir),
      discount_(discount),
      picked_(reservoir_->last_fit()),
      first_too_(reservoir_->shared_feature() >= 0),
      constant_(reservoir_->constant_feature()),
      stretch_(stretch_of(discount)) {
  if (first_too_) constant_ = 1;  // after the reward to expect, the first of the last fit
  const Index n = picked_ + (first_too_ ? 1 : 0);
  if (n > kMostFeatures) return;
  const VectorXd none = VectorXd::Zero(n);
  const TdMoments moments(n, discount_);
  groups_.assign(kGroups, Group{moments, moments, none, none, none, none});
  states_ = logged_ = learnt_ = MatrixXd(reservoir_->units(), kBlock);
  mapped_.resize(reservoir_->features(), kBlock);
  features_ = logged_features_ = learnt_features_ = MatrixXd(n, kBlock);
  rewards_.resize(kBlock);
  terminated_.resize(kBlock);
  starts_.resize(kBlock);
  logged_sample_ = learnt_sample_ = MatrixXd(n, kSample);
}

void OffPolicyJudge::add(const Transition& transition, const Transition::Greedy& greedy,
                         Index washout) {
  const Index in_episode = transition.in_episode - washout;
  if (groups_.empty() || in_episode < 0) return;
  if (in_episode == 0) ++episodes_;
  terminates_ = terminates_ || transition.terminated();
  // An episode belongs to one group, unless it is longer than a stretch: rows that far apart hardly
  // depend on each other.
  const auto unit = static_cast<std::size_t>(episodes_ + in_episode / stretch_);
  if (unit % kGroups != group_ || held_ == kBlock) flush();
  group_ = unit % kGroups;
  const auto at = static_cast<std::size_t>(held_);
  states_.col(held_) = transition.state;
  logged_.col(held_) = transition.next;
  learnt_.col(held_) = greedy.next;
  rewards_[held_] = transition.reward();
  terminated_[at] = transition.terminated() ? 1 : 0;
  starts_[at] = in_episode == 0 ? 1 : 0;
  ++held_;
  ++rows_;
}

/// The features that are judged by, of each of the states held.
void OffPolicyJudge::map(const MatrixXd& states, MatrixXd& features) {
  auto mapped = mapped_.leftCols(held_);
  reservoir_->map_features(states.leftCols(held_), mapped);
  features.leftCols(held_).bottomRows(picked_) = mapped.bottomRows(picked_);
  if (first_too_) features.row(0).head(held_) = mapped.row(0);
}

void OffPolicyJudge::flush() {
  if (held_ == 0) return;
  map(states_, features_);
  map(logged_, logged_features_);
  map(learnt_, learnt_features_);
  Group& group = groups_[group_];
  for (Index i = 0; i < held_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (terminated_[at] != 0) {
      logged_features_.col(i).setZero();
      learnt_features_.col(i).setZero();
      continue;
    }
    group.rows += 1.0;
    if (starts_[at] == 0) continue;
    group.episodes += 1.0;
    group.learnt_starts += learnt_features_.col(i);
    group.logged_starts += logged_features_.col(i);
  }
  for (const MatrixXd* each : {&features_, &logged_features_, &learnt_features_}) {
    const double largest = each->leftCols(held_).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
    too_far_ = too_far_ || !(largest <= kLargestFeature);
  }
  keep_sample();
  const auto features = features_.leftCols(held_);
  const auto learnt = learnt_features_.leftCols(held_);
  const auto logged = logged_features_.leftCols(held_);
  if (!too_far_) {
    group.learnt.add(features, features, learnt, rewards_.head(held_));
    group.logged.add(features, features, logged, rewards_.head(held_));
  }
  group.learnt_nexts += learnt.rowwise().sum();
  group.logged_nexts += logged.rowwise().sum();
  held_ = 0;
}

/// Keeps every `every_`-th of all rows for the sample; when that is full, drops every other one of
/// it and doubles `every_`.
void OffPolicyJudge::keep_sample() {
  for (Index i = 0; i < held_; ++i) {
    const Index row = rows_ - held_ + i;
    if (terminated_[static_cast<std::size_t>(i)] != 0 || row % every_ != 0) continue;
    if (sampled_ == kSample) {
      for (Index k = 0; 2 * k < kSample; ++k) {
        logged_sample_.col(k) = logged_sample_.col(2 * k);
        learnt_sample_.col(k) = learnt_sample_.col(2 * k);
      }
      sampled_ = kSample / 2;
      every_ *= 2;
      if (row % every_ != 0) continue;
    }
    logged_sample_.col(sampled_) = logged_features_.col(i);
    learnt_sample_.col(sampled_) = learnt_features_.col(i);
    ++sampled_;
  }
}

std::string OffPolicyJudge::fault() {
  if (groups_.empty()) {
    return fmt::format("an estimate over {} features takes too much memory: at most {} can be",
                       picked_, kMostFeatures);
  }
  flush();
  const auto filled = std::count_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return (terminates_ ? group.episodes : group.rows) > 0.0;
  });
  if (filled < kFewestGroups) {
    return terminates_ ? fmt::format("{} episodes are too few: at least {} are needed", episodes_,
                                     kFewestGroups)
                       : fmt::format("{} rows are too few: at least {} are needed", rows_,
                                     (kFewestGroups - 1) * stretch_ + 1);
  }
  return too_far_ ? "it has numbers far from what was learnt from: correct them, or leave their "
                    "rows out"
                  : "";
}

/// By five folds of two groups each, for the policy; then for all that is asked.
void OffPolicyJudge::choose_ridge() {
  if (ridge_ >= 0.0) return;
  flush();
  std::vector<TdMoments> folds(kGroups / 2, TdMoments(features_.rows(), discount_));
  for (std::size_t i = 0; i < kGroups; ++i) folds[i % folds.size()].merge(groups_[i].learnt);
  std::erase_if(folds, [](const TdMoments& fold) { return fold.samples() == 0; });
  const TdFit fit = solve_td(folds, {}, constant_);
  ridge_ = fit.ridge;
  relative_ridge_ = fit.relative_ridge;
}

double OffPolicyJudge::support() {
  choose_ridge();
  MatrixXd gram = MatrixXd::Zero(features_.rows(), features_.rows());
  for (const Group& group : groups_) gram += group.logged.gram();
  const double added = solvable_ridge(ridge_, gram);
  gram.diagonal().array() += added;
  const linalg::PositiveSolver solver(std::move(gram));
  const auto leverage = [&](const MatrixXd& sample) {
    const MatrixXd features = sample.leftCols(sampled_);
    return VectorXd(features.cwiseProduct(solver.solve(features)).colwise().sum());
  };
  VectorXd logged = leverage(logged_sample_);
  std::sort(logged.begin(), logged.end());
  const double limit = logged[static_cast<Index>(kFamiliar * static_cast<double>(sampled_ - 1))];
  const auto familiar = (leverage(learnt_sample_).array() <= limit).count();
  return static_cast<double>(familiar) / static_cast<double>(sampled_);
}

LeftOut OffPolicyJudge::value(TdMoments Group::*moments, VectorXd Group::*nexts) const {
  const RidgeOptions ridge{.ridge = relative_ridge_, .scale = RidgeScale::relative};
  const auto without = [&](std::size_t left_out) {
    TdMoments sums(features_.rows(), discount_);
    VectorXd places = VectorXd::Zero(features_.rows());
    double count = 0.0;
    for (std::size_t i = 0; i < kGroups; ++i) {
      if (i == left_out) continue;
      sums.merge(groups_[i].*moments);
      places += groups_[i].*nexts;
      count += terminates_ ? groups_[i].episodes : groups_[i].rows;
    }
    const double scale = terminates_ ? 1.0 : 1.0 - discount_;
    return scale * places.dot(solve_td({sums}, ridge, constant_).weights) / count;
  };
  std::vector<double> each;
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (groups_[i].rows > 0.0) each.push_back(without(i));
  }
  return {without(kGroups), VectorXd::Map(each.data(), std::ssize(each))};
}

LeftOut OffPolicyJudge::learnt() {
  choose_ridge();
  return value(&Group::learnt, terminates_ ? &Group::learnt_starts : &Group::learnt_nexts);
}

LeftOut OffPolicyJudge::logged() {
  choose_ridge();
  return value(&Group::logged, terminates_ ? &Group::logged_starts : &Group::logged_nexts);
}

}  // namespace waggle
