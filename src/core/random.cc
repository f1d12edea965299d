#include <algorithm>
#include <cmath>
#include <numbers>

#include <Random123/philox.h>

#include <waggle/base/random.h>

namespace waggle {

Draws::Draws(std::uint64_t seed, Purpose purpose, std::uint64_t step)
    : seed_(seed), step_(step), purpose_(static_cast<std::uint32_t>(purpose)) {}

void Draws::refill() {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const r123::Philox4x32::ctr_type counter = {{block_++, low(step_), high(step_), purpose_}};
  const r123::Philox4x32::key_type key = {{low(seed_), high(seed_)}};
  const r123::Philox4x32::ctr_type bits = r123::Philox4x32()(counter, key);
  words_[1] = bits[0] | std::uint64_t{bits[1]} << 32;
  words_[0] = bits[2] | std::uint64_t{bits[3]} << 32;
  words_left_ = 2;
}

double Draws::uniform() {
  if (words_left_ == 0) refill();
  // The top 53 bits, centred in their cell: never 0. The last cell's centre rounds to 1, so it is
  // moved to the number before it.
  constexpr double cell = 1.0 / 9007199254740992.0;  // 2^-53
  return std::min((static_cast<double>(words_[--words_left_] >> 11) + 0.5) * cell, 1.0 - cell);
}

double Draws::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

Eigen::Index Draws::index(Eigen::Index count) {
  return std::min(static_cast<Eigen::Index>(uniform() * static_cast<double>(count)), count - 1);
}

}  // namespace waggle
