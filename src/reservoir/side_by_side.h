#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/reservoir.h>

namespace waggle {

/// Steps several states of one network at once. A product of a matrix and a vector reads all of A
/// for every state, which memory bounds; here it is read once for all of them. What becomes of a
/// state does not depend on those beside it, nor on how many they are, to the bit. It differs in
/// the last digits from the network's own step, which sums in another order.
class SideBySide {
 public:
  static constexpr Eigen::Index kMost = 8;  ///< states at once

  /// Whether there is a product to share: all members have a dense A.
  static bool suits(const EchoStateNetwork& network);
  /// The network must outlive it.
  explicit SideBySide(const EchoStateNetwork& network);

  const EchoStateNetwork& network() const { return network_; }
  /// next[i] = F(x[i], z[i]) for i up to `count` ≤ kMost; each of x and next points to n numbers, z
  /// to d of them. No next may overlap an x.
  void step(const double* const* x, const double* const* z, double* const* next,
            Eigen::Index count) const;

 private:
  const EchoStateNetwork& network_;
  Eigen::Index panels_;         // of rows of A, for each member
  std::vector<double> packed_;  // the panels one after the other, each column by column
};

}  // namespace waggle
