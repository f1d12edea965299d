#pragma once

#include <cstdint>

#include <Eigen/Core>

#include <waggle/reservoir.h>

/// Does a reservoir forget where it started (the echo state property), and how much does it
/// remember of its input?
namespace waggle {

/// Two copies of a reservoir, started apart from N(0, 1) and driven by the same input, U(−1, 1),
/// for at most 2,000 steps: one input and one pair of states can refute the echo state property,
/// but never prove it.
struct Contraction {
  Eigen::VectorXd distances;  ///< ‖x_k − x'_k‖ for k = 0, 1, …, to where they met, or the last step
  bool met = false;           ///< to 1e-10 of their first distance
  /// The factor by which the distance shrinks in a step: e to the least-squares slope of its
  /// logarithm, from the start until it met. 0 if it vanished at once; above 1 if it grew.
  double rate = 0.0;
};

/// What can be said about the echo state property of a network.
///
/// The linear units after the nonlinear ones (direct inputs, the constant) remember nothing and
/// count for nothing here. An activation of slope at most 1 makes one leaky step
///
///     x ↦ (1 − l) x + l σ(A x + C z + ζ)
///
/// a contraction by 1 − l (1 − ‖A‖₂) if all units leak alike. If leaks l_i differ, then in the norm
/// Σ x_i² / l_i, by convexity, by √(1 − l (1 − ‖A‖₂²)) where l is the smallest leak if ‖A‖₂ < 1 and
/// the largest if not. Either is below 1 exactly if ‖A‖₂ < 1, which is sufficient for the echo
/// state property whatever the input; a spectral radius below 1 is neither sufficient nor
/// necessary, but what people tune by.
struct EchoStateReport {
  double operator_norm = 0.0;          ///< ‖A‖₂, the largest over the members
  double spectral_radius = 0.0;        ///< max |eigenvalue| of A, likewise
  double leaky_spectral_radius = 0.0;  ///< of (1 − l) I + l A: the rate of a linear network at last
  double contraction_bound = 0.0;      ///< the bound above
  bool guaranteed = false;             ///< contraction_bound < 1
  Contraction measured;
};

EchoStateReport check_echo_state(const EchoStateNetwork& network, std::uint64_t seed = 0);

/// Jaeger's short-term memory: how well the inputs of the past can be read from the state,
/// linearly.
struct MemoryCapacity {
  /// delays × inputs: entry (j, c) is the squared correlation, on the test part, of the best linear
  /// readout of u_{k−1−j} in channel c (delay j + 1) with it, after u_k was read. In [0, 1].
  Eigen::MatrixXd capacity;
  double total = 0.0;     ///< their sum; at most the number of units, but for chance
  bool diverged = false;  ///< the states did not stay finite: nothing was measured, all is 0
};

/// Drives every input channel by independent noise, U(−0.8, 0.8), and fits one readout for each
/// delay up to the longest, at most 10,000, and channel, all at once; 0 delays are twice the units.
/// Throws Error if there are more.
MemoryCapacity measure_memory(const ReservoirSystem& reservoir, Eigen::Index delays = 0,
                              std::uint64_t seed = 0);

}  // namespace waggle
