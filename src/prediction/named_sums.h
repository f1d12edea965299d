#pragma once

#include <map>
#include <string>

#include <Eigen/Core>

namespace waggle {

/// Sums over rows by their names, as they travel: those of two sets of rows are added name by name.
using NamedSums = std::map<std::string, Eigen::MatrixXd>;

/// One of them. Throws Error, naming it, unless it is there, of this size and finite.
const Eigen::MatrixXd& named_sum(const NamedSums& sums, const std::string& name, Eigen::Index rows,
                                 Eigen::Index columns);

/// The lower half of a symmetric matrix, column by column, and back.
Eigen::VectorXd half_of(const Eigen::MatrixXd& matrix);
Eigen::MatrixXd from_half(const Eigen::Ref<const Eigen::VectorXd>& half, Eigen::Index n);

}  // namespace waggle
