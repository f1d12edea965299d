#include <algorithm>
#include <cmath>

#include <waggle/shards.h>

#include "core/check.h"
#include "core/magnitude.h"
#include "core/parallel.h"
#include "data/chunks.h"
#include "learn/action_bounds.h"
#include "learn/predictive_fit.h"
#include "learn/predictive_steps.h"
#include "shards/shard_setup.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

/// The unit in which the squares of one channel of two sets are added. A set that does not vary has
/// no say in it.
double shared_unit(const ChannelSums& one, const ChannelSums& other, std::size_t channel) {
  const double apart = other.mean[channel] - one.mean[channel];
  double unit = apart != 0.0 ? power_of_two(apart) : 0.0;
  for (const ChannelSums* sums : {&one, &other}) {
    if (sums->squares[channel] > 0.0) unit = std::max(unit, sums->unit[channel]);
  }
  return unit > 0.0 ? unit : 1.0;
}

}  // namespace

void ChannelSums::validate(const char* name) const {
  require(count >= 0.0 && std::isfinite(count), "{}.count = {}: must be finite and not negative",
          name, count);
  const auto require_list = [&](const char* list, const std::vector<double>& numbers,
                                const auto& is_good, const char* rule) {
    require(numbers.size() == mean.size(), "{}.{}: {} numbers for {} channels, must be one each",
            name, list, numbers.size(), mean.size());
    for (const double number : numbers) {
      require(is_good(number), "{}.{}: {}, must be {}", name, list, number, rule);
    }
  };
  const auto finite = [](double number) { return std::isfinite(number); };
  require_list("mean", mean, finite, "finite");
  require_list(
      "unit", unit, [](double number) { return number == power_of_two(number); },
      "a power of two in [2^-1000, 2^1000]");
  require_list(
      "squares", squares, [](double number) { return number >= 0.0 && std::isfinite(number); },
      "finite and not negative");
  require_list("minimum", minimum, finite, "finite");
  require_list("maximum", maximum, finite, "finite");
}

void ChannelSums::add(const Ref<const MatrixXd>& columns) {
  if (columns.cols() == 0) return;
  const VectorXd here = columns.rowwise().mean();
  const MatrixXd off = columns.colwise() - here;
  const VectorXd units = off.cwiseAbs().rowwise().maxCoeff().unaryExpr(&power_of_two);
  merge({.count = static_cast<double>(columns.cols()),
         .mean = list_of(here),
         .unit = list_of(units),
         .squares = list_of((units.cwiseInverse().asDiagonal() * off).rowwise().squaredNorm()),
         .minimum = list_of(columns.rowwise().minCoeff()),
         .maximum = list_of(columns.rowwise().maxCoeff())});
}

void ChannelSums::merge(const ChannelSums& other) {
  if (other.count == 0.0) return;
  if (count == 0.0) {
    *this = other;
    return;
  }
  require(mean.size() == other.mean.size(), "measures of {} and of {} channels do not add up",
          mean.size(), other.mean.size());
  // Two sets' means and squares make those of both (Chan, Golub and LeVeque).
  const double all = count + other.count;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double apart = other.mean[i] - mean[i];
    const double added = shared_unit(*this, other, i);
    const auto squares_of = [&](const ChannelSums& sums) {
      const double factor = sums.unit[i] / added;
      return sums.squares[i] * factor * factor;
    };
    const double between = apart / added;
    squares[i] =
        squares_of(*this) + squares_of(other) + between * between * (count * other.count / all);
    unit[i] = added;
    mean[i] += apart * (other.count / all);
    minimum[i] = std::min(minimum[i], other.minimum[i]);
    maximum[i] = std::max(maximum[i], other.maximum[i]);
  }
  count = all;
}

void ShardMeasure::validate() const {
  percepts.validate("percepts");
  actions.validate("actions");
  inputs.validate("inputs");
  const auto require_rows = [](const char* name, Index number) {
    require(number >= 0, "{} = {}: must not be negative", name, number);
  };
  require_rows("rows", rows);
  require_rows("counted", counted);
  require_rows("episodes", episodes);
  require_rows("terminated", terminated);
  require_rows("lead", lead);
  require_rows("open", open);
}

void ShardMeasure::merge(const ShardMeasure& other) {
  rows += other.rows;
  counted += other.counted;
  episodes += other.episodes;
  terminated += other.terminated;
  percepts.merge(other.percepts);
  actions.merge(other.actions);
  inputs.merge(other.inputs);
  if (other.began) {
    began = true;
    open = other.open;
    opening = other.opening;
  } else {
    open += other.rows;
  }
}

ShardMeasure measure_part(const ShardPlan& plan, TrajectorySource& rows, Index lead) {
  const InputLayout layout = InputLayout::of(plan.environment);
  const Index washout = plan.fit.value.washout_rows();
  ShardMeasure measure;
  measure.lead = lead;
  MatrixXd percepts, actions, inputs;
  Index in_episode = 0;
  for_each_chunk(rows, [&](const Trajectory& chunk, Index first) {
    require_fit(layout, chunk);
    percepts.resize(1 + layout.observation_size, chunk.steps());
    actions.resize(layout.action_size, chunk.steps());
    inputs.resize(layout.size(), chunk.steps());
    Index count = 0, taken = 0;
    for (Index k = 0; k < chunk.steps(); ++k, ++in_episode) {
      const bool counts = first + k >= lead;
      if (counts) {
        if (in_episode == 0) {
          ++measure.episodes;
          measure.began = true;
          measure.open = 0;
          measure.opening = {chunk.rewards()[k]};
          const auto seen = chunk.observations().col(k);
          measure.opening.insert(measure.opening.end(), seen.begin(), seen.end());
        }
        ++measure.open;
        measure.counted += in_episode >= washout ? 1 : 0;
        percepts(0, count) = chunk.rewards()[k];
        percepts.col(count).tail(layout.observation_size) = chunk.observations().col(k);
        ++count;
      }
      if (counts && chunk.end(k) != EpisodeEnd::terminated) {
        actions.col(taken) = chunk.actions().col(k);
        write_input(layout, chunk, k, inputs.col(taken));
        ++taken;
      } else if (counts) {
        ++measure.terminated;
      }
      if (chunk.end(k) != EpisodeEnd::none) {
        in_episode = -1;
        if (counts) measure.began = true;
        if (counts) measure.open = 0;
      }
    }
    measure.rows += count;
    measure.percepts.add(percepts.leftCols(count));
    measure.actions.add(actions.leftCols(taken));
    measure.inputs.add(inputs.leftCols(taken));
  });
  require(measure.rows >= 1, "the part is empty: it has no rows of its own");
  return measure;
}

FirstRows::FirstRows(const ShardPlan& plan)
    : continued_(plan.overlap > 0),
      rows_(plan.environment.actions.size(), plan.environment.observation_size()) {}

bool FirstRows::wants_more() const { return rows_.steps() < kFirstRows; }

void FirstRows::add(TrajectorySource& part) {
  const Index before = rows_.steps();
  if (before > 0 && !continued_ && rows_.end(before - 1) == EpisodeEnd::none) {
    rows_.end_episode(EpisodeEnd::truncated);
  }
  part.rewind();
  Trajectory chunk(1, 0);
  while (wants_more() && part.next(chunk)) {
    rows_.append(chunk, 0, std::min(chunk.steps(), kFirstRows - rows_.steps()));
  }
}

void choose_for_plan(ShardPlan& plan, const FitOptions& fit, const FirstRows& first,
                     const LearnWith& with) {
  if (!plan.fit.predictive || first.rows().steps() == 0) return;
  const ThreadLimit threads(with.execution.threads);
  TrajectoryChunks rows(first.rows(), 4096, plan.cut_out);
  const ExperienceSummary summary = summarise(rows);
  // Where an action is always the same and has no bounds, these rows tell nothing of it.
  for (Index i = 0; i < plan.environment.actions.size(); ++i) {
    const bool same = summary.ranges.minimum[1 + i] == summary.ranges.maximum[1 + i];
    if (same && !plan.environment.actions.is_bounded()) return;
  }
  EnvironmentSpec spec = plan.environment;
  if (!spec.actions.is_discrete()) spec.actions = bounded_by(spec.actions, summary.ranges, {});
  if (!fit.predictive->seen || !fit.predictive->extra_units) {
    PredictiveFitter fitter(InputLayout::of(spec), plan.fit, false);
    const ActionSpace actions = bounded_by(spec.actions, summary.ranges, fit.action_limit);
    const PredictiveFitter::Memory memory =
        fitter.choose_memory({.rows = rows,
                              .summary = summary,
                              .actions = actions,
                              .washout = plan.fit.value.washout_rows()});
    plan.fit.predictive->seen = memory.seen;
    plan.fit.predictive->extra_units = memory.extra_units;
  }
  fill_in(plan, fit, summary.rows);
}

}  // namespace waggle
