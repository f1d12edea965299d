#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/random.h>
#include <waggle/shards.h>
#include <waggle/states.h>

#include "control/transitions.h"
#include "core/check.h"
#include "shards/fingerprint.h"
#include "shards/predictive_shards.h"
#include "shards/shard_setup.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

using Moments = std::vector<std::vector<TdMoments>>;

/// Whether Σ φφᵀ is needed in full: to choose λ, and to say how sure the weights are.
bool needs_gram(const ShardPlan& plan, ShardFit::Stage stage) {
  return stage == ShardFit::Stage::judge ||
         (stage == ShardFit::Stage::value && plan.fit.value.solve.choose());
}

/// The same moments as a file of them holds: a member's Σ φφᵀ is that of all its folds and stands
/// with the first, symmetric to the bit, or, where it is not needed, its diagonal alone.
Moments as_kept(const Moments& moments, bool gram) {
  Moments kept;
  for (const std::vector<TdMoments>& folds : moments) {
    MatrixXd whole = folds.front().gram();
    for (std::size_t i = 1; i < folds.size(); ++i) whole += folds[i].gram();
    if (gram) {
      whole.triangularView<Eigen::StrictlyUpper>() = whole.transpose();
    } else {
      whole = MatrixXd(whole.diagonal().asDiagonal());
    }
    std::vector<TdMoments>& to = kept.emplace_back();
    for (const TdMoments& fold : folds) {
      to.push_back(TdMoments::of(fold.discount(), fold.samples(), fold.system(), fold.target(),
                                 to.empty() ? whole : MatrixXd::Zero(whole.rows(), whole.cols())));
    }
  }
  return kept;
}

/// How the equations of a round are gathered. λ matters only where it is chosen, by folds; to say
/// how sure the weights are, all members are looked at together.
ValueOptions options_of(const ShardPlan& plan, ShardFit::Stage stage) {
  ValueOptions options = plan.fit.value;
  if (stage == ShardFit::Stage::value) return options;
  options.solve.ridge = 0.0;
  return options;
}

/// Goes along the rows of a part and adds up what the round needs.
class PartSums {
 public:
  PartSums(const ShardPlan& plan, const ShardFit& fit, Index part, Index lead)
      : plan_(plan),
        fit_(fit),
        controller_(controller_of(plan)),
        washout_(plan.fit.value.washout_rows()),
        lead_(lead),
        judges_(fit.stage == ShardFit::Stage::judge),
        gathers_(!judges_ || plan.fit.confidence),
        equations_(*controller_.reservoir, options_of(plan, fit.stage),
                   {.size = plan.block, .before = counted_before(plan, part)}, plan.rewards) {
    sums_.state = VectorXd::Zero(controller_.reservoir->units());
  }

  void run(TrajectorySource& rows) {
    if (fit_.stage == ShardFit::Stage::value) {
      follow(rows);
    } else {
      improve(rows);
    }
    if (gathers_) sums_.moments = as_kept(equations_.moments(), needs_gram(plan_, fit_.stage));
  }

  Index counted() const { return counted_; }
  ShardSums take() { return std::move(sums_); }

 private:
  /// What the actions that were taken led to.
  void follow(TrajectorySource& rows) {
    for_each_block(*controller_.reservoir, controller_.layout, rows, sums_.state,
                   [&](const StateBlock& block) {
                     for (Index i = 0; i < block.steps(); ++i) {
                       const Index in_episode = block.first_in_episode + i;
                       if (block.first + i < lead_ || in_episode < washout_) continue;
                       ++counted_;
                       equations_.add({.state = block.states.col(i),
                                       .reward = block.reward(i),
                                       .next = block.states.col(i + 1),
                                       .terminated = block.terminated(i)});
                     }
                   });
  }

  /// What the best ones by the last weights would have, or, to judge a value without any sweep,
  /// those that were taken.
  void improve(TrajectorySource& rows) {
    controller_.weights = fit_.weights.rightCols(1);
    const bool greedy = !judges_ || !fit_.sweeps.empty();
    ActionSearch search(controller_);
    for_each_transition(
        search, rows, Random(0), Purpose::policy, sums_.state, [&](Transition& transition) {
          if (transition.row < lead_ || transition.in_episode < washout_) return;
          ++counted_;
          const bool terminated = transition.terminated();
          double after = 0.0;
          const VectorXd* next = &transition.next;
          if (greedy && !terminated) {
            const Transition::Greedy best = transition.greedy();
            next = &best.next;
            after = best.value;
          } else if (!terminated) {
            after = search.value_of(transition.next);
          }
          const double value = search.value_of(transition.state);
          const double error =
              (transition.reward() + plan_.fit.value.discount * after - value) / plan_.rewards.unit;
          sums_.squares += error * error;
          sums_.values.lowest = std::min(sums_.values.lowest, value);
          sums_.values.highest = std::max(sums_.values.highest, value);
          if (!gathers_) return;
          equations_.add({.state = transition.state,
                          .reward = transition.reward(),
                          .next = *next,
                          .terminated = terminated});
        });
  }

  const ShardPlan& plan_;
  const ShardFit& fit_;
  Controller controller_;
  const Index washout_, lead_;
  const bool judges_, gathers_;
  ValueEquations equations_;
  Index counted_ = 0;
  ShardSums sums_;
};

}  // namespace

std::string ShardFit::fingerprint() const {
  Fingerprint print;
  print.add(
      fmt::format("{} {} {}", static_cast<int>(stage), weights.cols(), diagnostics.relative_ridge));
  const auto add = [&](const auto& numbers) {
    print.add({reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::size_t>(numbers.size()) * sizeof(double)});
  };
  if (weights.cols() > 0) add(VectorXd(weights.rightCols(1)));
  for (const PredictiveHead& head : heads) {
    for (const MatrixXd* matrix :
         {&head.first, &head.layer.directions, &head.second, &head.base, &head.drift, &head.reward,
          &head.bends, &head.value.directions}) {
      add(*matrix);
    }
  }
  return print.text();
}

ShardFit start_of(const ShardPlan& plan) {
  ShardFit fit;
  if (plan.fit.predictive) fit.stage = ShardFit::Stage::predict;
  return fit;
}

Index ShardSums::rows() const {
  Index rows = 0;
  if (moments.empty()) return rows;
  for (const TdMoments& fold : moments.front()) rows += fold.samples();
  return rows;
}

void ShardSums::merge(const ShardSums& next) {
  const auto same = [](const std::vector<TdMoments>& a, const std::vector<TdMoments>& b) {
    return a.size() == b.size();
  };
  require(
      std::equal(moments.begin(), moments.end(), next.moments.begin(), next.moments.end(), same),
      "sums of {} and {} members do not add up", moments.size(), next.moments.size());
  for (std::size_t m = 0; m < moments.size(); ++m) {
    for (std::size_t f = 0; f < moments[m].size(); ++f) moments[m][f].merge(next.moments[m][f]);
  }
  squares += next.squares;
  values.lowest = std::min(values.lowest, next.values.lowest);
  values.highest = std::max(values.highest, next.values.highest);
  state = next.state;
  const auto joined = [](auto& here, const auto& there, const char* what, auto join) {
    for (const auto& [name, matrix] : there) {
      const auto [place, fresh] = here.emplace(name, matrix);
      if (fresh) continue;
      MatrixXd& mine = place->second;
      require(mine.rows() == matrix.rows(), "{} {} of {} and {} rows do not go together", what,
              name, mine.rows(), matrix.rows());
      join(mine, matrix);
    }
  };
  const auto require_same = [](const MatrixXd& a, const MatrixXd& b) {
    require(a.cols() == b.cols(), "sums of {} and {} columns do not add up", a.cols(), b.cols());
  };
  joined(added, next.added, "sums", [&](MatrixXd& mine, const MatrixXd& other) {
    require_same(mine, other);
    mine += other;
  });
  joined(largest, next.largest, "sums", [&](MatrixXd& mine, const MatrixXd& other) {
    require_same(mine, other);
    mine = mine.cwiseMax(other);
  });
  joined(listed, next.listed, "lists", [](MatrixXd& mine, const MatrixXd& other) {
    mine.conservativeResize(Eigen::NoChange, mine.cols() + other.cols());
    mine.rightCols(other.cols()) = other;
  });
}

ShardSums sum_part(const ShardPlan& plan, const ShardFit& fit, Index part, TrajectorySource& rows,
                   Index lead) {
  require(part >= 0 && part < std::ssize(plan.parts), "part {}: the plan has parts 0 to {}", part,
          plan.parts.size() - 1);
  require(fit.stage != ShardFit::Stage::done, "all rounds are done: there is nothing to add up");
  const std::string& name = plan.parts[static_cast<std::size_t>(part)];
  try {
    if (plan.fit.predictive && fit.stage != ShardFit::Stage::judge) {
      require(fit.stage != ShardFit::Stage::value && fit.stage != ShardFit::Stage::sweep,
              "the rounds are of a value on the memory itself, the plan is not");
      return sum_predictive(plan, fit, part, rows, lead);
    }
    if (plan.fit.predictive) {
      ShardSums judged;
      judge_part(plan, fit, part, rows, lead, judged);
      return judged;
    }
    PartSums sums(plan, fit, part, lead);
    sums.run(rows);
    if (!plan.counted.empty()) {
      const Index planned = plan.counted[static_cast<std::size_t>(part)];
      require(sums.counted() == planned,
              "{} rows count, the plan says {}: it has changed since the plan was made; make the "
              "plan again",
              sums.counted(), planned);
    }
    ShardSums result = sums.take();
    if (fit.stage == ShardFit::Stage::judge && plan.fit.confidence) {
      judge_part(plan, fit, part, rows, lead, result);
    }
    return result;
  } catch (const Error& error) {
    throw Error(fmt::format("part '{}': {}", name, error.what()));
  }
}

ShardStatistics::ShardStatistics(const ShardPlan& plan, const ShardFit& fit)
    : plan_(plan.fingerprint()), round_(fit.fingerprint()), parts_(std::ssize(plan.parts)) {}

void ShardStatistics::add(Index part, ShardSums sums) {
  require(part >= 0 && part < parts_, "part {}: the plan has parts 0 to {}", part, parts_ - 1);
  insert(part, {1, std::move(sums)});
  settle();
}

void ShardStatistics::merge(ShardStatistics other) {
  require(plan_ == other.plan_ && parts_ == other.parts_,
          "is of another plan ({}) than the others ({})", other.plan_, plan_);
  require(round_ == other.round_, "is of another round of weights ({}) than the others ({})",
          other.round_, round_);
  for (auto& [first, node] : other.nodes_) insert(first, std::move(node));
  settle();
}

void ShardStatistics::insert(Index first, Node node) {
  for (const auto& [other, there] : nodes_) {
    require(first + node.count <= other || other + there.count <= first, "part {} is there twice",
            std::max(first, other));
  }
  // With the other half of its node of the tree it becomes that node, which may be a half itself,
  // and so on up to the first whose other half is still missing.
  while (true) {
    const bool left = first % (2 * node.count) == 0;
    const auto half = nodes_.find(left ? first + node.count : first - node.count);
    if (half == nodes_.end() || half->second.count != node.count) break;
    if (left) {
      node.sums.merge(half->second.sums);
    } else {
      half->second.sums.merge(node.sums);
      node.sums = std::move(half->second.sums);
      first = half->first;
    }
    nodes_.erase(half);
    node.count *= 2;
  }
  nodes_.emplace(first, std::move(node));
}

void ShardStatistics::settle() {
  if (present() < parts_) return;
  // All are there: the last nodes, smaller and smaller, are added from the end.
  while (nodes_.size() > 1) {
    const auto last = std::prev(nodes_.end());
    Node& before = std::prev(last)->second;
    before.sums.merge(last->second.sums);
    before.count += last->second.count;
    nodes_.erase(last);
  }
}

Index ShardStatistics::present() const {
  Index count = 0;
  for (const auto& [first, node] : nodes_) count += node.count;
  return count;
}

Index ShardStatistics::missing() const {
  Index next = 0;
  for (const auto& [first, node] : nodes_) {
    if (first != next) break;
    next = first + node.count;
  }
  return next < parts_ ? next : -1;
}

const ShardSums& ShardStatistics::total() {
  const Index first = missing();
  require(first < 0, "{} of {} parts are missing, the first of them part {}", parts_ - present(),
          parts_, first);
  return nodes_.begin()->second.sums;
}

}  // namespace waggle
