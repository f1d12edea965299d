#pragma once

#include <Eigen/Core>

#include <waggle/reservoir.h>

namespace waggle {

/// How large the networks of options are, before they are drawn.
struct NetworkSize {
  Eigen::Index members = 0;
  Eigen::Index own = 0;     ///< units of one member
  Eigen::Index shared = 0;  ///< linear units that all have in common

  Eigen::Index features() const { return members * own + shared; }
};

/// Throws Error for invalid options, inputs < 1, members < 1, and if memory is too small for them.
NetworkSize network_size(const ReservoirOptions& options, Eigen::Index inputs,
                         Eigen::Index members);

}  // namespace waggle
