#include "learn/log_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <waggle/error.h>
#include <waggle/states.h>

#include "core/magnitude.h"
#include "learn/first_look.h"
#include "learn/predictive_steps.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kMostChoiceRows = 30'000;         // that are looked at
constexpr Index kMostChoiceNumbers = 10'000'000;  // of these rows
constexpr Index kFewestChoiceRows = 300;
constexpr Index kChoiceChunk = 4096;

/// Where the rows to judge by begin: after two thirds, and with an episode if one begins there.
Index first_judged(const Trajectory& rows) {
  const Index two_thirds = 2 * rows.steps() / 3;
  for (Index k = two_thirds; k + kFewestChoiceRows / 3 < rows.steps(); ++k) {
    if (rows.end(k - 1) != EpisodeEnd::none) return k;
  }
  return two_thirds;
}

/// The share of the variance of r_k + γ V(x_{k+1}) that V(x_k) leaves unexplained.
double unexplained(const Model& model, TrajectorySource& rows) {
  const Controller& controller = model.controller;
  const double discount = model.options.value.discount;
  RootMeanSquare error;
  std::vector<double> targets;
  MatrixXd features;
  VectorXd state = VectorXd::Zero(controller.reservoir->units());
  const auto add = [&](const StateBlock& block) {
    features.resize(controller.reservoir->features(), block.states.cols());
    controller.reservoir->map_features(block.states, features);
    const VectorXd values = features.transpose() * controller.weights;
    for (Index i = 0; i < block.steps(); ++i) {
      if (block.first_in_episode + i < model.options.value.washout_rows()) continue;
      const double followed = block.terminated(i) ? 0.0 : values[i + 1];
      targets.push_back(block.reward(i) + discount * followed);
      error.add(targets.back() - values[i]);
    }
  };
  for_each_block(*controller.reservoir, controller.layout, rows, state, add);
  const double mean = std::accumulate(targets.begin(), targets.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(targets.size(), 1));
  RootMeanSquare deviation;
  for (const double target : targets) deviation.add(target - mean);
  const double ratio = error.value() / deviation.value();
  // Where nothing varies there is nothing to explain.
  return std::isnan(ratio) ? 0.0 : ratio * ratio;
}

}  // namespace

std::optional<LogChoice> choose_for_log(const EnvironmentSpec& spec, TrajectorySource& log,
                                        const FitOptions& options, const LearnWith& given) {
  const Index numbers = 1 + spec.actions.size() + spec.observation_size();  // of a row
  const Trajectory all = first_rows(log, std::min(kMostChoiceRows, kMostChoiceNumbers / numbers));
  if (all.steps() < kFewestChoiceRows) return std::nullopt;
  const Index split = first_judged(all);
  Trajectory known(all.action_size(), all.observation_size());
  Trajectory held_out = known;
  known.append(all, 0, split);
  held_out.append(all, split, all.steps() - split);

  bool stopped = false;
  LearnWith with{.execution = given.execution};
  with.progress = [&](const Progress& report) {
    // What is fitted here is only tried: whoever watches gets no model of it.
    Progress shown = report;
    shown.model = nullptr;
    if (given.progress && !given.progress(shown)) stopped = true;
    return !stopped;
  };
  const auto unexplained_with = [&](const FitOptions& tried) {
    try {
      TrajectoryChunks source(known, kChoiceChunk, log.cut_out());
      const Learnt learnt = learn_from_log(spec, source, tried, with);
      if (stopped) throw Stopped();
      TrajectoryChunks judged(held_out, kChoiceChunk);
      return unexplained(learnt, judged);
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      // From the whole log it may be learnt all the same; if not, the fit to that says why.
      return std::numeric_limits<double>::infinity();
    }
  };
  LogChoice choice{.fitted = known.steps(), .judged = held_out.steps()};
  FitOptions tried = options;
  tried.confidence = false;
  tried.predictive->averaged = 1;
  choice.predictive_unexplained = unexplained_with(predictive_alone(tried));
  tried.choose = false;
  tried.predictive = std::nullopt;
  choice.direct_unexplained = unexplained_with(tried);
  return choice;
}

}  // namespace waggle
