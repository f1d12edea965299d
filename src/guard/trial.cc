#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <waggle/work/trial.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr Index kNotCounted = 4;  // the first of this many parts of a block does not count
constexpr double kFewest = 1.5;   // turns, as they count by now, that a scatter is known from

/// Student's quantile where the normal one is z.
double student(double z, double freedom) {
  using namespace boost::math;
  const double beyond = cdf(complement(normal_distribution<>(), std::min(z, 30.0)));
  return quantile(complement(students_t_distribution<>(freedom), beyond));
}

}  // namespace

void TrialOptions::validate() const {
  require(block >= 8, "block = {}: must be at least 8 steps", block);
  require(memory >= 1, "memory = {}: must be at least 1", memory);
  require(worse > 0.0 && std::isfinite(worse), "worse = {}: must be positive and finite", worse);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
}

Trial::Trial(const TrialOptions& options) : options_(options) { options_.validate(); }

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
  in_block_ = counted_ = 0;
  earned_ = 0.0;
  if (++at_ == kBlocks) end_turn();
}

void Trial::end_turn() {
  if (begun_ && whole_) {
    const double all = std::accumulate(means_.begin(), means_.end(), 0.0);
    const double start = means_[place_];
    const double difference = (all - start) / static_cast<double>(kBlocks - 1) - start;
    const auto steps = static_cast<double>(kBlocks) * static_cast<double>(options_.block);
    const double fade = std::pow(1.0 - 1.0 / static_cast<double>(options_.memory), steps);
    weight_ = fade * weight_ + 1.0;
    squared_weight_ = fade * fade * squared_weight_ + 1.0;
    sum_ = fade * sum_ + difference;
    squares_ = fade * squares_ + difference * difference;
    ++turns_;
  }
  begun_ = whole_ = true;
  at_ = 0;
  place_ = (place_ + 1) % kBlocks;
}

void Trial::restart() {
  weight_ = squared_weight_ = sum_ = squares_ = 0.0;
  turns_ = 0;
  at_ = 0;
  whole_ = true;
}

double Trial::difference() const { return turns_ > 0 ? sum_ / weight_ : 0.0; }

double Trial::interval() const {
  const double count = turns_ > 1 ? weight_ * weight_ / squared_weight_ : 1.0;
  if (count < kFewest) return std::numeric_limits<double>::infinity();
  const double mean = sum_ / weight_;
  const double variance = std::max(0.0, squares_ / weight_ - mean * mean) * count / (count - 1.0);
  return student(options_.worse, count - 1.0) * std::sqrt(variance / count);
}

}  // namespace waggle
