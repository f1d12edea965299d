#include <cmath>
#include <utility>

#include <waggle/random.h>
#include <waggle/reservoir.h>

#include "core/check.h"
#include "linalg/dense.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

void require_scaling(const char* name, double value) {
  require(value >= 0.0 && std::isfinite(value), "{} = {}: must be finite and not negative", name,
          value);
}

void require_leak(double leak) {
  require(leak > 0.0 && leak <= 1.0, "leak = {}: must be in (0, 1]", leak);
}

void require_finite(const char* name, const Ref<const MatrixXd>& matrix) {
  const Entry bad = first_non_finite(matrix);
  require(bad.row < 0, "{}: entry ({}, {}) is not finite", name, bad.row, bad.column);
}

void require_square_and_finite(const char* name, const Ref<const MatrixXd>& matrix) {
  require(matrix.size() > 0 && matrix.rows() == matrix.cols(),
          "{}: the matrix is {} × {}, must be square and not empty", name, matrix.rows(),
          matrix.cols());
  require_finite(name, matrix);
}

double draw_weight(Distribution distribution, double scaling, Draws& draws) {
  return distribution == Distribution::uniform ? draws.uniform(-scaling, scaling)
                                               : scaling * draws.normal();
}

/// Columns are drawn from streams of their own, so a matrix does not depend on its neighbours.
MatrixXd draw_matrix(const ReservoirOptions& options, Index columns, double scaling, double density,
                     std::uint64_t first_stream) {
  const Random random(options.seed);
  MatrixXd matrix(options.units, columns);
  for (Index j = 0; j < columns; ++j) {
    Draws draws = random.at(Purpose::reservoir, first_stream + static_cast<std::uint64_t>(j));
    for (Index i = 0; i < options.units; ++i) {
      const double weight = draw_weight(options.distribution, scaling, draws);
      const bool kept = density >= 1.0 || draws.uniform() < density;
      matrix(i, j) = kept ? weight : 0.0;
    }
  }
  return matrix;
}

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

}  // namespace

void ReservoirOptions::validate() const {
  require(units >= 1, "units = {}: must be at least 1", units);
  require_leak(leak);
  require_scaling("recurrent_scaling", recurrent_scaling);
  require_scaling("input_scaling", input_scaling);
  require_scaling("bias_scaling", bias_scaling);
  require(density > 0.0 && density <= 1.0, "density = {}: must be in (0, 1]", density);
  require(!(operator_norm && spectral_radius),
          "operator_norm = {} and spectral_radius = {}: give one of them, not both",
          operator_norm.value_or(0.0), spectral_radius.value_or(0.0));
  if (operator_norm) require_scaling("operator_norm", *operator_norm);
  if (spectral_radius) require_scaling("spectral_radius", *spectral_radius);
}

EchoStateNetwork::EchoStateNetwork(const ReservoirOptions& options, Index inputs) {
  options.validate();
  require(inputs >= 1, "inputs = {}: a reservoir needs at least 1 input channel", inputs);
  MatrixXd recurrent = draw_matrix(options, options.units, options.recurrent_scaling,
                                   options.density, kRecurrentStream);
  input_ = draw_matrix(options, inputs, options.input_scaling, 1.0, kInputStream);
  bias_ = draw_matrix(options, 1, options.bias_scaling, 1.0, kBiasStream);
  activation_ = options.activation;
  leak_ = options.leak;
  if (options.operator_norm) {
    rescale(recurrent, "operator_norm", *options.operator_norm,
            [](const MatrixXd& a) { return linalg::singular_values(a)[0]; });
  }
  if (options.spectral_radius) {
    rescale(recurrent, "spectral_radius", *options.spectral_radius,
            [](const MatrixXd& a) { return linalg::spectral_radius(a); });
  }
  sparse_ = options.density < 1.0;
  if (sparse_) {
    sparse_recurrent_ = recurrent.sparseView();
  } else {
    dense_recurrent_ = std::move(recurrent);
  }
}

EchoStateNetwork::EchoStateNetwork(MatrixXd recurrent, MatrixXd input, VectorXd bias,
                                   Activation activation, double leak)
    : dense_recurrent_(std::move(recurrent)),
      input_(std::move(input)),
      bias_(std::move(bias)),
      activation_(activation),
      leak_(leak) {
  const Index n = bias_.size();
  require(n >= 1, "bias has {} entries: a reservoir needs at least 1 unit", n);
  require(dense_recurrent_.rows() == n && dense_recurrent_.cols() == n,
          "recurrent matrix is {} × {}: must be {} × {}, the size of the bias",
          dense_recurrent_.rows(), dense_recurrent_.cols(), n, n);
  require(input_.rows() == n && input_.cols() >= 1,
          "input matrix is {} × {}: must have {} rows, the size of the bias, and at least 1 column",
          input_.rows(), input_.cols(), n);
  require_leak(leak);
  require_finite("recurrent matrix", dense_recurrent_);
  require_finite("input matrix", input_);
  require_finite("bias", bias_);
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
  const Index n = units();
  eigen_assert(x.size() == n && z.size() == inputs() && out.size() == n);
  out = bias_;
  kernels::add_product(input_.data(), n, inputs(), z.data(), out.data());
  if (!sparse_) {
    kernels::add_product(dense_recurrent_.data(), n, n, x.data(), out.data());
    return;
  }
  for (Index j = 0; j < n; ++j) {
    if (x[j] == 0.0) continue;
    for (Eigen::SparseMatrix<double>::InnerIterator it(sparse_recurrent_, j); it; ++it) {
      out[it.row()] += it.value() * x[j];
    }
  }
}

void EchoStateNetwork::activate(const Ref<const VectorXd>& x, Ref<VectorXd> values) const {
  switch (activation_) {
    case Activation::relu:
      kernels::relu(values.data(), values.size());
      break;
    case Activation::tanh:
      for (Index i = 0; i < values.size(); ++i) values[i] = std::tanh(values[i]);
      break;
    case Activation::identity:
      break;
  }
  if (leak_ < 1.0) values = (1.0 - leak_) * x + leak_ * values;
}

void EchoStateNetwork::step(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z,
                            Ref<VectorXd> next) const {
  preactivation(x, z, next);
  activate(x, next);
}

MatrixXd EchoStateNetwork::recurrent() const {
  return sparse_ ? MatrixXd(sparse_recurrent_) : dense_recurrent_;
}

double operator_norm(const Ref<const MatrixXd>& matrix) {
  require_square_and_finite("operator_norm", matrix);
  return linalg::singular_values(matrix)[0];
}

double spectral_radius(const Ref<const MatrixXd>& matrix) {
  require_square_and_finite("spectral_radius", matrix);
  return linalg::spectral_radius(matrix);
}

}  // namespace waggle
