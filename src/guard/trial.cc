#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/trial.h>

#include "core/check.h"
#include "core/magnitude.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr std::uint64_t kSeed = 0;  // of the places; nothing else is drawn by it
constexpr Index kNotCounted = 4;    // the first of this many parts of a block does not count

/// Student's quantile where the normal one is z, by Cornish and Fisher.
double student(double z, double freedom) {
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4.0 * freedom) +
         (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom) +
         (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom * freedom * freedom);
}

}  // namespace

void TrialOptions::validate() const {
  require(block >= 8, "block = {}: must be at least 8 steps", block);
  require(settling >= 2, "settling = {}: must be at least 2 turns", settling);
  require(memory >= 1, "memory = {}: must be at least 1", memory);
  require(worse > 0.0 && std::isfinite(worse), "worse = {}: must be positive and finite", worse);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
}

Trial::Trial(const TrialOptions& options) : options_(options) {
  options_.validate();
  draw_place();
  begin_block();
}

void Trial::draw_place() { place_ = Random(kSeed).at(Purpose::probe, drawn_++).index(kBlocks); }

void Trial::begin_block() {
  adapted_ = !settling() && at_ != place_;
  in_block_ = counted_ = 0;
  earned_ = since_ = since_terminated_ = 0.0;
  fade_ = 1.0;
}

bool Trial::add(const Earned& earned) {
  ++in_block_;
  if (earned.counts && in_block_ > options_.block / kNotCounted) {
    ++counted_;
    fade_ *= options_.discount;
    since_ += earned.reward;
    since_terminated_ += earned.reward * (1.0 - fade_);
  }
  if (earned.terminated) end_segment(true);
  if (in_block_ < options_.block) return false;
  end_block();
  return true;
}

void Trial::end_segment(bool terminated) {
  earned_ += terminated ? since_terminated_ : since_;
  since_ = since_terminated_ = 0.0;
  fade_ = 1.0;
}

void Trial::end_block() {
  end_segment(false);
  whole_ = whole_ && 2 * counted_ >= options_.block - options_.block / kNotCounted;
  means_[at_] = earned_ / static_cast<double>(std::max<Index>(1, counted_));
  if (++at_ == kBlocks) end_turn();
  begin_block();
}

void Trial::end_turn() {
  double others = 0.0;
  for (Index i = 0; i < kBlocks; ++i) others += i == place_ ? 0.0 : means_[i];
  double difference = others / static_cast<double>(kBlocks - 1) - means_[place_];
  const double factor = Magnitude::admit(difference, unit_);
  settling_squares_ *= factor * factor;
  squares_ *= factor * factor;
  sum_ *= factor;
  difference /= unit_ > 0.0 ? unit_ : 1.0;
  if (whole_ && settling()) {
    ++settled_;
    settling_squares_ += difference * difference;
  } else if (whole_) {
    const double fade = std::pow(1.0 - 1.0 / static_cast<double>(options_.memory),
                                 static_cast<double>(kBlocks * options_.block));
    weight_ = fade * weight_ + 1.0;
    squared_weight_ = fade * fade * squared_weight_ + 1.0;
    sum_ = fade * sum_ + difference;
    squares_ = fade * squares_ + difference * difference;
    ++turns_;
  }
  at_ = 0;
  whole_ = true;
  draw_place();
}

void Trial::restart() {
  weight_ = squared_weight_ = sum_ = squares_ = 0.0;
  turns_ = 0;
  at_ = 0;
  whole_ = true;
  draw_place();
  begin_block();
}

double Trial::difference() const { return weight_ > 0.0 ? unit_ * (sum_ / weight_) : 0.0; }

double Trial::interval() const {
  if (turns_ == 0) return std::numeric_limits<double>::infinity();
  const double count = weight_ * weight_ / squared_weight_;
  const double mean = sum_ / weight_;
  const double about_mean = std::max(0.0, squares_ - weight_ * mean * mean);
  const double freedom = count + static_cast<double>(settled_) - 1.0;
  const double variance = (about_mean * count / weight_ + settling_squares_) / freedom;
  return unit_ * (student(options_.worse, freedom) * std::sqrt(variance / count));
}

}  // namespace waggle
