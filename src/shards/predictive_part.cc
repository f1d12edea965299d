#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "shards/predictive_shards.h"
#include "shards/shard_setup.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Stage = ShardFit::Stage;

namespace {

/// Numbers as a row of a matrix, to stand beside those of other parts.
template <typename Numbers>
MatrixXd row_of(const Numbers& numbers) {
  MatrixXd row(1, std::ssize(numbers));
  Index at = 0;
  for (const auto number : numbers) row(0, at++) = static_cast<double>(number);
  return row;
}

/// Transitions of all heads, with what they share once, and what is to be expected of rewards.
class Gathering {
 public:
  Gathering(const ShardPlan& plan, const ShardFit& fit, Index rows, Index in_episode) : fit_(fit) {
    gatherers_.reserve(fit.heads.size());
    recalled_.reserve(fit.heads.size());
    for (const PredictiveHead& head : fit.heads) {
      gatherers_.emplace_back(head, rows, plan.fit.predictive->value_rows, in_episode);
      recalled_.emplace_back(head);
    }
  }

  void add(const RememberedRows& window) {
    for (std::size_t i = 0; i < gatherers_.size(); ++i) {
      gatherers_[i].add(window);
      if (recalls(i)) recalled_[i].add(window, gatherers_[i].gathered());
    }
  }

  void write(std::map<std::string, MatrixXd>& listed) {
    for (std::size_t i = 0; i < gatherers_.size(); ++i) {
      const std::string of = std::to_string(i) + ".";
      Transitions transitions = gatherers_[i].take();
      if (i == 0) {
        listed["channels"] = transitions.channels;
        listed["reward"] = transitions.reward.transpose();
        listed["terminated"] = row_of(transitions.terminated);
        listed["row"] = row_of(transitions.rows);
        listed["in_episode"] = row_of(transitions.in_episode);
      }
      listed[of + "state"] = std::move(transitions.state);
      listed[of + "next"] = std::move(transitions.next);
      if (!recalls(i)) continue;
      ExpectedRewards rewards = recalled_[i].take();
      listed[of + "expected"] = rewards.expected.transpose();
      listed[of + "slopes"] = std::move(rewards.next);
    }
  }

 private:
  /// Whether a head has a reward that the memory tells.
  bool recalls(std::size_t head) const {
    return fit_.stage == Stage::recall && fit_.heads[head].reward.size() > 0;
  }

  const ShardFit& fit_;
  std::vector<TransitionGatherer> gatherers_;
  std::vector<RewardRecall> recalled_;
};

/// A part must have the rows that were planned with.
void require_planned(const ShardPlan& plan, Index part, Index rows) {
  if (plan.counted.empty()) return;
  const Index planned = plan.rows[static_cast<std::size_t>(part)];
  require(rows == planned,
          "{} rows, the plan says {}: it has changed since the plan was made; make the plan again",
          rows, planned);
}

}  // namespace

PredictiveSetup::PredictiveSetup(const ShardPlan& plan)
    : layout(InputLayout::of(plan.environment)),
      scaling(scaling_of(plan)),
      summary(summary_of(plan)),
      actions(controller_of(plan).actions),
      memory(PredictiveSteps::memory_of(network_of(plan), layout, *plan.fit.predictive,
                                        *plan.fit.predictive->seen)),
      steps({.layout = layout,
             .options = plan.fit,
             .scaling = scaling,
             .summary = summary,
             .rewards = plan.rewards,
             .actions = actions,
             .acts = false}),
      rows(rows_before(plan, std::ssize(plan.parts))) {}

PredictionSums PredictiveSetup::prediction_sums(const PredictiveHead* head) const {
  const Index layer = head != nullptr ? head->layer.size() : 0;
  return {memory, memory.size() + layer, steps.prediction_options()};
}

void PredictiveSetup::require_heads(const ShardFit& fit) const {
  require(!fit.heads.empty(), "rounds: there are no heads");
  const bool choices = layout.choices > 0;
  for (const PredictiveHead& head : fit.heads) {
    const auto fits = [](const RectifiedFeatures& features, Index inputs) {
      return features.directions.rows() == features.offsets.size() &&
             (features.size() == 0 || features.directions.cols() == inputs);
    };
    const Index q = (head.second.size() > 0 ? head.second : head.first).rows();
    const Index c = layout.action_channels();
    const Index u = steps.after_size(q);
    const bool drawn = fit.stage != Stage::action && fit.stage != Stage::layer;
    const bool after = fit.stage == Stage::reward || fit.stage == Stage::recall;
    require(
        head.first.cols() == memory.size() && fits(head.layer, head.first.rows()) &&
            (head.second.size() == 0 || head.second.cols() == memory.size() + head.layer.size()) &&
            fits(head.dynamics, q) && (fit.stage == Stage::layer || head.size() == q),
        "rounds: a head does not fit a memory of {} numbers", memory.size());
    require(!drawn || (fits(head.value, u) && head.squared >= 0 && head.squared <= q),
            "rounds: the features of a head's value are not of {} numbers", u);
    if (!after) continue;
    require(head.base.rows() == u && head.base.cols() == head.dynamics.size() &&
                head.drift.rows() == u && head.drift.cols() == (1 + c) * (1 + q),
            "rounds: the after-state of a head does not have {} numbers", u);
    require(head.reward.size() == 0 || (choices && head.reward.rows() == layout.choices &&
                                        head.reward.cols() == memory.size()),
            "rounds: a head's reward is not of {} choices", layout.choices);
  }
}

std::vector<RewardByState> rewards_told(const ShardFit& fit) {
  std::vector<RewardByState> told(fit.heads.size());
  require(fit.reward_weights.size() == told.size() && fit.reward_mean.size() == told.size() &&
              fit.reward_total.size() == told.size() && fit.reward_error.size() == told.size(),
          "rounds: what is told of rewards is not of {} heads", told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    told[i].mean = fit.reward_mean[i];
    told[i].total = fit.reward_total[i];
    told[i].error = fit.reward_error[i];
    told[i].weights = fit.reward_weights[i];
    require(told[i].weights.size() == 0 || told[i].weights.size() == fit.heads[i].features(),
            "rounds: {} weights of rewards for {} features", told[i].weights.size(),
            fit.heads[i].features());
  }
  return told;
}

RememberedExperience::Place place_of(const ShardPlan& plan, Index part, Index lead) {
  RememberedExperience::Place place{.first = rows_before(plan, part) - lead, .own = lead};
  if (plan.overlap == 0) return place;
  const auto at = static_cast<std::size_t>(part);
  constexpr Index kAhead = RememberedRows::kLookahead;
  if (plan.in_episode[at] > 0) {
    require(lead >= std::min(kAhead, plan.in_episode[at]),
            "{} rows of the part before, but {} are needed: parts that go on must not be shorter",
            lead, kAhead);
    // Of the last rows of the part before, this one knows what followed.
    place.own = std::max<Index>(0, lead - kAhead);
    place.in_episode = std::max<Index>(0, plan.in_episode[at] - lead);
    const InputLayout layout = InputLayout::of(plan.environment);
    const InputScaling scaling = scaling_of(plan);
    const std::size_t percepts = static_cast<std::size_t>(1 + layout.observation_size);
    const double* opening = plan.openings.data() + at * percepts;
    std::vector<double> seen;
    if (layout.reward) seen.push_back((opening[0] - scaling.mean[0]) / scaling.spread[0]);
    const Index observations = layout.size() - layout.observation_size;
    for (Index i = 0; i < layout.observation_size; ++i) {
      seen.push_back((opening[1 + i] - scaling.mean[observations + i]) /
                     scaling.spread[observations + i]);
    }
    place.opening = Eigen::Map<const VectorXd>(seen.data(), std::ssize(seen));
  }
  place.goes_on = at + 1 < plan.parts.size() && plan.in_episode[at + 1] > 0;
  return place;
}

ShardSums sum_predictive(const ShardPlan& plan, const ShardFit& fit, Index part,
                         TrajectorySource& rows, Index lead) {
  const PredictiveSetup setup(plan);
  RememberedExperience remembered(setup.memory);
  remembered.keep_nothing();
  remembered.set_rewards(plan.rewards.offset, plan.rewards.unit);
  remembered.set_washout(std::max<Index>(plan.fit.value.washout_rows() - 1, 0));
  const RememberedExperience::Place place = place_of(plan, part, lead);
  remembered.set_place(place);
  ShardSums sums;
  Index walked = 0;
  const auto walk = [&](const std::function<void(const RememberedRows&)>& add) {
    remembered.for_each(rows, [&](const RememberedRows& window) {
      walked += window.count;
      add(window);
    });
  };
  if (fit.stage != Stage::predict) setup.require_heads(fit);
  switch (fit.stage) {
    case Stage::predict: {
      PredictionSums predictions = setup.prediction_sums();
      walk([&](const RememberedRows& window) {
        predictions.add(window, window.memory.leftCols(window.count));
      });
      predictions.write("", sums.added);
      break;
    }
    case Stage::layer: {
      std::vector<PredictionSums> predictions;
      for (const PredictiveHead& head : fit.heads) {
        predictions.push_back(setup.prediction_sums(&head));
      }
      walk([&](const RememberedRows& window) {
        for (std::size_t i = 0; i < predictions.size(); ++i) {
          PredictiveSteps::add_second(fit.heads[i], window, predictions[i]);
        }
      });
      for (std::size_t i = 0; i < predictions.size(); ++i) {
        predictions[i].write(std::to_string(i) + ".", sums.added);
      }
      break;
    }
    case Stage::reward: {
      const std::vector<RewardByState> told = rewards_told(fit);
      RewardSums rewards(setup.memory.size(), setup.layout.choices, std::ssize(fit.heads));
      walk([&](const RememberedRows& window) { rewards.add(window, fit.heads, told); });
      rewards.write(sums.added);
      break;
    }
    case Stage::action:
    case Stage::follow:
    case Stage::recall: {
      Gathering gathering(plan, fit, setup.rows, place.in_episode);
      walk([&](const RememberedRows& window) { gathering.add(window); });
      gathering.write(sums.listed);
      break;
    }
    case Stage::value:
    case Stage::sweep:
    case Stage::judge:
    case Stage::done:
      eigen_assert(!"sum_part() does not come here in these");
  }
  require_planned(plan, part, walked - lead);
  sums.state.resize(setup.memory.size() + setup.layout.action_channels());
  sums.state << remembered.memory_at_end(), remembered.channels_at_end();
  return sums;
}

}  // namespace waggle
