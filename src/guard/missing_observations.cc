#include <algorithm>
#include <cmath>

#include <waggle/guard.h>

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

MissingObservations::MissingObservations(const Model& model) {
  const std::vector<std::string>& names = model.environment.observation_names;
  for (const std::string& name : names) {
    const auto found = std::find(names.begin(), names.end(), name + "=missing");
    flags_.push_back(found == names.end() ? -1 : found - names.begin());
    if (flags_.back() >= 0) pairs_.push_back({std::ssize(flags_) - 1, flags_.back()});
  }
  means_.resize(size());
  // The experience has a channel for the reward and each number of an action before these.
  const Index first = 1 + model.environment.actions.size();
  for (Index i = 0; i < size(); ++i) {
    means_[i] = model.ranges.mean[first + pairs_[static_cast<std::size_t>(i)].observation];
  }
}

void MissingObservations::fill(Ref<VectorXd> observation, const Ref<const VectorXd>& held) const {
  for (Index i = 0; i < size(); ++i) {
    const Pair& pair = pairs_[static_cast<std::size_t>(i)];
    if (!std::isnan(observation[pair.observation])) continue;
    observation[pair.observation] = held[i];
    observation[pair.flag] = 1.0;
  }
}

void MissingObservations::keep(const Ref<const VectorXd>& observation, Ref<VectorXd> held) const {
  for (Index i = 0; i < size(); ++i) {
    held[i] = observation[pairs_[static_cast<std::size_t>(i)].observation];
  }
}

}  // namespace waggle
