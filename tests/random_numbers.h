#pragma once

#include <cstdint>

#include <Eigen/Core>

#include <waggle/base/random.h>

namespace waggle {

/// Numbers uniform in [−1, 1): the same in every run, whatever ran before, which those of
/// Eigen's Random(), drawn from std::rand, are not.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed = 0) : draws_(Random(seed).at(Purpose::user)) {}

  Eigen::MatrixXd matrix(Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd result(rows, columns);
    for (double& number : result.reshaped()) number = draws_.uniform(-1.0, 1.0);
    return result;
  }
  Eigen::VectorXd vector(Eigen::Index size) { return matrix(size, 1); }

 private:
  Draws draws_;
};

}  // namespace waggle
