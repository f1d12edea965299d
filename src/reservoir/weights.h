#pragma once

#include <cstdint>

#include <Eigen/Core>

#include "core/check.h"

/// What drawing weights has in common, by whatever procedure.
namespace waggle {

constexpr Eigen::Index kMostUnits = 100'000;  // a dense A of more would not fit in any memory
constexpr std::uint64_t kMemberStreams = std::uint64_t{1} << 40;  // between members

inline void require_finite(const char* name, const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  const Entry bad = first_non_finite(matrix);
  require(bad.row < 0, "{}: entry ({}, {}) is not finite", name, bad.row, bad.column);
}

}  // namespace waggle
