#pragma once

#include <Eigen/Core>

#include <waggle/model.h>

namespace waggle {

/// Every fit solves systems of this size, in time that grows with its cube.
constexpr Eigen::Index kMostRemembered = 5000;

/// Throws Error if so many numbers, with the features of a second layer beside them, are too many
/// to be remembered.
void require_rememberable(Eigen::Index remembered, Eigen::Index layer);

/// Throws Error if what is remembered would be too much, or if memory is too small for fits of
/// predictive states to so many rows; of what these take the least is counted, since how many
/// numbers a state has only the rows tell. Nothing is drawn for it, which takes its time.
void require_predictive_size(const InputLayout& layout, const FitOptions& fit, Eigen::Index rows);

}  // namespace waggle
