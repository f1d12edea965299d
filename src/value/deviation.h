#pragma once

#include <Eigen/Core>

namespace waggle {

/// The ridge of a system that is to be solved whatever it is: with one of 0 a singular system would
/// stay singular, so it is at least of rounding's size.
double solvable_ridge(double ridge, const Eigen::MatrixXd& gram);

/// The lower triangular L with LLᵀ = Cov(W) = σ² G⁻¹ S G⁻ᵀ, of weights W = G⁻¹ Σ φ t whose targets
/// scatter by σ, for S = Σ φφᵀ; both with their ridge. Empty if that is too ill-conditioned to say.
Eigen::MatrixXd deviation_factor(Eigen::MatrixXd system, const Eigen::MatrixXd& gram,
                                 double deviation);

/// out = entries of Lᵀφ, from number `first` on, of an L stored by rows: those where φ is 0, as
/// half of what is rectified is, are passed over.
using DeviationFactor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void write_deviations(const DeviationFactor& factor, const Eigen::Ref<const Eigen::VectorXd>& phi,
                      Eigen::Index first, Eigen::Ref<Eigen::VectorXd> out);

}  // namespace waggle
