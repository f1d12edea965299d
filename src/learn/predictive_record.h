#pragma once

#include <deque>
#include <optional>

#include <waggle/model.h>
#include <waggle/predictive.h>

#include "learn/choices.h"
#include "learn/fitter.h"
#include "prediction/dynamics_fit.h"
#include "prediction/remembered.h"
#include "value/fitted_iteration.h"

namespace waggle {

/// What fits of predictive states have found, from one to the next: the last few, which are
/// averaged, and the values along the rows, from which the next one starts.
class PredictiveRecord {
 public:
  /// So many fits are averaged, at most.
  explicit PredictiveRecord(int averaged) : averaged_(averaged) {}

  void keep(const PredictiveTask& task, const RememberedExperience& rows, PredictiveHead head,
            const Transitions& transitions, FittedIteration found);
  /// Fits of another memory cannot be averaged with those of this one.
  void begin_anew() { fits_.clear(); }
  /// The rows of the next fit need not begin with those of the last.
  void forget_rows();

  /// How many fits there are to average, and how many have been made.
  int fits() const { return static_cast<int>(fits_.size()); }
  int made() const { return made_; }
  /// What the last fit chose of its value, if there is one to average with.
  std::optional<ValueChoice> last_choice() const;
  /// V' of the last fit along the transitions, in the unit and zero of this one; 0 at first.
  Eigen::VectorXd last_values(const PredictiveTask& task, const Transitions& transitions) const;
  /// The network, the weights, the state after the last row, and how the fit went.
  void fill(const HistoryMemory& memory, Model& model) const;

 private:
  struct Fit {
    PredictiveHead head;
    Eigen::VectorXd weights;
  };

  int averaged_;
  int made_ = 0;
  std::deque<Fit> fits_;
  ValueChoice choice_;     // of the last fit
  Eigen::VectorXd value_;  // V at every row, as last found
  Eigen::VectorXd state_;  // after the last row: memory and the action's channels
  FitDiagnostics diagnostics_;
  Improvement improvement_;
  Eigen::MatrixXd deviation_;  // of the last fit's weights, if it was judged
};

/// What was before the first row of this process, as walks have found it.
RowsBefore rows_before(const RememberedExperience& rows, const Controller& controller);

}  // namespace waggle
