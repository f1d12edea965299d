#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/echo_state.h>
#include <waggle/random.h>

#include "core/check.h"
#include "reservoir/activation.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 256;
constexpr double kRunAway = 1e100;  // its square is still finite

void require_range(double lowest, double highest) {
  require(std::isfinite(lowest) && std::isfinite(highest) && lowest < highest,
          "lowest = {}, highest = {}: the input's range must be finite and in order", lowest,
          highest);
}

/// Fills z with the inputs of one step; the same for the same seed and step.
void draw_inputs(std::uint64_t seed, Index step, double lowest, double highest, Ref<VectorXd> z) {
  Draws draws = Random(seed).at(Purpose::probe, static_cast<std::uint64_t>(step));
  for (double& u : z) u = draws.uniform(lowest, highest);
}

/// The initial states come from steps no run reaches.
constexpr Index kStartStep = std::numeric_limits<Index>::max();

/// The least-squares slope of log distance on the step. Zeros, which have no logarithm, end it.
double rate_of(const VectorXd& distances) {
  Index count = 0;
  while (count < distances.size() && distances[count] > 0.0) ++count;
  if (count < 2) return 0.0;
  const VectorXd logs = distances.head(count).array().log();
  const VectorXd steps =
      VectorXd::LinSpaced(count, -1.0, 1.0) * (static_cast<double>(count - 1) / 2);
  return std::exp(steps.dot(logs) / steps.squaredNorm());
}

/// `norm` is ‖A‖₂ times the activation's greatest slope.
double contraction_bound(double norm, const VectorXd& leak) {
  const double least = leak.minCoeff();
  const double most = leak.maxCoeff();
  if (least == most) return 1.0 - least * (1.0 - norm);
  return std::sqrt(1.0 - (norm < 1.0 ? least : most) * (1.0 - norm * norm));
}

}  // namespace

void ContractionOptions::validate() const {
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  require_range(lowest, highest);
  require(start_spread > 0.0 && std::isfinite(start_spread),
          "start_spread = {}: must be positive and finite", start_spread);
  require(tolerance > 0.0 && tolerance < 1.0, "tolerance = {}: must be in (0, 1)", tolerance);
}

Contraction measure_contraction(const ReservoirSystem& reservoir,
                                const ContractionOptions& options) {
  options.validate();
  const Index n = reservoir.units();
  VectorXd one(n), other(n), next(n), z(reservoir.inputs());
  Draws draws = Random(options.seed).at(Purpose::probe, static_cast<std::uint64_t>(kStartStep));
  for (VectorXd* state : {&one, &other}) {
    for (double& x : *state) x = options.start_spread * draws.normal();
  }
  Contraction result;
  result.distances.resize(options.steps + 1);
  result.distances[0] = (one - other).norm();
  Index k = 0;
  while (k < options.steps && !result.met) {
    draw_inputs(options.seed, k, options.lowest, options.highest, z);
    for (VectorXd* state : {&one, &other}) {
      reservoir.step(*state, z, next);
      state->swap(next);
    }
    const double distance = (one - other).norm();
    if (!std::isfinite(distance)) break;  // they fly apart
    result.distances[++k] = distance;
    result.met = distance <= options.tolerance * result.distances[0];
  }
  result.distances.conservativeResize(k + 1);
  result.rate = rate_of(result.distances);
  return result;
}

EchoStateReport check_echo_state(const EchoStateNetwork& network,
                                 const ContractionOptions& options) {
  EchoStateReport report;
  report.measured = measure_contraction(network, options);
  const MatrixXd recurrent = network.recurrent();
  const Index n = network.member_units();
  for (Index member = 0; member < network.members(); ++member) {
    MatrixXd block = recurrent.block(member * n, member * n, n, n);
    report.operator_norm = std::max(report.operator_norm, operator_norm(block));
    report.spectral_radius = std::max(report.spectral_radius, spectral_radius(block));
    const auto leak = network.leak().segment(member * n, n);
    block = (leak.asDiagonal() * block).eval();
    block.diagonal().array() += 1.0 - leak.array();
    report.leaky_spectral_radius = std::max(report.leaky_spectral_radius, spectral_radius(block));
  }
  report.contraction_bound = contraction_bound(
      traits_of(network.activation()).steepest * report.operator_norm, network.leak());
  // A bound that is below 1 by rounding alone proves nothing. Procedure 1 forgets by construction.
  const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  report.guaranteed = report.contraction_bound < 1.0 - rounding || network.is_delay_line();
  return report;
}

void MemoryCapacityOptions::validate() const {
  require(delays >= 0 && delays <= 10'000, "delays = {}: must be in [0, 10000]", delays);
  require(steps == 0 || steps >= 2, "steps = {}: must be at least 2, or 0", steps);
  require(washout >= 0, "washout = {}: must not be negative", washout);
  require_range(lowest, highest);
  solve.validate();
}

MemoryCapacity measure_memory(const ReservoirSystem& reservoir,
                              const MemoryCapacityOptions& options) {
  options.validate();
  const Index n = reservoir.units();
  const Index d = reservoir.inputs();
  MemoryCapacity result;
  result.options = options;
  Index& delays = result.options.delays;
  Index& steps = result.options.steps;
  Index& washout = result.options.washout;
  if (delays == 0) delays = 2 * n;
  if (steps == 0) steps = std::max<Index>(20 * n, 2000);
  washout = std::max(washout == 0 ? 4 * n : washout, delays);  // every delay needs its past
  const Index outputs = delays * d;

  const Index total = washout + 2 * steps;
  MatrixXd inputs(d, total);
  for (Index k = 0; k < total; ++k) {
    draw_inputs(options.seed, k, options.lowest, options.highest, inputs.col(k));
  }

  // A constant beside the features: targets have a mean.
  MatrixXd states(n, kBlock + 1);
  MatrixXd features = MatrixXd::Ones(reservoir.features() + 1, kBlock);
  MatrixXd targets(outputs, kBlock);
  states.col(0).setZero();
  const auto fill_targets = [&](Index first, Index count) {
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < delays; ++j) {
        targets.col(i).segment(j * d, d) = inputs.col(first + i - 1 - j);
      }
    }
  };
  const auto for_each_block = [&](Index first, Index end, const auto& visit) {
    for (; first < end && !result.diverged; first += kBlock) {
      const Index count = std::min(kBlock, end - first);
      reservoir.drive(inputs.middleCols(first, count), states.leftCols(count + 1));
      result.diverged = !(states.col(count).array().abs() < kRunAway).all();
      if (result.diverged) return;
      reservoir.map_features(states.middleCols(1, count),
                             features.topRows(reservoir.features()).leftCols(count));
      states.col(0) = states.col(count).eval();
      visit(first, count);
    }
  };

  result.capacity.setZero(delays, d);
  for_each_block(0, washout, [](Index, Index) {});
  if (result.diverged) return result;
  LeastSquares equations(features.rows(), outputs);
  for_each_block(washout, washout + steps, [&](Index first, Index count) {
    fill_targets(first, count);
    equations.add(features.leftCols(count), targets.leftCols(count));
  });
  if (result.diverged) return result;
  const MatrixXd weights = equations.solve(options.solve).weights;

  // Sums about the middle of the input's range, which is close to every mean.
  const double middle = 0.5 * (options.lowest + options.highest);
  VectorXd p = VectorXd::Zero(outputs), t = p, pp = p, tt = p, pt = p;
  for_each_block(washout + steps, total, [&](Index first, Index count) {
    fill_targets(first, count);
    const MatrixXd predicted =
        ((weights.transpose() * features.leftCols(count)).array() - middle).matrix();
    const MatrixXd wanted = (targets.leftCols(count).array() - middle).matrix();
    p += predicted.rowwise().sum();
    t += wanted.rowwise().sum();
    pp += predicted.rowwise().squaredNorm();
    tt += wanted.rowwise().squaredNorm();
    pt += predicted.cwiseProduct(wanted).rowwise().sum();
  });
  if (result.diverged) return result;
  const auto count = static_cast<double>(steps);
  for (Index i = 0; i < outputs; ++i) {
    const double predicted = pp[i] - p[i] * p[i] / count;
    const double wanted = tt[i] - t[i] * t[i] / count;
    const double common = pt[i] - p[i] * t[i] / count;
    // A readout that does not move knows nothing; the test leaves rounding out.
    const bool moves = predicted > 1e-24 * wanted;
    result.capacity(i / d, i % d) =
        moves ? std::min(1.0, common * common / (predicted * wanted)) : 0.0;
  }
  result.total = result.capacity.sum();
  return result;
}

}  // namespace waggle
