#pragma once

#include <waggle/environment.h>
#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

/// Small systems with known answers, for tests.
namespace waggle::toy {

/// Counts down from `length`, rewarding 1 at each step after the first, then terminates. The action
/// is ignored. The value after j steps is the geometric sum over the length − j rewards to come.
class Countdown final : public Environment {
 public:
  explicit Countdown(int length) : length_(length) {}

  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "countdown";
    spec.actions = ActionSpace::discrete(2);
    spec.action_names = {"button"};
    spec.observation_names = {"left"};
    spec.reward_is_input = false;
    return spec;
  }
  void reset(Draws&, Percept& percept) override {
    left_ = length_;
    percept.observation[0] = left_;
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>&, Draws&, Percept& percept) override {
    --left_;
    percept.reward = 1.0;
    percept.observation[0] = left_;
    percept.terminated = left_ == 0;
  }

 private:
  int length_;
  int left_ = 0;
};

/// A reservoir system that is no echo state network: x is the one-hot code of the last observation
/// (the last channel of z), after which the value is a table.
class LastObservation final : public ReservoirSystem {
 public:
  LastObservation(Eigen::Index cells, Eigen::Index inputs) : cells_(cells), inputs_(inputs) {}
  Eigen::Index units() const override { return cells_; }
  Eigen::Index inputs() const override { return inputs_; }
  void step(const Eigen::Ref<const Eigen::VectorXd>&, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    next.setZero();
    next[static_cast<Eigen::Index>(z[inputs_ - 1])] = 1.0;
  }

 private:
  Eigen::Index cells_;
  Eigen::Index inputs_;
};

/// The same with a memory: x halves at every step before the one-hot code is added, so that it
/// tells all of the past since it was 0.
class FadingObservations final : public ReservoirSystem {
 public:
  FadingObservations(Eigen::Index cells, Eigen::Index inputs) : cells_(cells), inputs_(inputs) {}
  Eigen::Index units() const override { return cells_; }
  Eigen::Index inputs() const override { return inputs_; }
  void step(const Eigen::Ref<const Eigen::VectorXd>& x, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    next = 0.5 * x;
    next[static_cast<Eigen::Index>(z[inputs_ - 1])] += 1.0;
  }

 private:
  Eigen::Index cells_;
  Eigen::Index inputs_;
};

}  // namespace waggle::toy
