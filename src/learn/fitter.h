#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <waggle/fit/states.h>
#include <waggle/learner.h>

#include "learn/watched_source.h"
#include "value/values_along.h"

namespace waggle {

/// What there is to fit to.
struct FitTask {
  WatchedSource& rows;  ///< begin with those of the last fit, unless that was told to forget them
  const ExperienceSummary& summary;
  const std::vector<bool>& random_rows;  ///< whose actions were random; so are those beyond
  bool last;                             ///< no more rows will come
  /// Told how far it is, of how much; false asks for the end.
  std::function<bool(Eigen::Index, Eigen::Index)> go_on;
};

/// What was before the first row that this process has, where others have those before it.
struct RowsBefore {
  Eigen::VectorXd state;        ///< of the controller's reservoir
  Eigen::VectorXd action;       ///< the last one, if there are rows
  Eigen::Index in_episode = 0;  ///< rows of the same episode
};

/// A way of fitting a controller to experience, again and again as it grows. Whoever makes one is
/// told at once of options that cannot be.
class Fitter {
 public:
  virtual ~Fitter() = default;

  /// Fits to all rows there are, improving on the last fit. What was found stands in `learnt`, also
  /// where the end was asked for, if there is anything.
  virtual void fit(const FitTask& task, Learnt& learnt) = 0;
  /// Rows to leave out at an episode's start where nobody says how many.
  virtual Eigen::Index washout(const ExperienceSummary& summary) const = 0;
  /// Whether rows of a policy that lost the system are worth having.
  virtual bool learns_from_divergence() const = 0;
  /// The rows of the next fit need not begin with those of the last.
  virtual void forget_rows() {}

  virtual RowsBefore before(const Controller& controller) const {
    return {.state = Eigen::VectorXd::Zero(controller.reservoir->units()), .action = {}};
  }

  // When no more rows will come, one more walk along them says how sure the value is.
  /// The range of the values, if it is known without.
  virtual std::optional<ValueRange> range() const { return std::nullopt; }
  /// Whether the fit is not complete before that walk.
  virtual bool needs_walk() const { return false; }
  virtual void begin_walk(const Learnt& /*learnt*/) {}
  virtual void add(const StateBlock& /*block*/) {}
  virtual void end_walk(const ValuesAlong* /*values*/, Learnt& /*learnt*/) {}
};

/// A value on predictive states (predictive_learner.cc).
std::unique_ptr<Fitter> predictive_learner(const InputLayout& layout, const LearnOptions& options,
                                           bool acts);
/// A value on the memory itself (direct_learner.cc): the paper's, and policy iteration from it.
std::unique_ptr<Fitter> direct_learner(const InputLayout& layout, const LearnOptions& options,
                                       const LearnWith& with);

}  // namespace waggle
