#pragma once

#include <string>

#include <Eigen/Core>

#include "export/c_constants.h"
#include "export/c_plan.h"

namespace waggle {

/// The network's step in C: what every exported controller remembers by.
class CNetwork {
 public:
  /// Writes its constants. All but the constants must outlive it.
  CNetwork(const CPlan& plan, CConstants& constants);

  /// Numbers of A that are multiplied in a step.
  Eigen::Index recurrent_products() const { return recurrent_products_; }
  /// Whether the code needs stdint.h.
  bool has_indices() const { return recurrent_products_ > 0 && !dense_; }
  /// Whether it needs math.h.
  bool computes() const;

  /// @_prepare and @_next.
  std::string step_code() const;

 private:
  void write_recurrent(CConstants& constants);

  const CPlan& plan_;
  bool dense_ = true;
  Eigen::Index recurrent_products_ = 0;
};

/// A controller whose value is linear in the network's state: its constants, …
void write_network_value(const CPlan& plan, CConstants& constants);
/// … @_try, @_remember and @_forget …
std::string network_value_code(const CPlan& plan);
/// … and @_search, if it is solved exactly.
std::string network_search_code(const CPlan& plan);

}  // namespace waggle
