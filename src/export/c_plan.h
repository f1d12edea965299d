#pragma once

#include <string>
#include <string_view>

#include <Eigen/Core>

#include <waggle/export.h>
#include <waggle/predictive.h>

#include "control/action_search.h"

namespace waggle {

/// What kind of C a model's controller becomes, and what it takes.
struct CPlan {
  /// `file` is what the files are called, without an extension. The model and the options must
  /// outlive the plan. Throws Error if there is no C for the model's reservoir.
  CPlan(const Model& model, const ExportOptions& options, std::string file);

  const Model& model;
  const GreedyOptions& greedy;
  const ActuatorLimits& limits;
  const PredictiveNetwork* const predictive;  ///< or null: the value is linear in the network
  const EchoStateNetwork& network;            ///< that remembers
  const ExportOptions& options;
  const std::string file;
  const InputLayout layout;
  const bool discrete;
  const bool leaky;
  const bool exact;    ///< solved, rather than tried on candidates, along each number of an action
  const bool sampled;  ///< starts from random candidates
  const bool kinked;   ///< solved by sorting kinks
  const double half_width;  ///< over which the value is averaged; 0 for none

  /// Bytes of a NAME_real.
  Eigen::Index real_size() const { return options.precision == Precision::float64 ? 8 : 4; }
  bool normal_candidates() const { return sampled && greedy.candidate_spread.has_value(); }
  /// Whether an action may change by so much only.
  bool limits_change() const { return !limits.max_change.empty(); }
  /// What acts where the controller has never been; none without a guard.
  Fallback fallback() const { return options.guarded ? options.fallback : Fallback::none; }
  /// Whether there is a guard that can tell where that is.
  bool novel() const { return options.guarded && model.baseline.has_value(); }
  /// Inputs that a guard holds: what is seen, and the reward if it is read.
  Eigen::Index guarded_inputs() const { return layout.observation_size + (layout.reward ? 1 : 0); }
  /// Whether the machine can do more than what is searched.
  bool has_wider_actions() const;
  /// Bounds from above that are representable: rounding must not take an action outside.
  Eigen::VectorXd inside(Eigen::VectorXd upper) const;
  /// Numbers that are remembered.
  Eigen::Index remembered() const;
  /// Numbers of the after-states of all heads, 0 if there are none, …
  Eigen::Index after() const;
  /// … of the largest, …
  Eigen::Index largest() const;
  /// … and features of all.
  Eigen::Index features() const;
  /// Whether some of them are products.
  bool squares() const;
  /// Bends of the reward model along one number of an action.
  Eigen::Index knots() const;
  /// The most kinks that one number of an action can have.
  Eigen::Index kinks() const;
  /// Bytes of a NAME_state.
  Eigen::Index state_bytes() const;
  /// At most, in a step, where A has this many.
  Eigen::Index multiply_adds(Eigen::Index recurrent_products) const;

 private:
  Eigen::Index network_multiply_adds() const;
  Eigen::Index predictive_multiply_adds() const;
  /// Tries that the guard makes: what is decided for is looked at, and what is done instead.
  Eigen::Index guard_tries() const {
    return (novel() ? 1 : 0) + (fallback() != Fallback::none ? 1 : 0);
  }
};

/// The first line of a file.
std::string c_title(const CPlan& plan, const char* extension);
/// NAME.h, which tells the sizes too.
std::string c_header(const CPlan& plan, const ExportedC& sizes);

/// A name from outside, so that it can neither end a comment nor hide what follows it.
std::string c_comment(std::string text);
std::string replaced(std::string text, std::string_view what, std::string_view by);

}  // namespace waggle
