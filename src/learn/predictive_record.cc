#include "learn/predictive_record.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "prediction/foresight.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

void PredictiveRecord::forget_rows() {
  if (value_.size() > 0) value_ = VectorXd::Constant(1, value_.mean());
}

std::optional<ValueChoice> PredictiveRecord::last_choice() const {
  return fits_.empty() ? std::nullopt : std::optional(choice_);
}

VectorXd PredictiveRecord::last_values(const PredictiveTask& task,
                                       const Transitions& transitions) const {
  VectorXd values = VectorXd::Zero(transitions.count());
  if (value_.size() == 0) return values;
  const double lasting = task.rewards.constant_weight(task.options.value.discount);
  const double typical = value_.mean();
  for (Index i = 0; i < values.size(); ++i) {
    const Index row = transitions.rows[static_cast<std::size_t>(i)] + 1;
    values[i] = ((row < value_.size() ? value_[row] : typical) - lasting) / task.rewards.unit;
  }
  return values;
}

void PredictiveRecord::keep(const PredictiveTask& task, const RememberedExperience& rows,
                            PredictiveHead head, const Transitions& transitions,
                            FittedIteration found) {
  // Values were found in a unit and zero of their own.
  const double unit = task.rewards.unit;
  const double lasting = task.rewards.constant_weight(task.options.value.discount);
  head.reward *= unit;
  head.bends *= unit;
  found.weights *= unit;
  found.weights[0] += lasting;
  deviation_ = unit * found.deviation;
  value_ = VectorXd::Constant(task.summary.rows, unit * found.next_value.mean() + lasting);
  for (Index i = 0; i < found.next_value.size(); ++i) {
    value_[transitions.rows[static_cast<std::size_t>(i)] + 1] =
        unit * found.next_value[i] + lasting;
  }
  choice_ = found.choice;
  improvement_ = {found.sweeps,
                  found.converged ? PolicyIterationEnd::fixed_point : PolicyIterationEnd::stopped};
  diagnostics_.samples = transitions.count();
  diagnostics_.features = head.features();
  diagnostics_.rank = std::min(diagnostics_.features, diagnostics_.samples);
  diagnostics_.ridge = found.choice.ridge;
  diagnostics_.residual = unit * found.residual;
  fits_.push_back({std::move(head), std::move(found.weights)});
  while (fits() > averaged_) fits_.pop_front();
  ++made_;
  state_.resize(rows.memory().size() + task.layout.action_channels());
  state_ << rows.memory_at_end(), rows.channels_at_end();
}

void PredictiveRecord::fill(const HistoryMemory& memory, Model& model) const {
  if (fits_.empty()) return;
  std::vector<PredictiveHead> heads;
  for (const Fit& fit : fits_) heads.push_back(fit.head);
  auto network = std::make_shared<const PredictiveNetwork>(memory, std::move(heads));
  model.state = VectorXd::Zero(network->units());
  model.state.head(state_.size()) = state_;
  // Features are r̂, which counts as it is, and those of every fit, which count alike.
  VectorXd& weights = model.controller.weights;
  weights.resize(network->features());
  weights[0] = 1.0;
  Index at = 1;
  for (const Fit& fit : fits_) {
    weights.segment(at, fit.weights.size()) = fit.weights / static_cast<double>(fits_.size());
    at += fit.weights.size();
  }
  model.controller.reservoir = std::move(network);
  model.diagnostics = diagnostics_;
  model.deviation_factor = deviation_;
  model.improvement = improvement_;
}

RowsBefore rows_before(const RememberedExperience& rows, const Controller& controller) {
  RowsBefore result{.state = VectorXd::Zero(controller.reservoir->units()), .action = {}};
  const std::optional<RememberedExperience::Before>& known = rows.beginning();
  if (!known || known->in_episode == 0) return result;
  result.state.head(known->memory.size()) = known->memory;
  result.state.segment(known->memory.size(), known->channels.size()) = known->channels;
  complete(*as<PredictiveNetwork>(*controller.reservoir), result.state);
  result.action = known->channels;
  if (controller.actions.is_discrete()) {
    Index choice = 0;
    known->channels.maxCoeff(&choice);
    result.action = VectorXd::Constant(1, static_cast<double>(choice));
  }
  result.in_episode = known->in_episode;
  return result;
}

}  // namespace waggle
