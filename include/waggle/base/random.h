#pragma once

#include <cstdint>

#include <Eigen/Core>

namespace waggle {

/// Independent uses of randomness. Each has its own stream under one seed, so that changing how
/// often one of them draws never shifts another. The numbers are part of "same seed, same bits":
/// add at the end, never renumber.
enum class Purpose : std::uint32_t {
  reservoir = 1,
  environment = 2,
  policy = 3,
  exploration = 4,
  series = 5,
  probe = 6,
  features = 7,
  user = 1000,  ///< user + i for anything outside the library
};

/// A short run of random numbers for one step of one purpose: a counter, no other state.
/// Philox 4×32-10 (Random123) with key = seed and counter = (draw, step, purpose).
class Draws {
 public:
  Draws(std::uint64_t seed, Purpose purpose, std::uint64_t step);

  /// Uniform on the open interval (0, 1), 53 bits.
  double uniform();
  /// Uniform on (lower, upper).
  double uniform(double lower, double upper) { return lower + (upper - lower) * uniform(); }
  /// N(0, 1), by Box–Muller.
  double normal();
  /// Uniform on {0, …, count−1}; count ≥ 1.
  Eigen::Index index(Eigen::Index count);

 private:
  void refill();

  std::uint64_t seed_;
  std::uint64_t step_;
  std::uint32_t purpose_;
  std::uint32_t block_ = 0;
  std::uint64_t words_[2] = {0, 0};
  int words_left_ = 0;
  double spare_normal_ = 0.0;
  bool has_spare_ = false;
};

/// The random streams of one run. Copyable, stateless: `at` gives the same draws every time.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}

  Draws at(Purpose purpose, std::uint64_t step = 0) const { return {seed_, purpose, step}; }
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
};

}  // namespace waggle
