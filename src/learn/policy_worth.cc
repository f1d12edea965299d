#include "learn/policy_worth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/memory.h"
#include "learn/interval.h"
#include "linalg/dense.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kGroups = 10;
constexpr Index kFewestGroups = 5;  // with rows, or there is no interval
constexpr Index kWorthBlock = 100;  // rows added together
constexpr Index kSample = 1024;
constexpr double kLargestFeature = 1e30;  // beyond, sums of products keep no digit of the others
constexpr double kFamiliar = 0.99;        // of the log's own steps
constexpr Index kMostChannels = 12;       // that are multiplied with each other
// An estimate changes when half of the features are left out. This share of the change is taken for
// the error that remains with all of them.
constexpr double kOfHalf = 0.25;

/// Of a log without episodes, rows that stay together: longer than a memory, and than the discount
/// looks ahead.
Index stretch_of(double discount) {
  return std::clamp<Index>(static_cast<Index>(5.0 / (1.0 - discount)), 100, 10'000);
}

/// `unsaid` is the error from what the features cannot express.
Estimate jackknife(double value, const VectorXd& without, double unsaid, double level) {
  const auto groups = static_cast<double>(without.size());
  // Not norm(): the square of 1e-170, which rewards may be as small as, is 0.
  const double spread = VectorXd(without.array() - without.mean()).stableNorm();
  const double error = spread * std::sqrt((groups - 1.0) / groups);
  return interval(value, std::hypot(error, unsaid), groups, level);
}

}  // namespace

void WorthOptions::validate() const {
  require(level > 0.0 && level < 1.0, "level = {}: must be in (0, 1)", level);
  require(least_support >= 0.0 && least_support <= 1.0, "least_support = {}: must be in [0, 1]",
          least_support);
}

InputProducts::InputProducts(const InputLayout& layout, const ChannelRanges& ranges) {
  const Index d = layout.size();
  if (d > kMostChannels) return;
  size_ = d * (d + 3) / 2;
  mean_ = VectorXd::Zero(d);
  inverse_ = VectorXd::Ones(d);
  const Index choices = layout.choices > 0 ? layout.choices : 0;
  for (Index i = 0; i < d; ++i) {
    const Index action = i - layout.action_offset();
    if (action >= 0 && action < choices) continue;
    const Index channel = i == 0 && layout.reward ? 0
                          : action < layout.action_size && choices == 0
                              ? 1 + action
                              : 1 + layout.action_size + action - layout.action_channels();
    mean_[i] = ranges.mean[channel];
    if (ranges.deviation[channel] > 0.0) inverse_[i] = 1.0 / ranges.deviation[channel];
  }
}

void InputProducts::write(const Ref<const VectorXd>& z, Ref<VectorXd> out) const {
  if (size_ == 0) return;
  Index at = 0;
  for (Index i = 0; i < z.size(); ++i) {
    const double number = (z[i] - mean_[i]) * inverse_[i];
    out[at++] = number;
    for (Index j = 0; j <= i; ++j) out[at++] = number * (z[j] - mean_[j]) * inverse_[j];
  }
}

WorthEstimate::WorthEstimate(const Model& model, const WorthOptions& options)
    : model_(model),
      options_(options),
      discount_(model.options.value.discount),
      stretch_(stretch_of(discount_)),
      judging_(model.controller),
      products_(model.controller.layout, model.ranges) {
  options.validate();
  const ReservoirSystem& reservoir = *model.controller.reservoir;
  const Index n = judging_.size() + products_.size();
  const auto size = static_cast<double>(n);
  too_large_ = memory_fault(matrix_bytes(4.0 * kGroups + 12.0, size),
                            fmt::format("an estimate over {} features", n));
  if (!too_large_.empty()) return;
  const Part part{TdMoments(n, discount_), VectorXd::Zero(n), VectorXd::Zero(n)};
  groups_.assign(kGroups, Group{part, part});
  states_ = nexts_ = greedy_nexts_ = MatrixXd(reservoir.units(), kWorthBlock);
  state_products_ = next_products_ = greedy_products_ =
      MatrixXd::Zero(products_.size(), kWorthBlock);
  before_ = VectorXd::Zero(products_.size());
  input_.resize(model.controller.layout.size());
  mapped_.resize(reservoir.features(), kWorthBlock);
  features_ = next_features_ = greedy_features_ = MatrixXd(n, kWorthBlock);
  rewards_.resize(kWorthBlock);
  terminated_.resize(kWorthBlock);
  starts_.resize(kWorthBlock);
  logged_sample_ = greedy_sample_ = MatrixXd(n, kSample);
}

void WorthEstimate::add(const Transition& transition, const Transition::Greedy& greedy) {
  if (!too_large_.empty()) return;
  const auto observation = transition.chunk.observations().col(transition.at);
  const Index washout = model_.options.value.washout_rows();
  if (transition.in_episode < washout) {
    write_products(transition.reward(), transition.action(), observation, before_);
    return;
  }
  if (transition.in_episode == 0) before_.setZero();
  const bool starts = transition.in_episode == washout;
  if (starts) ++episodes_;
  terminates_ = terminates_ || transition.terminated();
  // An episode belongs to one group, unless it is longer than a stretch: rows that far apart hardly
  // depend on each other.
  const Index unit = episodes_ + transition.in_episode / stretch_;
  const std::size_t group = static_cast<std::size_t>(unit) % kGroups;
  if (group != group_ || held_ == kWorthBlock) flush();
  group_ = group;
  const auto at = static_cast<std::size_t>(held_);
  states_.col(held_) = transition.state;
  nexts_.col(held_) = transition.next;
  greedy_nexts_.col(held_) = greedy.next;
  state_products_.col(held_) = before_;
  write_products(transition.reward(), transition.action(), observation, before_);
  next_products_.col(held_) = before_;
  write_products(transition.reward(), greedy.action, observation, greedy_products_.col(held_));
  rewards_[held_] = transition.reward();
  terminated_[at] = transition.terminated() ? 1 : 0;
  starts_[at] = starts ? 1 : 0;
  ++held_;
  ++rows_;
}

void WorthEstimate::write_products(double reward, const Ref<const VectorXd>& action,
                                   const Ref<const VectorXd>& observation, Ref<VectorXd> out) {
  model_.controller.layout.write(reward, action, observation, input_);
  products_.write(input_, out);
}

/// The features that are used, of each of the states held.
void WorthEstimate::map(const MatrixXd& states, const MatrixXd& products, MatrixXd& features) {
  auto mapped = mapped_.leftCols(held_);
  model_.controller.reservoir->map_features(states.leftCols(held_), mapped);
  judging_.pick(mapped, features.topRows(judging_.size()).leftCols(held_));
  if (unit_ == 0.0) unit_ = std::sqrt(mapped.squaredNorm() / static_cast<double>(mapped.size()));
  features.bottomRows(products_.size()).leftCols(held_) = unit_ * products.leftCols(held_);
}

void WorthEstimate::flush() {
  if (held_ == 0) return;
  map(states_, state_products_, features_);
  map(nexts_, next_products_, next_features_);
  map(greedy_nexts_, greedy_products_, greedy_features_);
  Group& group = groups_[group_];
  for (Index i = 0; i < held_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (terminated_[at] != 0) {
      next_features_.col(i).setZero();
      greedy_features_.col(i).setZero();
      continue;
    }
    if (starts_[at] != 0) {
      group.learnt.starts += greedy_features_.col(i);
      group.logged.starts += next_features_.col(i);
      group.episodes += 1.0;
    }
    group.rows += 1.0;
  }
  for (const MatrixXd* counted : {&features_, &next_features_, &greedy_features_}) {
    const double largest = counted->leftCols(held_).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
    if (!std::isnan(largest_) && !(largest <= largest_)) largest_ = largest;
  }
  keep_sample();
  const auto features = features_.leftCols(held_);
  const auto rewards = rewards_.head(held_);
  const auto gather = [&](Part& part, const auto& nexts) {
    part.moments.add(features, features, nexts, rewards);
    part.nexts += nexts.rowwise().sum();
  };
  gather(group.learnt, greedy_features_.leftCols(held_));
  gather(group.logged, next_features_.leftCols(held_));
  held_ = 0;
}

/// Keeps every `every_`-th of all rows for the sample; when that is full, drops every other one of
/// it and doubles `every_`.
void WorthEstimate::keep_sample() {
  for (Index i = 0; i < held_; ++i) {
    if ((rows_ - held_ + i) % every_ != 0 || terminated_[static_cast<std::size_t>(i)] != 0)
      continue;
    if (sampled_ == kSample) {
      for (Index k = 0; 2 * k < kSample; ++k) {
        logged_sample_.col(k) = logged_sample_.col(2 * k);
        greedy_sample_.col(k) = greedy_sample_.col(2 * k);
      }
      sampled_ = kSample / 2;
      every_ *= 2;
      if ((rows_ - held_ + i) % every_ != 0) continue;
    }
    logged_sample_.col(sampled_) = next_features_.col(i);
    greedy_sample_.col(sampled_) = greedy_features_.col(i);
    ++sampled_;
  }
}

WorthEstimate::Values WorthEstimate::values(std::size_t left_out, const RidgeOptions& ridge,
                                            const std::vector<Index>& features) const {
  const auto value_of = [&](Part Group::*policy) {
    TdMoments moments(features_.rows(), discount_);
    VectorXd starts = VectorXd::Zero(features_.rows());
    double count = 0.0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      if (i == left_out || group.rows == 0.0) continue;
      const Part& part = group.*policy;
      moments.merge(part.moments);
      starts += terminates_ ? part.starts : part.nexts;
      count += terminates_ ? group.episodes : group.rows;
    }
    Index constant = judging_.constant();
    if (!features.empty()) {
      moments = TdMoments::of(discount_, moments.samples(), moments.system()(features, features),
                              moments.target()(features), moments.gram()(features, features));
      starts = VectorXd(starts(features));
      const auto at = std::find(features.begin(), features.end(), constant);
      constant = constant < 0 ? -1 : at - features.begin();
    }
    const double scale = terminates_ ? 1.0 : 1.0 - discount_;
    return scale * starts.dot(solve_td({moments}, ridge, constant).weights) / count;
  };
  return {value_of(&Group::learnt), value_of(&Group::logged)};
}

std::vector<Index> WorthEstimate::half_of_features(Index first) const {
  std::vector<Index> result;
  for (Index i = 0; i < features_.rows(); ++i) {
    const bool needed = i >= judging_.size() || judging_.is_needed(i);
    if (needed || i % 2 == first) result.push_back(i);
  }
  return result;
}

double WorthEstimate::support(double ridge) const {
  MatrixXd gram = MatrixXd::Zero(features_.rows(), features_.rows());
  for (const Group& group : groups_) gram += group.logged.moments.gram();
  const double added = solvable_ridge(ridge, gram);
  gram.diagonal().array() += added;
  const linalg::PositiveSolver solver(std::move(gram));
  const auto leverage = [&](const MatrixXd& sample) {
    const MatrixXd features = sample.leftCols(sampled_);
    return VectorXd(features.cwiseProduct(solver.solve(features)).colwise().sum());
  };
  VectorXd logged = leverage(logged_sample_);
  std::sort(logged.begin(), logged.end());
  const double limit = logged[static_cast<Index>(kFamiliar * static_cast<double>(sampled_ - 1))];
  const auto familiar = (leverage(greedy_sample_).array() <= limit).count();
  return static_cast<double>(familiar) / static_cast<double>(sampled_);
}

void WorthEstimate::estimate(PolicyWorth& result) const {
  std::vector<TdMoments> folds(kGroups / 2, TdMoments(features_.rows(), discount_));
  for (std::size_t i = 0; i < kGroups; ++i)
    folds[i % folds.size()].merge(groups_[i].learnt.moments);
  std::erase_if(folds, [](const TdMoments& fold) { return fold.samples() == 0; });
  const TdFit fit = solve_td(folds, {}, judging_.constant());
  const RidgeOptions ridge{.ridge = fit.relative_ridge, .scale = RidgeScale::relative};
  result.support = support(fit.ridge);
  if (result.support < options_.least_support) {
    result.unknown = fmt::format(
        "only {:.0f} % of the controller's decisions lead where this log has been (at least "
        "{:.0f} % must): log with actions that vary more, some like the controller's own",
        100.0 * result.support, 100.0 * options_.least_support);
    return;
  }
  const Values all = values(kGroups, ridge);
  std::vector<Values> without;
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (groups_[i].rows > 0.0) without.push_back(values(i, ridge));
  }
  VectorXd learnt(std::ssize(without)), logged(learnt.size());
  for (Index i = 0; i < learnt.size(); ++i) {
    learnt[i] = without[static_cast<std::size_t>(i)].learnt;
    logged[i] = without[static_cast<std::size_t>(i)].logged;
  }
  const Values even = values(kGroups, ridge, half_of_features(0));
  const Values odd = values(kGroups, ridge, half_of_features(1));
  const auto estimate_of = [&](const auto& of, const VectorXd& left_out) {
    return jackknife(of(all), left_out, kOfHalf * (of(all) - 0.5 * (of(even) + of(odd))),
                     options_.level);
  };
  result.learnt = estimate_of([](const Values& v) { return v.learnt; }, learnt);
  result.logged = estimate_of([](const Values& v) { return v.logged; }, logged);
  result.difference =
      estimate_of([](const Values& v) { return v.learnt - v.logged; }, learnt - logged);
}

PolicyWorth WorthEstimate::solve() {
  flush();
  PolicyWorth result;
  result.episodic = terminates_;
  result.level = options_.level;
  if (!too_large_.empty()) {
    result.unknown = too_large_;
    return result;
  }
  const auto filled = std::count_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return (terminates_ ? group.episodes : group.rows) > 0.0;
  });
  if (filled < kFewestGroups) {
    result.unknown = terminates_ ? fmt::format("{} episodes are too few: at least {} are needed",
                                               episodes_, kFewestGroups)
                                 : fmt::format("{} rows are too few: at least {} are needed", rows_,
                                               (kFewestGroups - 1) * stretch_ + 1);
    return result;
  }
  if (!(largest_ <= kLargestFeature)) {
    result.unknown = fmt::format(
        "it has numbers so far from what was learnt from that {}: correct them, or leave their "
        "rows "
        "out",
        std::isnan(largest_) ? std::string("features are no numbers")
                             : fmt::format("features are as large as {:.1g}", largest_));
    return result;
  }
  estimate(result);
  return result;
}

}  // namespace waggle
