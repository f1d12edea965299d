#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/environment.h>
#include <waggle/rollout.h>

#include "arrays.h"
#include "core/check.h"
#include "core/text.h"
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

template <typename T>
using Buffer = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

/// Copies of an environment in Python, which writes what they show into arrays it shares with this:
/// observations, rewards, terminated and truncated; and reads actions.
class Buffers {
 public:
  Buffers(nb::object adapter, EnvironmentSpec spec)
      : adapter_(std::move(adapter)),
        spec_(std::move(spec)),
        reset_(adapter_.attr("reset")),
        step_(adapter_.attr("step")),
        restart_(adapter_.attr("restart")),
        direct_(adapter_.attr("direct")),
        act_(adapter_.attr("act")),
        write_(adapter_.attr("write")),
        start_(nb::cast<long>(adapter_.attr("start"))),
        observations_(nb::cast<Buffer<double>>(adapter_.attr("observations"))),
        actions_(nb::cast<Buffer<double>>(adapter_.attr("actions"))),
        rewards_(nb::cast<Buffer<double>>(adapter_.attr("rewards"))),
        terminated_(nb::cast<Buffer<bool>>(adapter_.attr("terminated"))),
        truncated_(nb::cast<Buffer<bool>>(adapter_.attr("truncated"))) {
    const auto copies = rewards_.shape(0);
    require(observations_.size() == copies * spec_.observation_names.size() &&
                actions_.size() == copies * static_cast<std::size_t>(spec_.actions.size()) &&
                terminated_.size() == copies && truncated_.size() == copies,
            "environment '{}': its arrays do not fit each other", spec_.name);
  }

  const EnvironmentSpec& spec() const { return spec_; }
  Eigen::Index copies() const { return static_cast<Eigen::Index>(rewards_.shape(0)); }

  void reset() { reset_(); }
  void step() {
    if (direct_.is_none()) {
      step_();
    } else {
      step_directly();
    }
  }
  bool restart(std::span<const Eigen::Index> copies) {
    nb::list list;
    for (const Eigen::Index copy : copies) list.append(copy);
    return nb::cast<bool>(restart_(list));
  }
  void set_action(Eigen::Index copy, const Eigen::Ref<const Eigen::VectorXd>& action) {
    std::copy_n(action.data(), action.size(), actions_.data() + copy * action.size());
  }
  /// Throws Error, naming it, for a number that is not finite.
  void read(Eigen::Index copy, Percept& percept) const {
    const Eigen::Index size = spec_.observation_size();
    const double* seen = observations_.data() + copy * size;
    for (Eigen::Index i = 0; i < size; ++i) {
      if (!is_usable(seen[i])) refuse_observation(i, seen[i]);
      percept.observation[i] = seen[i];
    }
    percept.reward = rewards_.data()[copy];
    require(is_usable(percept.reward),
            "environment '{}': the reward is {}, must be finite and within ±{}", spec_.name,
            percept.reward, kLargestNumber);
    percept.terminated = terminated_.data()[copy];
    percept.truncated = truncated_.data()[copy];
  }

 private:
  /// One environment whose observations are a Box: its step is called from here, which saves most
  /// of what Python would take to pass things on.
  void step_directly() {
    const nb::object result = spec_.actions.is_discrete()
                                  ? direct_(static_cast<long>(actions_.data()[0]) + start_)
                                  : direct_(act_());
    if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 5) {
      adapter_.attr("refuse")(result);
    }
    const auto part = [&](Py_ssize_t i) { return nb::handle(PyTuple_GetItem(result.ptr(), i)); };
    if (!numbers_(part(0), observations_.data(), observations_.size())) write_(part(0));
    const double reward = PyFloat_AsDouble(part(1).ptr());
    if (reward == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      adapter_.attr("refuse_reward")(part(1));
    }
    rewards_.data()[0] = reward;
    terminated_.data()[0] = truth(part(2));
    truncated_.data()[0] = truth(part(3));
  }
  [[noreturn]] void refuse_observation(Eigen::Index i, double value) const {
    throw Error(fmt::format("environment '{}': observation {} is {}, must be finite and within ±{}",
                            spec_.name, shown(spec_.observation_names[static_cast<std::size_t>(i)]),
                            value, kLargestNumber));
  }
  static bool truth(nb::handle value) {
    const int result = PyObject_IsTrue(value.ptr());
    if (result < 0) throw nb::python_error();
    return result == 1;
  }

  nb::object adapter_;
  EnvironmentSpec spec_;
  nb::object reset_, step_, restart_;
  nb::object direct_, act_, write_;
  ArrayReader numbers_;
  long start_ = 0;  // the first choice
  Buffer<double> observations_, actions_, rewards_;
  Buffer<bool> terminated_, truncated_;
};

class PythonCopies final : public EnvironmentCopies {
 public:
  /// Tells `watcher`, if there is one, of its steps, of which there will be `total`.
  explicit PythonCopies(Buffers& buffers, Watcher* watcher = nullptr, double total = 0.0)
      : buffers_(buffers), watcher_(watcher), total_(total) {}

  EnvironmentSpec spec() const override { return buffers_.spec(); }
  Eigen::Index copies() const override { return buffers_.copies(); }
  void reset(std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.reset();
    read(percepts);
  }
  void step(const Eigen::Ref<const Eigen::MatrixXd>& actions,
            std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    for (Eigen::Index i = 0; i < actions.cols(); ++i) buffers_.set_action(i, actions.col(i));
    buffers_.step();
    read(percepts);
    done_ += static_cast<double>(actions.cols());
    if (watcher_ != nullptr) watcher_->tell("steps", std::min(done_, total_ - 1.0), total_);
  }
  bool restart(std::span<const Eigen::Index> copies, std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    if (!buffers_.restart(copies)) return false;
    for (const Eigen::Index copy : copies)
      buffers_.read(copy, percepts[static_cast<std::size_t>(copy)]);
    done_ += static_cast<double>(copies.size());
    return true;
  }

 private:
  void read(std::span<Percept> percepts) {
    for (std::size_t i = 0; i < percepts.size(); ++i) {
      buffers_.read(static_cast<Eigen::Index>(i), percepts[i]);
    }
  }

  Buffers& buffers_;
  Watcher* watcher_;
  double done_ = 0.0;
  double total_;
};

/// A single one, for judging.
class PythonEnvironment final : public Environment {
 public:
  explicit PythonEnvironment(Buffers& buffers) : buffers_(buffers) {}
  EnvironmentSpec spec() const override { return buffers_.spec(); }
  void reset(Draws& /*draws*/, Percept& percept) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.reset();
    buffers_.read(0, percept);
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& /*draws*/,
            Percept& percept) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.set_action(0, action);
    buffers_.step();
    buffers_.read(0, percept);
  }

 private:
  Buffers& buffers_;
};

}  // namespace waggle::python
