#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/QR>

#include <waggle/base/random.h>
#include <waggle/fit/activation.h>
#include <waggle/reservoir.h>

#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"
#include "reservoir/kernels.h"
#include "reservoir/weights.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

void require_scaling(const char* name, double value) {
  require(value >= 0.0 && value <= kLargestNumber, "{} = {}: must be in [0, {}]", name, value,
          kLargestNumber);
}

void require_leak(double leak) {
  require(leak > 0.0 && leak <= 1.0, "leak = {}: must be in (0, 1]", leak);
}

/// Columns are drawn from streams of their own, so a matrix does not depend on its neighbours.
MatrixXd draw_matrix(const ReservoirOptions& options, Index columns, double scaling, double density,
                     std::uint64_t first_stream) {
  const Random random(options.seed);
  MatrixXd matrix(options.units, columns);
  for (Index j = 0; j < columns; ++j) {
    Draws draws = random.at(Purpose::reservoir, first_stream + static_cast<std::uint64_t>(j));
    for (Index i = 0; i < options.units; ++i) {
      const double weight = draws.uniform(-scaling, scaling);
      const bool kept = density >= 1.0 || draws.uniform() < density;
      matrix(i, j) = kept ? weight : 0.0;
    }
  }
  return matrix;
}

/// The orthogonal factor of a random matrix. Signs are fixed so that it does not depend on how the
/// factorisation chose them.
MatrixXd rotation(const MatrixXd& random) {
  const Eigen::HouseholderQR<MatrixXd> qr(random);
  MatrixXd q = qr.householderQ();
  for (Index j = 0; j < q.cols(); ++j) {
    if (qr.matrixQR()(j, j) < 0.0) q.col(j) *= -1.0;
  }
  return q;
}

constexpr Index kMostMembers = 1000;  // the error of their mean is a 30th of one's
constexpr std::uint64_t kBiasStream = 0;
constexpr std::uint64_t kInputStream = 1;
constexpr std::uint64_t kRecurrentStream = std::uint64_t{1} << 32;
/// Scales `matrix` so that `measure(matrix)` becomes `target`.
template <typename Measure>
void rescale(MatrixXd& matrix, const char* name, double target, Measure measure) {
  const double current = measure(matrix);
  // A nilpotent matrix has radius 0, found as rounding noise; scaling by its inverse is nonsense.
  const bool usable = current > 1e-12 * matrix.cwiseAbs().maxCoeff();
  require(usable || target == 0.0,
          "{} = {}: the recurrent matrix has {} = 0 and cannot be scaled to it; raise density or "
          "recurrent_scaling",
          name, target, name);
  matrix *= target == 0.0 ? 0.0 : target / current;
}

/// The units of one member. Throws Error for invalid options, or if there is no room for every
/// member's A, or what Procedure 1 has in its place, and for one dense A twice more while it is
/// drawn and decomposed.
Index units_of(const ReservoirOptions& options, Index inputs, Index members) {
  options.validate();
  require(members >= 1 && members <= kMostMembers, "members = {}: must be in [1, {}]", members,
          kMostMembers);
  require(inputs >= 1, "inputs = {}: a reservoir needs at least 1 input channel", inputs);
  require(inputs <= kMostUnits, "inputs = {}: must be at most {}", inputs, kMostUnits);
  const auto count = static_cast<double>(members);
  if (const std::optional<ProcedureOne>& procedure = options.procedure_one) {
    const Index remembered = inputs * (procedure->delay + 1);
    require_room(count * static_cast<double>(procedure->features), static_cast<double>(remembered),
                 fmt::format("procedure_one: features = {}, delay = {}, members = {}",
                             procedure->features, procedure->delay, members));
    return 2 * (remembered + procedure->features);
  }
  const auto n = static_cast<double>(options.units);
  require_room((count * options.density + 2.0) * n, n,
               fmt::format("units = {}, members = {}", options.units, members));
  return options.units;
}

}  // namespace

void ReservoirOptions::validate() const {
  if (procedure_one) {
    procedure_one->validate();
    return;
  }
  require(units >= 1 && units <= kMostUnits, "units = {}: must be in [1, {}]", units, kMostUnits);
  require_leak(leak);
  if (slowest_leak) {
    require(*slowest_leak > 0.0 && *slowest_leak <= leak,
            "slowest_leak = {}: must be positive and at most leak = {}", *slowest_leak, leak);
  }
  require_scaling("recurrent_scaling", recurrent_scaling);
  require_scaling("input_scaling", input_scaling);
  require_scaling("bias_scaling", bias_scaling);
  require(!orthogonal || density == 1.0, "density = {}: an orthogonal matrix is dense", density);
  require(density > 0.0 && density <= 1.0, "density = {}: must be in (0, 1]", density);
  require(
      !(operator_norm && spectral_radius),
      "operator_norm = {} and spectral_radius = {}: give one of them, and none (std::nullopt) for "
      "the other",
      operator_norm.value_or(0.0), spectral_radius.value_or(0.0));
  if (operator_norm) require_scaling("operator_norm", *operator_norm);
  if (spectral_radius) require_scaling("spectral_radius", *spectral_radius);
}

EchoStateNetwork::EchoStateNetwork(const ReservoirOptions& options, Index inputs, Index members)
    : member_units_(units_of(options, inputs, members)),
      activation_(options.procedure_one ? Activation::relu : options.activation) {
  const std::optional<ProcedureOne>& procedure = options.procedure_one;
  const Index n = member_units_;
  const Index direct = options.direct_inputs ? inputs + 1 : 0;
  input_.setZero(members * n + direct, inputs);
  bias_.setZero(input_.rows());
  for (Index member = 0; member < members; ++member) {
    procedure ? draw_procedure_one(options, member) : draw(options, member);
  }
  leak_.setConstant(nonlinear_units(), procedure ? 1.0 : options.leak);
  if (options.slowest_leak && !procedure && n > 1) {
    const double low = std::log(*options.slowest_leak);
    const double high = std::log(options.leak);
    for (Index i = 0; i < leak_.size(); ++i) {
      leak_[i] = std::exp(std::lerp(low, high, static_cast<double>(i % n) / (n - 1.0)));
    }
  }
  if (options.direct_inputs) {
    input_.bottomRows(direct).topRows(inputs).setIdentity();
    bias_[bias_.size() - 1] = 1.0;
    has_constant_ = true;
  }
  prepare();
}

void EchoStateNetwork::prepare() {
  leaky_ = leak_.minCoeff() < 1.0;
  if (is_rectified(activation_)) return;
  for (const Block& block : blocks_) by_rows_.emplace_back(block.sparse);
}

void EchoStateNetwork::draw(const ReservoirOptions& options, Index member) {
  const Index n = member_units_;
  const std::uint64_t stream = kMemberStreams * static_cast<std::uint64_t>(member);
  MatrixXd recurrent = draw_matrix(options, n, options.recurrent_scaling, options.density,
                                   stream + kRecurrentStream);
  if (options.orthogonal) recurrent = rotation(recurrent);
  input_.middleRows(member * n, n) =
      draw_matrix(options, inputs(), options.input_scaling, 1.0, stream + kInputStream);
  bias_.segment(member * n, n) =
      draw_matrix(options, 1, options.bias_scaling, 1.0, stream + kBiasStream);
  if (options.operator_norm) {
    rescale(recurrent, "operator_norm", *options.operator_norm,
            [](const MatrixXd& a) { return linalg::singular_values(a)[0]; });
  }
  if (options.spectral_radius) {
    rescale(recurrent, "spectral_radius", *options.spectral_radius,
            [](const MatrixXd& a) { return linalg::spectral_radius(a); });
  }
  Block& block = blocks_.emplace_back();
  if (options.density < 1.0) {
    block.sparse = recurrent.sparseView();
  } else if (recurrent.cwiseAbs().maxCoeff() > 0.0) {
    block.dense = std::move(recurrent);
  }
}

EchoStateNetwork::EchoStateNetwork(MatrixXd recurrent, MatrixXd input, VectorXd bias,
                                   Activation activation, double leak)
    : member_units_(bias.size()),
      input_(std::move(input)),
      bias_(std::move(bias)),
      activation_(activation) {
  const Index n = bias_.size();
  require(n >= 1, "bias has {} entries: a reservoir needs at least 1 unit", n);
  require(recurrent.rows() == n && recurrent.cols() == n,
          "recurrent matrix is {} × {}: must be {} × {}, the size of the bias", recurrent.rows(),
          recurrent.cols(), n, n);
  require(input_.rows() == n && input_.cols() >= 1,
          "input matrix is {} × {}: must have {} rows, the size of the bias, and at least 1 column",
          input_.rows(), input_.cols(), n);
  require_leak(leak);
  require_finite("recurrent matrix", recurrent);
  require_finite("input matrix", input_);
  require_finite("bias", bias_);
  blocks_.emplace_back().dense = std::move(recurrent);
  leak_.setConstant(n, leak);
  prepare();
}

EchoStateNetwork::EchoStateNetwork(NetworkWeights weights)
    : member_units_(weights.member_units),
      has_constant_(weights.has_constant),
      blocks_(std::move(weights.recurrent)),
      input_(std::move(weights.input)),
      bias_(std::move(weights.bias)),
      activation_(weights.activation),
      leak_(std::move(weights.leak)) {
  const Index n = member_units_;
  require(n >= 1 && !blocks_.empty(), "a network of {} members of {} units: must have some",
          blocks_.size(), n);
  require(members() <= units() / n,  // a product could overflow
          "a network of {} members of {} units: the bias has only {} entries", members(), n,
          units());
  require(input_.rows() == units() && input_.cols() >= 1,
          "input matrix is {} × {}: must have {} rows, the size of the bias, and at least 1 column",
          input_.rows(), input_.cols(), units());
  require(leak_.size() == nonlinear_units(), "{} leaks for {} units", leak_.size(),
          nonlinear_units());
  for (const double leak : leak_) require_leak(leak);
  require_finite("input matrix", input_);
  require_finite("bias", bias_);
  for (Index member = 0; member < members(); ++member) {
    Block& block = blocks_[static_cast<std::size_t>(member)];
    require(block.dense.size() == 0 || (block.dense.rows() == n && block.dense.cols() == n),
            "recurrent matrix is {} × {}: must be {} × {}", block.dense.rows(), block.dense.cols(),
            n, n);
    require(block.sparse.size() == 0 || (block.sparse.rows() == n && block.sparse.cols() == n),
            "recurrent matrix is {} × {}: must be {} × {}", block.sparse.rows(),
            block.sparse.cols(), n, n);
    const int forms =
        (block.dense.size() > 0) + (block.sparse.size() > 0) + block.delayed.has_value();
    require(forms <= 1, "recurrent matrix: is dense, sparse or a delay line, not several of them");
    if (block.delayed) require_delay_line(*block.delayed, member);
    require_finite("recurrent matrix", block.dense);
    block.sparse.makeCompressed();
    require_finite("recurrent matrix",
                   Eigen::Map<const VectorXd>(block.sparse.valuePtr(), block.sparse.nonZeros()));
  }
  require(!has_constant_ || (units() > nonlinear_units() && bias_[units() - 1] == 1.0 &&
                             (input_.row(units() - 1).array() == 0.0).all()),
          "the constant unit must be the last, after those of the members, and be 1 for any input");
  prepare();
}

NetworkWeights EchoStateNetwork::weights() const {
  return {member_units_, blocks_, input_, bias_, activation_, leak_, has_constant_};
}

EchoStateNetwork EchoStateNetwork::with_input_scaling(const InputScaling& scaling) const {
  require(scaling.mean.size() == inputs() && scaling.spread.size() == inputs(),
          "input scaling has {} means and {} spreads: the reservoir has {} input channels",
          scaling.mean.size(), scaling.spread.size(), inputs());
  for (Index i = 0; i < inputs(); ++i) {
    require(std::isfinite(scaling.mean[i]) && scaling.spread[i] > 0.0 &&
                std::isfinite(scaling.spread[i]),
            "input scaling of channel {}: mean {} must be finite and spread {} positive and finite",
            i, scaling.mean[i], scaling.spread[i]);
  }
  EchoStateNetwork scaled = *this;
  scaled.input_ = input_ * scaling.spread.cwiseInverse().asDiagonal();
  scaled.bias_ = bias_ - scaled.input_ * scaling.mean;
  return scaled;
}

void EchoStateNetwork::preactivation(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z,
                                     Ref<VectorXd> out) const {
  eigen_assert(x.size() == units() && z.size() == inputs() && out.size() == units());
  out = bias_;
  kernels::add_product(input_.data(), units(), inputs(), z.data(), out.data());
  const Index n = member_units_;
  for (Index member = 0; member < members(); ++member) {
    const Block& block = blocks_[static_cast<std::size_t>(member)];
    const double* from = x.data() + member * n;
    double* to = out.data() + member * n;
    if (block.delayed) {
      // s, but for its oldest input, moves down the line by one input and feeds the features. What
      // is mirrored is the negative of what is not, and its place is free until then.
      const MatrixXd& features = *block.delayed;
      const Index half = n / 2;
      const Index moved = features.cols();
      Eigen::Map<VectorXd> s(to + half, moved);
      s = Eigen::Map<const VectorXd>(from, moved) - Eigen::Map<const VectorXd>(from + half, moved);
      Eigen::Map<VectorXd>(to + inputs(), moved) += s;
      kernels::add_product(features.data(), features.rows(), moved, s.data(),
                           to + inputs() + moved);
      Eigen::Map<VectorXd>(to + half, half) = -Eigen::Map<const VectorXd>(to, half);
    }
    if (block.dense.size() > 0) kernels::add_product(block.dense.data(), n, n, from, to);
    if (block.sparse.size() > 0 && by_rows_.empty()) {
      kernels::add_sparse_product(block.sparse.valuePtr(), block.sparse.innerIndexPtr(),
                                  block.sparse.outerIndexPtr(), n, from, to);
    } else if (block.sparse.size() > 0) {
      const auto& rows = by_rows_[static_cast<std::size_t>(member)];
      kernels::add_row_sparse_product(rows.valuePtr(), rows.innerIndexPtr(), rows.outerIndexPtr(),
                                      n, from, to);
    }
  }
}

void EchoStateNetwork::preactivations(const Ref<const MatrixXd>& x, const Ref<const MatrixXd>& z,
                                      Ref<MatrixXd> out) const {
  eigen_assert(x.rows() == units() && z.rows() == inputs() && out.rows() == units());
  eigen_assert(x.cols() == z.cols() && x.cols() == out.cols());
  const bool dense = std::all_of(blocks_.begin(), blocks_.end(),
                                 [](const Block& block) { return block.dense.size() > 0; });
  if (!dense) {  // there is no product to share
    for (Index j = 0; j < x.cols(); ++j) preactivation(x.col(j), z.col(j), out.col(j));
    return;
  }
  out.colwise() = bias_;
  linalg::add_product(input_, z, out);
  const Index n = member_units_;
  for (Index member = 0; member < members(); ++member) {
    linalg::add_product(blocks_[static_cast<std::size_t>(member)].dense,
                        x.middleRows(member * n, n), out.middleRows(member * n, n));
  }
}

void EchoStateNetwork::activate(const Ref<const VectorXd>& x, Ref<VectorXd> values) const {
  const Index n = nonlinear_units();
  apply_activation(activation_, values.data(), n);
  if (leaky_) kernels::leak(leak_.data(), x.data(), n, values.data());
}

void EchoStateNetwork::step(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z,
                            Ref<VectorXd> next) const {
  preactivation(x, z, next);
  activate(x, next);
}

MatrixXd EchoStateNetwork::recurrent() const {
  MatrixXd full = MatrixXd::Zero(units(), units());
  for (Index member = 0; member < members(); ++member) {
    const Block& block = blocks_[static_cast<std::size_t>(member)];
    auto place =
        full.block(member * member_units_, member * member_units_, member_units_, member_units_);
    if (block.dense.size() > 0) place = block.dense;
    if (block.sparse.size() > 0) place = MatrixXd(block.sparse);
    if (block.delayed) {
      const Index half = member_units_ / 2;
      const Index moved = block.delayed->cols();
      auto quarter = place.topLeftCorner(half, half);
      quarter.block(inputs(), 0, moved, moved).setIdentity();
      quarter.bottomLeftCorner(block.delayed->rows(), moved) = *block.delayed;
      place.topRightCorner(half, half) = -quarter;
      place.bottomLeftCorner(half, half) = -quarter;
      place.bottomRightCorner(half, half) = quarter;
    }
  }
  return full;
}

}  // namespace waggle
