#pragma once

#include <memory>
#include <vector>

#include <waggle/predictive.h>

#include "plain_learner.h"
#include "random_numbers.h"

/// Predictive networks of random numbers, for tests of what is computed with them.
namespace waggle {

/// What a random head has.
struct RandomHead {
  Eigen::Index size = 3;   // q
  Eigen::Index layer = 0;  // 0: no second layer
  bool reward = false;     // of the memory
  Eigen::Index knots = 0;  // in each channel
  bool rewarded = false;   // u has one number more than s
  Eigen::Index squared = 0;
};

inline RectifiedFeatures random_features(RandomNumbers& numbers, Eigen::Index count,
                                         Eigen::Index inputs) {
  return {2.0 * numbers.matrix(count, inputs), numbers.vector(count)};
}

inline PredictiveHead random_head(RandomNumbers& numbers, const RandomHead& kind,
                                  const HistoryMemory& memory) {
  const Eigen::Index n = memory.size();
  const Eigen::Index c = memory.layout().action_channels();
  const Eigen::Index q = kind.size;
  PredictiveHead head;
  const Eigen::Index first = kind.layer > 0 ? q + 1 : q;
  head.first = numbers.matrix(first, n);
  if (kind.layer > 0) {
    head.layer = random_features(numbers, kind.layer, first);
    head.second = numbers.matrix(q, n + kind.layer);
  }
  head.dynamics = random_features(numbers, 7, q);
  const Eigen::Index after = kind.rewarded ? q + 1 : q;
  head.base = numbers.matrix(after, 7);
  head.drift = numbers.matrix(after, (1 + c) * (1 + q));
  if (kind.reward) head.reward = numbers.matrix(c, n);
  if (kind.knots > 0) {
    head.knots = numbers.matrix(c, kind.knots);
    head.bends = 5.0 * numbers.matrix(c, kind.knots);
  }
  head.value = random_features(numbers, 11, after);
  head.squared = kind.squared;
  return head;
}

/// A small memory that reads scaled inputs.
inline HistoryMemory small_memory(const InputLayout& layout, Eigen::Index frames,
                                  Eigen::Index seen) {
  ReservoirOptions options = plain_reservoir(6, 3);
  options.slowest_leak = 0.4;
  options.direct_inputs = true;
  RandomNumbers numbers(8);
  const InputScaling scaling{
      numbers.vector(layout.size()),
      Eigen::VectorXd::Constant(layout.size(), 1.5) + numbers.vector(layout.size())};
  return {EchoStateNetwork(options, layout.size()).with_input_scaling(scaling), layout, frames,
          seen};
}

inline std::shared_ptr<const PredictiveNetwork> random_network(
    const InputLayout& layout, const std::vector<RandomHead>& kinds) {
  RandomNumbers numbers(17);
  HistoryMemory memory = small_memory(layout, 2, 1);
  std::vector<PredictiveHead> heads;
  for (const RandomHead& kind : kinds) heads.push_back(random_head(numbers, kind, memory));
  return std::make_shared<const PredictiveNetwork>(std::move(memory), std::move(heads));
}

}  // namespace waggle
