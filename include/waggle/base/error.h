#pragma once

#include <stdexcept>
#include <string>

namespace waggle {

/// Input the library refuses: an option out of range, sizes that do not fit, a file it cannot use.
/// The message names the thing, its value and the rule it broke.
///
/// Numerical outcomes (rank deficiency, divergence) are fields of results, never exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace waggle
