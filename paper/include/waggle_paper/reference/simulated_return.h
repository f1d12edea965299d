#pragma once

namespace waggle::reference {

/// What a way to act reaches.
struct SimulatedReturn {
  double mean = 0.0;  ///< over episodes of the sum of their rewards
  double standard_error = 0.0;
  int episodes = 0;
};

}  // namespace waggle::reference
