#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <waggle/fit/states.h>
#include <waggle/neighbours.h>

#include "core/check.h"
#include "reservoir/network_file.h"
#include "value/values_along.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kUnknown = 0.05;  // share of a return that an episode cut off may leave unknown

}  // namespace

NeighbourSystem::NeighbourSystem(EchoStateNetwork network, MatrixXd points, VectorXd units,
                                 Index nearest)
    : network_(std::move(network)),
      points_(std::move(points)),
      units_(std::move(units)),
      nearest_(nearest) {
  require(points_.rows() == network_.units() && units_.size() == network_.units(),
          "neighbours: {} numbers and {} units, must be the network's {}", points_.rows(),
          units_.size(), network_.units());
  require(points_.allFinite() && units_.allFinite() && (units_.array() > 0.0).all(),
          "neighbours: every number must be finite, every unit positive");
  require(nearest >= 1 && nearest <= points_.cols(), "nearest = {}: must be in [1, {}]", nearest,
          points_.cols());
}

void NeighbourSystem::map_features(const Ref<const MatrixXd>& x, Ref<MatrixXd> out) const {
  std::vector<Index> order(static_cast<std::size_t>(points_.cols()));
  VectorXd distance(points_.cols());
  out.setZero();
  for (Index j = 0; j < x.cols(); ++j) {
    const VectorXd at = x.col(j).cwiseQuotient(units_);
    distance = (points_.colwise() - at).colwise().squaredNorm();
    std::iota(order.begin(), order.end(), Index{0});
    // Of rows that are equally near, the earlier ones.
    std::nth_element(order.begin(), order.begin() + (nearest_ - 1), order.end(),
                     [&](Index a, Index b) {
                       return distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
                     });
    for (Index i = 0; i < nearest_; ++i) {
      out(order[static_cast<std::size_t>(i)], j) = 1.0 / static_cast<double>(nearest_);
    }
  }
}

void NeighbourSystem::save(Safetensors& file) const {
  network_.save(file);
  file.tensors["neighbours.points"] = matrix_tensor(points_);
  file.tensors["neighbours.units"] = vector_tensor(units_);
  file.tensors["neighbours.nearest"] =
      vector_tensor(VectorXd::Constant(1, static_cast<double>(nearest_)));
}

std::shared_ptr<const ReservoirSystem> NeighbourSystem::read(const Safetensors& file,
                                                             const InputLayout& /*layout*/,
                                                             Tensors& tensors) {
  EchoStateNetwork network = read_network(file, tensors);
  const Index n = network.units();
  const double nearest = tensors.vector("neighbours.nearest", 1)[0];
  require(nearest >= 1.0 && nearest <= 1e9 && nearest == std::floor(nearest),
          "tensor 'neighbours.nearest': {}, must be a whole number from 1 on", nearest);
  return std::make_shared<const NeighbourSystem>(
      std::move(network), tensors.matrix("neighbours.points", n),
      tensors.vector("neighbours.units", n), static_cast<Index>(nearest));
}

Controller learn_from_neighbours(const EchoStateNetwork& network, const InputLayout& layout,
                                 const ActionSpace& actions, const Trajectory& log,
                                 const NeighbourOptions& options) {
  require(options.discount >= 0.0 && options.discount < 1.0, "discount = {}: must be in [0, 1)",
          options.discount);
  require(options.most >= 1, "most = {}: must be at least 1", options.most);
  std::vector<EpisodeEnd> ends;
  for (Index k = 0; k < log.steps(); ++k) ends.push_back(log.end(k));
  const std::vector<double> returns =
      discounted_returns({log.rewards().data(), ends.size()}, ends, options.discount, kUnknown);
  const Index known =
      std::count_if(returns.begin(), returns.end(), [](double g) { return !std::isnan(g); });
  const Index kept = std::min(known, options.most);
  MatrixXd points(network.units(), kept);
  VectorXd values(kept);
  Index seen = 0;
  Index at = 0;
  VectorXd state = VectorXd::Zero(network.units());
  TrajectoryChunks source(log);
  for_each_block(network, layout, source, state, [&](const StateBlock& block) {
    for (Index i = 0; i < block.steps(); ++i) {
      const double value = returns[static_cast<std::size_t>(block.first + i)];
      // The state before a row is that which the action of the row before led to.
      if (block.first_in_episode + i == 0 || std::isnan(value)) continue;
      if (at < kept && seen++ * kept / known >= at) {
        points.col(at) = block.states.col(i);
        values[at++] = value;
      }
    }
  });
  require(at >= options.nearest,
          "nearest = {}: the log has {} rows after which enough is known, it must have as many",
          options.nearest, at);
  points.conservativeResize(Eigen::NoChange, at);
  const VectorXd mean = points.rowwise().mean();
  VectorXd units =
      ((points.colwise() - mean).rowwise().squaredNorm() / static_cast<double>(at)).cwiseSqrt();
  for (double& unit : units) unit = unit > 0.0 ? unit : 1.0;
  points.array().colwise() /= units.array();
  Controller controller{.reservoir = std::make_shared<const NeighbourSystem>(
                            network, std::move(points), units, options.nearest),
                        .layout = layout,
                        .actions = actions,
                        .weights = values.head(at)};
  controller.validate();
  return controller;
}

}  // namespace waggle
