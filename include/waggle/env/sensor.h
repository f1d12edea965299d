#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/base/random.h>

namespace waggle {

/// What lies between a system and what is seen of it: o_k = y_{k−delay} + noise · N(0, I).
struct SensorOptions {
  double noise = 0.0;      ///< standard deviation added to every number seen, ≥ 0
  Eigen::Index delay = 0;  ///< steps by which what is seen is late, 0 … 1000

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, SensorOptions& o) {
  v("noise", o.noise, "standard deviation of what is added to every number seen");
  v("delay", o.delay, "steps by which what is seen is late");
}

/// Reads a system's output through such a sensor. Before `delay` steps of an episode have passed
/// it shows the first output.
class Sensor {
 public:
  /// Throws Error for bad options.
  explicit Sensor(const SensorOptions& options = {});

  /// A new episode starts with the output y; what is seen of it replaces y.
  void reset(Draws& draws, Eigen::Ref<Eigen::VectorXd> y);
  /// The output after a step; what is seen of it replaces y.
  void see(Draws& draws, Eigen::Ref<Eigen::VectorXd> y);

 private:
  void add_noise(Draws& draws, Eigen::Ref<Eigen::VectorXd> y) const;

  SensorOptions options_;
  std::vector<Eigen::VectorXd> late_;  // the last `delay` outputs, a ring
  std::size_t oldest_ = 0;
};

}  // namespace waggle
