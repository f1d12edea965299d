#include <cmath>

#include <waggle/env/sensor.h>

#include "core/check.h"

namespace waggle {

using Eigen::Ref;
using Eigen::VectorXd;

void SensorOptions::validate() const {
  require(noise >= 0.0 && std::isfinite(noise), "noise = {}: must be finite and not negative",
          noise);
  require(delay >= 0 && delay <= 1000, "delay = {}: must be in [0, 1000]", delay);
}

Sensor::Sensor(const SensorOptions& options) : options_(options) { options.validate(); }

void Sensor::reset(Draws& draws, Ref<VectorXd> y) {
  late_.assign(static_cast<std::size_t>(options_.delay), y);
  oldest_ = 0;
  add_noise(draws, y);
}

void Sensor::see(Draws& draws, Ref<VectorXd> y) {
  if (!late_.empty()) {
    late_[oldest_].swap(y);
    oldest_ = (oldest_ + 1) % late_.size();
  }
  add_noise(draws, y);
}

void Sensor::add_noise(Draws& draws, Ref<VectorXd> y) const {
  if (options_.noise == 0.0) return;
  for (double& number : y) number += options_.noise * draws.normal();
}

}  // namespace waggle
