#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/detail/require.h>
#include <waggle/environment.h>
#include <waggle/rollout.h>

#include "arrays.h"
#include "watcher.h"

namespace waggle::python {

/// What the adapter says of its environment.
inline EnvironmentSpec read_spec(const nb::dict& given) {
  EnvironmentSpec spec;
  spec.name = nb::cast<std::string>(given["name"]);
  const auto choices = nb::cast<int>(given["choices"]);
  if (choices > 0) {
    spec.actions = ActionSpace::discrete(choices);
  } else {
    spec.actions = ActionSpace::box(Eigen::VectorXd(vector_of(nb::cast<Numbers>(given["lower"]))),
                                    Eigen::VectorXd(vector_of(nb::cast<Numbers>(given["upper"]))));
  }
  spec.action_names = nb::cast<std::vector<std::string>>(given["action_names"]);
  spec.observation_names = nb::cast<std::vector<std::string>>(given["observation_names"]);
  spec.reward_is_input = nb::cast<bool>(given["reward_is_input"]);
  return spec;
}

/// Copies of an environment in Python. An adapter steps and resets them; it reads actions from and
/// writes what they show into arrays that it shares with this.
class PythonCopies final : public EnvironmentCopies {
 public:
  /// Tells `watcher` of its steps, if there will be a `total` of them.
  PythonCopies(nb::object adapter, EnvironmentSpec spec, Watcher& watcher, double total = 0.0)
      : adapter_(std::move(adapter)),
        spec_(std::move(spec)),
        watcher_(watcher),
        total_(total),
        observations_(nb::cast<Buffer<double>>(adapter_.attr("observations"))),
        actions_(nb::cast<Buffer<double>>(adapter_.attr("actions"))),
        rewards_(nb::cast<Buffer<double>>(adapter_.attr("rewards"))),
        terminated_(nb::cast<Buffer<bool>>(adapter_.attr("terminated"))),
        truncated_(nb::cast<Buffer<bool>>(adapter_.attr("truncated"))) {}

  EnvironmentSpec spec() const override { return spec_; }
  Eigen::Index copies() const override { return static_cast<Eigen::Index>(rewards_.shape(0)); }
  void reset(std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    adapter_.attr("reset")();
    read_all(percepts);
  }
  void step(const Eigen::Ref<const Eigen::MatrixXd>& actions,
            std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    Eigen::Map<Eigen::MatrixXd>(actions_.data(), actions.rows(), actions.cols()) = actions;
    adapter_.attr("step")();
    read_all(percepts);
    done_ += static_cast<double>(actions.cols());
    if (total_ > 0.0) watcher_.tell("steps", std::min(done_, total_ - 1.0), total_);
  }
  bool restart(std::span<const Eigen::Index> copies, std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    nb::list list;
    for (const Eigen::Index copy : copies) list.append(copy);
    if (!nb::cast<bool>(adapter_.attr("restart")(list))) return false;
    for (const Eigen::Index copy : copies) read(copy, percepts[static_cast<std::size_t>(copy)]);
    done_ += static_cast<double>(copies.size());
    return true;
  }

 private:
  template <typename T>
  using Buffer = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

  void read_all(std::span<Percept> percepts) const {
    for (std::size_t i = 0; i < percepts.size(); ++i) {
      read(static_cast<Eigen::Index>(i), percepts[i]);
    }
  }
  /// Throws Error, naming it, for a number that is not finite.
  void read(Eigen::Index copy, Percept& percept) const {
    constexpr double kLargest = 1e100;  // as in a log
    const Eigen::Index size = spec_.observation_size();
    const double* seen = observations_.data() + copy * size;
    for (Eigen::Index i = 0; i < size; ++i) {
      require(std::abs(seen[i]) <= kLargest,
              "environment '{}': observation '{}' is {}, must be finite and within ±{}", spec_.name,
              spec_.observation_names[static_cast<std::size_t>(i)], seen[i], kLargest);
      percept.observation[i] = seen[i];
    }
    percept.reward = rewards_.data()[copy];
    require(std::abs(percept.reward) <= kLargest,
            "environment '{}': the reward is {}, must be finite and within ±{}", spec_.name,
            percept.reward, kLargest);
    percept.terminated = terminated_.data()[copy];
    percept.truncated = truncated_.data()[copy];
  }

  nb::object adapter_;
  EnvironmentSpec spec_;
  Watcher& watcher_;
  double done_ = 0.0;
  double total_;
  Buffer<double> observations_, actions_, rewards_;
  Buffer<bool> terminated_, truncated_;
};

}  // namespace waggle::python
