#pragma once

#include <string>

#include <Eigen/Core>

#include <waggle/export.h>
#include <waggle/predictive.h>

namespace waggle {

class CTables;

/// What kind of C a model's controller becomes.
struct CPlan {
  /// `file` is what the files are called, without an extension. The model and the options must
  /// outlive the plan. Throws Error if there is no C for the model's controller or its guard.
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

  /// Whether an action may change by so much only.
  bool limits_change() const { return !limits.max_change.empty(); }
  /// What acts where the controller has never been; none without a guard.
  Fallback fallback() const { return options.guarded ? options.fallback : Fallback::none; }
  /// Whether there is a guard that can tell where that is.
  bool novel() const { return options.guarded && model.baseline.has_value(); }
  /// Inputs that a guard holds: what is seen, and the reward if it is read; 0 without one.
  Eigen::Index guarded_inputs() const {
    return options.guarded ? layout.observation_size + (layout.reward ? 1 : 0) : 0;
  }
  /// Channel 0 of the experience is the reward, then come observations: the first that is read.
  Eigen::Index first_input() const { return layout.reward ? 0 : 1; }
  /// Bounds from above that are representable: rounding must not take an action outside.
  Eigen::VectorXd inside(Eigen::VectorXd upper) const;
};

/// What a kind of value takes, in multiply-adds: to take in what was seen, to try one action, and
/// to search along one number of it.
struct CWork {
  Eigen::Index step = 0, each_try = 0, each_search = 0;
};

/// The tables of each part of runtime/. The two kinds of value first, whose first room is what is
/// remembered: a further kind is a function here, and a file of C beside linear.c.
CWork add_linear(const CPlan& plan, CTables& tables);
CWork add_predictive(const CPlan& plan, CTables& tables);
/// Returns the multiply-adds of its step, but for the action.
Eigen::Index add_network(const CPlan& plan, CTables& tables);
void add_search(const CPlan& plan, CTables& tables);
void add_limits(const CPlan& plan, CTables& tables);
void add_guard(const CPlan& plan, CTables& tables);

/// The first line of a file.
std::string c_title(const CPlan& plan, const char* extension);
/// NAME.h, which tells the sizes too: a state has that many numbers.
std::string c_header(const CPlan& plan, const ExportedC& sizes, Eigen::Index numbers);

/// A name from outside, so that it can neither end a comment nor hide what follows it.
std::string c_comment(std::string text);
/// Text of runtime/, whose names begin with waggle_, for this controller.
std::string named(const CPlan& plan, std::string text);

/// The files of runtime/, as they are.
namespace c_runtime {
extern const char* const controller_h;
extern const char* const tables_h;
extern const char* const network_c;
extern const char* const linear_c;
extern const char* const predictive_c;
extern const char* const search_c;
extern const char* const sample_c;
extern const char* const guard_c;
extern const char* const step_c;
}  // namespace c_runtime

}  // namespace waggle
