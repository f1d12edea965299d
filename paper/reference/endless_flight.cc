#include <waggle_paper/reference/bee_world.h>

#include "core/check.h"

namespace waggle::reference {

namespace {

void require_far_sight(double discount) {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
}

}  // namespace

EndlessFlight::EndlessFlight(const OptimalFlightOptions& options) : options_(options) {
  require_far_sight(options.discount);
  stretch_ = optimal_flight(options);
}

EndlessFlight::Step EndlessFlight::next() {
  if (next_ == stretch_.moves.size()) extend();
  const Step step{stretch_.positions[next_], stretch_.moves[next_], stretch_.nectar[next_]};
  ++next_;
  return step;
}

void EndlessFlight::restart() {
  if (stretch_.options.start_time != options_.start_time ||
      stretch_.options.discount != options_.discount) {
    stretch_ = optimal_flight(options_);
  }
  next_ = 0;
}

void EndlessFlight::set_discount(double discount) {
  require_far_sight(discount);
  OptimalFlightOptions options = options_;
  options.discount = discount;
  options.validate();
  options_ = options;
  extend();
}

void EndlessFlight::extend() {
  OptimalFlightOptions options = options_;
  options.start_time = stretch_.options.start_time + static_cast<double>(next_);
  options.world.start = stretch_.options.world.start;
  if (next_ > 0) options.world.start = stretch_.positions[next_ - 1] + stretch_.moves[next_ - 1];
  stretch_ = optimal_flight(options);
  next_ = 0;
}

}  // namespace waggle::reference
