#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/base/random.h>
#include <waggle/fit/activation.h>
#include <waggle/fit/echo_state.h>
#include <waggle/fit/least_squares.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kDriveBlock = 256;
constexpr double kRunAway = 1e100;  // its square is still finite

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

Contraction measure_contraction(const ReservoirSystem& reservoir, std::uint64_t seed) {
  constexpr Index kSteps = 2000;
  constexpr double kMet = 1e-10;
  const Index n = reservoir.units();
  VectorXd one(n), other(n), next(n), z(reservoir.inputs());
  Draws draws = Random(seed).at(Purpose::probe, static_cast<std::uint64_t>(kStartStep));
  for (VectorXd* state : {&one, &other}) {
    for (double& x : *state) x = draws.normal();
  }
  Contraction result;
  result.distances.resize(kSteps + 1);
  result.distances[0] = (one - other).norm();
  Index k = 0;
  while (k < kSteps && !result.met) {
    draw_inputs(seed, k, -1.0, 1.0, z);
    for (VectorXd* state : {&one, &other}) {
      reservoir.step(*state, z, next);
      state->swap(next);
    }
    const double distance = (one - other).norm();
    if (!std::isfinite(distance)) break;  // they fly apart
    result.distances[++k] = distance;
    result.met = distance <= kMet * result.distances[0];
  }
  result.distances.conservativeResize(k + 1);
  result.rate = rate_of(result.distances);
  return result;
}

}  // namespace

EchoStateReport check_echo_state(const EchoStateNetwork& network, std::uint64_t seed) {
  EchoStateReport report;
  report.measured = measure_contraction(network, seed);
  const MatrixXd recurrent = network.recurrent();
  const Index n = network.member_units();
  for (Index member = 0; member < network.members(); ++member) {
    MatrixXd block = recurrent.block(member * n, member * n, n, n);
    report.operator_norm = std::max(report.operator_norm, linalg::singular_values(block)[0]);
    report.spectral_radius = std::max(report.spectral_radius, linalg::spectral_radius(block));
    const auto leak = network.leak().segment(member * n, n);
    block = (leak.asDiagonal() * block).eval();
    block.diagonal().array() += 1.0 - leak.array();
    report.leaky_spectral_radius =
        std::max(report.leaky_spectral_radius, linalg::spectral_radius(block));
  }
  report.contraction_bound = contraction_bound(
      traits_of(network.activation()).steepest * report.operator_norm, network.leak());
  // A bound that is below 1 by rounding alone proves nothing. Procedure 1 forgets by construction.
  const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  report.guaranteed = report.contraction_bound < 1.0 - rounding || network.is_delay_line();
  return report;
}

namespace {

// As the task is defined; a smaller λ, relative to the mean squared feature, does no better.
constexpr double kLowest = -0.8, kHighest = 0.8;
constexpr double kRidge = 1e-12;

/// Random inputs driven through a reservoir, and for every step after the washout what its features
/// have to tell: the inputs of the last `delays` steps, one below the other.
class Recall {
 public:
  Recall(const ReservoirSystem& reservoir, Index delays, Index steps, std::uint64_t seed)
      : reservoir_(reservoir),
        delays_(delays),
        washout_(std::max(4 * reservoir.units(), delays)),  // every delay needs its past
        inputs_(reservoir.inputs(), washout_ + 2 * steps),
        states_(reservoir.units(), kDriveBlock + 1),
        // A constant beside the features: targets have a mean.
        features_(MatrixXd::Ones(reservoir.features() + 1, kDriveBlock)),
        targets_(delays * reservoir.inputs(), kDriveBlock) {
    for (Index k = 0; k < inputs_.cols(); ++k) {
      draw_inputs(seed, k, kLowest, kHighest, inputs_.col(k));
    }
    states_.col(0).setZero();
  }

  Index washout() const { return washout_; }
  Index features() const { return features_.rows(); }
  Index outputs() const { return targets_.rows(); }

  /// Drives on through `steps` inputs and hands over visit(features, targets), block by block; the
  /// targets mean nothing during the washout. False if the reservoir runs away.
  template <typename Visit>
  bool run(Index steps, const Visit& visit) {
    for (const Index end = at_ + steps; at_ < end;) {
      const Index count = std::min(kDriveBlock, end - at_);
      reservoir_.drive(inputs_.middleCols(at_, count), states_.leftCols(count + 1));
      if (!(states_.col(count).array().abs() < kRunAway).all()) return false;
      reservoir_.map_features(states_.middleCols(1, count),
                              features_.topRows(reservoir_.features()).leftCols(count));
      states_.col(0) = states_.col(count).eval();
      if (at_ >= washout_) fill_targets(count);
      visit(features_.leftCols(count), targets_.leftCols(count));
      at_ += count;
    }
    return true;
  }

 private:
  void fill_targets(Index count) {
    const Index d = inputs_.rows();
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < delays_; ++j) {
        targets_.col(i).segment(j * d, d) = inputs_.col(at_ + i - 1 - j);
      }
    }
  }

  const ReservoirSystem& reservoir_;
  const Index delays_, washout_;
  MatrixXd inputs_, states_, features_, targets_;
  Index at_ = 0;  // the step to come
};

/// The squared correlation of each output's predictions with what they should have been.
class Correlations {
 public:
  /// Sums are taken about `middle`; the closer it is to the means, the less cancels.
  Correlations(Index outputs, double middle)
      : middle_(middle), p_(VectorXd::Zero(outputs)), t_(p_), pp_(p_), tt_(p_), pt_(p_) {}

  void add(const MatrixXd& predictions, const Ref<const MatrixXd>& targets) {
    const MatrixXd predicted = (predictions.array() - middle_).matrix();
    const MatrixXd wanted = (targets.array() - middle_).matrix();
    p_ += predicted.rowwise().sum();
    t_ += wanted.rowwise().sum();
    pp_ += predicted.rowwise().squaredNorm();
    tt_ += wanted.rowwise().squaredNorm();
    pt_ += predicted.cwiseProduct(wanted).rowwise().sum();
    count_ += static_cast<double>(targets.cols());
  }
  double squared(Index i) const {
    const double predicted = pp_[i] - p_[i] * p_[i] / count_;
    const double wanted = tt_[i] - t_[i] * t_[i] / count_;
    const double common = pt_[i] - p_[i] * t_[i] / count_;
    // A readout that does not move knows nothing; the test leaves rounding out.
    const bool moves = predicted > 1e-24 * wanted;
    return moves ? std::min(1.0, common * common / (predicted * wanted)) : 0.0;
  }

 private:
  double middle_;
  double count_ = 0.0;
  VectorXd p_, t_, pp_, tt_, pt_;
};

}  // namespace

MemoryCapacity measure_memory(const ReservoirSystem& reservoir, Index delays, std::uint64_t seed) {
  require(delays >= 0 && delays <= 10'000, "delays = {}: must be in [0, 10000]", delays);
  if (delays == 0) delays = 2 * reservoir.units();
  const Index steps = std::max<Index>(20 * reservoir.units(), 2000);
  const Index d = reservoir.inputs();
  MemoryCapacity result;
  result.capacity.setZero(delays, d);
  Recall recall(reservoir, delays, steps, seed);
  using Block = Ref<const MatrixXd>;

  result.diverged = !recall.run(recall.washout(), [](const Block&, const Block&) {});
  if (result.diverged) return result;
  LeastSquares equations(recall.features(), recall.outputs());
  result.diverged = !recall.run(steps, [&](const Block& features, const Block& targets) {
    equations.add(features, targets);
  });
  if (result.diverged) return result;
  const MatrixXd weights =
      equations.solve({.ridge = kRidge, .scale = RidgeScale::relative}).weights;

  Correlations correlations(recall.outputs(), 0.5 * (kLowest + kHighest));
  result.diverged = !recall.run(steps, [&](const Block& features, const Block& targets) {
    correlations.add(weights.transpose() * features, targets);
  });
  if (result.diverged) return result;
  for (Index i = 0; i < recall.outputs(); ++i) {
    result.capacity(i / d, i % d) = correlations.squared(i);
  }
  result.total = result.capacity.sum();
  return result;
}

}  // namespace waggle
