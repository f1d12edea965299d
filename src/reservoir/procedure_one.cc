#include <algorithm>
#include <cmath>

#include <waggle/base/random.h>
#include <waggle/reservoir.h>

#include "core/check.h"
#include "reservoir/weights.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void ProcedureOne::validate() const {
  require(features >= 1 && features <= kMostUnits,
          "procedure_one: features = {}: must be in [1, {}]", features, kMostUnits);
  require(delay >= 0 && delay <= kMostUnits, "procedure_one: delay = {}: must be in [0, {}]", delay,
          kMostUnits);
  require(radius > 0.0 && std::isfinite(radius),
          "procedure_one: radius = {}: must be positive and finite", radius);
  if (input_bound) {
    require(*input_bound >= 0.0 && std::isfinite(*input_bound),
            "procedure_one: input_bound = {}: must be finite and not negative", *input_bound);
  }
}

double input_bound(const Ref<const MatrixXd>& z, Index delay) {
  require(delay >= 0, "input_bound: delay = {}: must not be negative", delay);
  double largest = 0.0;
  for (Index k = 0; k < z.cols(); ++k) {
    const Index first = std::max<Index>(0, k - delay);
    largest = std::max(largest, z.middleCols(first, k + 1 - first).squaredNorm());
  }
  return std::sqrt(largest);
}

/// Definition proc:procedure. A_i is a direction on the sphere times R u^{1/m}: uniform on the
/// ball.
void EchoStateNetwork::draw_procedure_one(const ReservoirOptions& options, Index member) {
  const ProcedureOne& procedure = *options.procedure_one;
  require(procedure.input_bound.has_value(),
          "procedure_one: input_bound is needed to draw the biases; measure it with input_bound()");
  const Index d = inputs();
  const Index m = d * (procedure.delay + 1);
  const double largest_bias = std::max(*procedure.input_bound * procedure.radius, 1.0);
  const Random random(options.seed);
  MatrixXd features(procedure.features, m);
  VectorXd bias(procedure.features);
  for (Index i = 0; i < procedure.features; ++i) {
    // Each feature has its own stream, so more of them, or a longer memory, leave the others' ζ.
    Draws draws =
        random.at(Purpose::reservoir, kMemberStreams * static_cast<std::uint64_t>(member) +
                                          static_cast<std::uint64_t>(i));
    bias[i] = draws.uniform(-largest_bias, largest_bias);
    const double radius =
        procedure.radius * std::pow(draws.uniform(), 1.0 / static_cast<double>(m));
    for (Index j = 0; j < m; ++j) features(i, j) = draws.normal();
    features.row(i) *= radius / features.row(i).norm();
  }
  const Index half = m + procedure.features;
  auto input = input_.middleRows(member * member_units_, member_units_);
  input.topRows(d).setIdentity();
  input.middleRows(m, procedure.features) = features.leftCols(d);
  input.bottomRows(half) = -input.topRows(half);
  auto biases = bias_.segment(member * member_units_, member_units_);
  biases.segment(m, procedure.features) = bias;
  biases.tail(half) = -biases.head(half);
  blocks_.emplace_back().delayed = features.rightCols(m - d);
}

/// A step relies on the member being its own mirror image.
void EchoStateNetwork::require_delay_line(const MatrixXd& features, Index member) const {
  const Index half = member_units_ / 2;
  require(
      features.rows() >= 1 && features.cols() % inputs() == 0 && member_units_ % 2 == 0 &&
          inputs() + features.cols() + features.rows() == half,
      "delay line of {} features of {} delayed inputs: does not make up {} units with {} inputs",
      features.rows(), features.cols(), member_units_, inputs());
  require_finite("delay line", features);
  const auto input = input_.middleRows(member * member_units_, member_units_);
  const auto bias = bias_.segment(member * member_units_, member_units_);
  require(input.topRows(half) == -input.bottomRows(half) && bias.head(half) == -bias.tail(half),
          "delay line: the second half of a member's units must mirror the first");
  require(activation_ == Activation::relu && leak_.minCoeff() == 1.0,
          "delay line: must be of ReLU units without a leak");
}

}  // namespace waggle
