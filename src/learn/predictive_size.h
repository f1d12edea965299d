#pragma once

#include <Eigen/Core>

#include <waggle/model.h>

namespace waggle {

/// Every fit solves systems of this size, in time that grows with its cube.
constexpr Eigen::Index kMostRemembered = 5000;

/// Throws Error if so many numbers, with the features of a second layer beside them, are too many
/// to be remembered.
void require_rememberable(Eigen::Index remembered, Eigen::Index layer);

/// Throws Error if what is remembered would be too much, or if memory is too small for sums over so
/// many random features. Nothing is drawn for it, which takes its time.
void require_predictive_size(const InputLayout& layout, const FitOptions& fit);

}  // namespace waggle
