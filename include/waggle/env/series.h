#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

/// Time series: as they are handed to a forecaster, and some with known equations on which
/// forecasters are compared.
namespace waggle {

/// Named columns of numbers; each is a row here, each step a column.
struct Series {
  std::vector<std::string> names;
  Eigen::MatrixXd values;            ///< names × steps
  std::string where = "the series";  ///< what messages call it
};

/// The Mackey–Glass delay equation
///
///     ẋ(t) = β x(t−τ) / (1 + x(t−τ)^p) − γ x(t),      x(t) = history for t ≤ 0
///
/// At the defaults it is chaotic, with a Lyapunov exponent of about 0.006.
struct MackeyGlassOptions {
  Eigen::Index steps = 1000;    ///< samples wanted, ≥ 1
  double time_step = 1.0;       ///< between samples, > 0
  double feedback = 0.2;        ///< β ≥ 0
  double decay = 0.1;           ///< γ ≥ 0
  double exponent = 10.0;       ///< p > 0
  double delay = 17.0;          ///< τ, at least one step of the integrator
  double history = 1.2;         ///< its centre, > 0
  double history_spread = 0.1;  ///< the constant is drawn from history ± this; in [0, history)
  Eigen::Index discard = 1000;  ///< samples left out at the beginning, ≥ 0
  int substeps = 20;            ///< steps of the integrator between samples, ≥ 1
  std::uint64_t seed = 0;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// x at `steps` equidistant times. Fourth-order Runge–Kutta by the method of steps; the delayed
/// value is interpolated between the integrator's own steps by cubic Hermite polynomials, so the
/// whole is of fourth order.
Eigen::VectorXd mackey_glass(const MackeyGlassOptions& options = {});

/// NARMA10, y_{k+1} = 0.3 y_k + 0.05 y_k Σ_{i=0}^{9} y_{k−i} + 1.5 u_{k−9} u_k + 0.1.
struct Narma10Options {
  Eigen::Index steps = 1000;  ///< ≥ 1
  double highest = 0.5;  ///< u ~ U(0, highest), in (0, 0.5]: beyond, y soon grows without bound
  std::uint64_t seed = 0;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

struct Narma10 {
  Eigen::VectorXd input;   ///< u_0 … u_{T−1}
  Eigen::VectorXd output;  ///< y_1 … y_T: output[k] follows from the inputs up to u_k
};

/// Starts from u = y = 0 before k = 0. A rare sequence of inputs makes y explode; it is then drawn
/// anew from the seed's next stream. Throws std::runtime_error if that does not help 100 times.
Narma10 narma10(const Narma10Options& options = {});

/// The Lorenz system ẋ = σ(y − x), ẏ = x(ρ − z) − y, ż = xy − βz.
struct LorenzOptions {
  Eigen::Index steps = 1000;  ///< samples wanted, ≥ 1
  double time_step = 0.02;    ///< between samples, > 0
  double sigma = 10.0;
  double rho = 28.0;
  double beta = 8.0 / 3.0;
  Eigen::Index discard = 1000;  ///< samples left out at the beginning, ≥ 0
  double tolerance = 1e-12;     ///< absolute and relative, of one step; in [1e-14, 1e-3]
  std::uint64_t seed = 0;       ///< draws the start, each coordinate from U(0.5, 1.5)

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// (x, y, z) at `steps` equidistant times, 3 × steps. Runge–Kutta–Fehlberg of order 7(8). Throws
/// std::runtime_error if the solution leaves all bounds.
Eigen::MatrixXd lorenz(const LorenzOptions& options = {});

}  // namespace waggle
