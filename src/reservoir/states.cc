#include <waggle/states.h>

#include "core/check.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 256;  // steps per block: enough to amortise the factor's update

/// Column j of the states is the state before row first + j.
void require_no_overflow(const Ref<const MatrixXd>& states, Index first) {
  if ((states.array().abs() <= kLargestNumber).all()) return;
  Index j = 0;
  while ((states.col(j).array().abs() <= kLargestNumber).all()) ++j;
  throw Error(
      fmt::format("the reservoir's state overflows after {} rows: it amplifies what it remembers, "
                  "and needs a smaller operator_norm or spectral_radius",
                  first + j));
}

}  // namespace

void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                    TrajectorySource& source, VectorXd& state,
                    const std::function<void(const StateBlock&)>& visit) {
  require(reservoir.inputs() == layout.size(),
          "the reservoir takes {} input channels, the data has {}", reservoir.inputs(),
          layout.size());
  require(state.size() == reservoir.units(), "the state has size {}, the reservoir {} units",
          state.size(), reservoir.units());
  MatrixXd z(layout.size(), kBlock);
  MatrixXd states(reservoir.units(), kBlock + 1);
  Index in_episode = 0;
  for_each_chunk(source, [&](const Trajectory& chunk, Index before) {
    require_fit(layout, chunk);
    for (Index first = 0; first < chunk.steps();) {
      Index count = 0;
      bool ended = false;
      while (count < kBlock && first + count < chunk.steps() && !ended) {
        write_input(layout, chunk, first + count, z.col(count));
        ended = chunk.end(first + count) != EpisodeEnd::none;
        ++count;
      }
      states.col(0) = state;
      reservoir.drive(z.leftCols(count), states.leftCols(count + 1));
      require_no_overflow(states.leftCols(count + 1), before + first);
      visit({before + first, in_episode, states.leftCols(count + 1), chunk, first});
      first += count;
      in_episode = ended ? 0 : in_episode + count;
      if (ended) {
        state.setZero();
      } else {
        state = states.col(count);
      }
    }
  });
}

VectorXd values_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                      const Trajectory& trajectory, VectorXd state,
                      const Ref<const VectorXd>& weights) {
  require(weights.size() == reservoir.features(), "weights have size {}, the reservoir {} features",
          weights.size(), reservoir.features());
  VectorXd values(trajectory.steps());
  MatrixXd features(reservoir.features(), kBlock);
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    reservoir.map_features(block.states.leftCols(count), features.leftCols(count));
    values.segment(block.first, count).noalias() = features.leftCols(count).transpose() * weights;
  });
  return values;
}

}  // namespace waggle
