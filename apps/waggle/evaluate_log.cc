#include "evaluate_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "control/action_search.h"
#include "core/check.h"
#include "progress.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr double kKnown = 0.01;  // what may be missing of a return's weight
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What is kept of every row.
struct Rows {
  std::vector<double> reward, value;
  std::vector<EpisodeEnd> end;
  std::vector<bool> starts, judged;
};

/// The realised discounted return of every row, NaN where too little of it is in the log.
std::vector<double> returns(const Rows& rows, double discount) {
  const std::size_t count = rows.reward.size();
  std::vector<double> result(count, kNaN);
  double sum = 0.0;
  double missing = 1.0;  // the weight of what lies beyond the record
  for (std::size_t k = count; k-- > 0;) {
    const bool last = k + 1 == count || rows.starts[k + 1];
    if (last) {
      sum = 0.0;
      missing = rows.end[k] == EpisodeEnd::terminated ? 0.0 : 1.0;
    }
    sum = rows.reward[k] + discount * sum;
    missing *= discount;
    if (missing <= kKnown) result[k] = sum;
  }
  return result;
}

/// The regression of return on value, and the table by deciles.
void calibrate(const Rows& rows, const std::vector<double>& realised, LogEvaluation& result) {
  std::vector<std::size_t> known;
  for (std::size_t k = 0; k < realised.size(); ++k) {
    if (rows.judged[k] && !std::isnan(realised[k])) known.push_back(k);
  }
  result.with_return = static_cast<Index>(known.size());
  if (known.size() < 2) return;
  const auto n = static_cast<double>(known.size());
  double v = 0.0, g = 0.0;
  for (const std::size_t k : known) {
    v += rows.value[k] / n;
    g += realised[k] / n;
  }
  double vv = 0.0, vg = 0.0, gg = 0.0;
  for (const std::size_t k : known) {
    vv += (rows.value[k] - v) * (rows.value[k] - v);
    vg += (rows.value[k] - v) * (realised[k] - g);
    gg += (realised[k] - g) * (realised[k] - g);
  }
  result.slope = vv > 0.0 ? vg / vv : 0.0;
  result.intercept = g - result.slope * v;
  result.correlation = vv > 0.0 && gg > 0.0 ? vg / std::sqrt(vv * gg) : 0.0;

  std::stable_sort(known.begin(), known.end(),
                   [&](std::size_t a, std::size_t b) { return rows.value[a] < rows.value[b]; });
  const std::size_t parts = std::min<std::size_t>(10, known.size());
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t begin = known.size() * p / parts;
    const std::size_t end = known.size() * (p + 1) / parts;
    LogEvaluation::Decile decile{.rows = static_cast<Index>(end - begin)};
    const auto m = static_cast<double>(end - begin);
    double squares = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      decile.value += rows.value[known[i]] / m;
      decile.realised += realised[known[i]] / m;
    }
    for (std::size_t i = begin; i < end; ++i) {
      squares += std::pow(realised[known[i]] - decile.realised, 2) / m;
    }
    decile.deviation = std::sqrt(squares);
    result.deciles.push_back(decile);
  }
}

/// Walks along the log, taking its actions and asking at every row what the model would do.
class Walk {
 public:
  Walk(const Model& model, std::uint64_t seed, Index kept_rows, LogEvaluation& result)
      : model_(model),
        random_(seed),
        first_kept_(result.rows - kept_rows),
        result_(result),
        search_(model.network, model.layout(), model.actions, model.options.greedy),
        state_(VectorXd::Zero(model.network->units())),
        next_(state_),
        greedy_(model.actions.size()),
        action_sum_(VectorXd::Zero(model.actions.size())),
        action_squares_(action_sum_) {
    search_.set_weights(model.value.weights);
    result_.action_difference = result_.action_deviation = action_sum_;
  }

  void add(const Trajectory& chunk, Index k) {
    const double reward = chunk.rewards()[k];
    const EpisodeEnd end = chunk.end(k);
    const bool terminated = end == EpisodeEnd::terminated;
    const double discount = model_.options.value.discount;
    const bool judged = in_episode_ >= model_.options.value.washout;
    const double value = search_.value_of(state_);
    search_.prepare(state_, reward, chunk.observations().col(k));
    Draws draws = random_.at(Purpose::policy, static_cast<std::uint64_t>(rows.reward.size()));
    const double best = search_.maximise(draws, greedy_);
    search_.apply(chunk.actions().col(k), next_);
    const double followed = terminated ? 0.0 : search_.value_of(next_);
    const double error = reward + discount * followed - value;
    const double greedy_error = reward + (terminated ? 0.0 : discount * best) - value;
    if (judged) {
      ++result_.judged;
      result_.bellman_error += error * error;
      result_.greedy_bellman_error += greedy_error * greedy_error;
      if (!terminated) compare(chunk.actions().col(k));
    }
    if (std::ssize(rows.reward) >= first_kept_) {
      std::vector<double> cells = {reward, value, kNaN, error};
      const VectorXd logged = chunk.actions().col(k);
      cells.insert(cells.end(), logged.begin(), logged.end());
      cells.insert(cells.end(), greedy_.begin(), greedy_.end());
      result_.by_row.push_back(std::move(cells));
    }
    rows.reward.push_back(reward);
    rows.value.push_back(value);
    rows.end.push_back(end);
    rows.starts.push_back(in_episode_ == 0);
    rows.judged.push_back(judged);
    state_.swap(next_);
    ++in_episode_;
    if (end != EpisodeEnd::none) {
      state_.setZero();
      in_episode_ = 0;
    }
  }

  void finish() {
    const double n = std::max<double>(1.0, static_cast<double>(result_.judged));
    result_.bellman_error = std::sqrt(result_.bellman_error / n);
    result_.greedy_bellman_error = std::sqrt(result_.greedy_bellman_error / n);
    const double m = std::max(1.0, compared_);
    result_.same_share /= m;
    result_.action_difference = (result_.action_difference / m).cwiseSqrt();
    const VectorXd mean = action_sum_ / m;
    result_.action_deviation = (action_squares_ / m - mean.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt();
  }

  Rows rows;

 private:
  void compare(const VectorXd& logged) {
    compared_ += 1.0;
    if (model_.actions.is_discrete()) result_.same_share += logged[0] == greedy_[0] ? 1.0 : 0.0;
    result_.action_difference += (logged - greedy_).cwiseAbs2();
    action_sum_ += logged;
    action_squares_ += logged.cwiseAbs2();
  }

  const Model& model_;
  Random random_;
  Index first_kept_;
  LogEvaluation& result_;
  ActionSearch search_;
  VectorXd state_, next_, greedy_, action_sum_, action_squares_;
  double compared_ = 0.0;
  Index in_episode_ = 0;
};

}  // namespace

LogOptions reading_for(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  LogOptions options = LogOptions::of(spec, spec.choice_names);
  if (!spec.actions.is_discrete()) {
    // What another policy did may lie outside what this one was learnt from.
    const double infinity = std::numeric_limits<double>::infinity();
    options.action_kind = LogOptions::ActionKind::continuous;
    options.lower.assign(1, -infinity);
    options.upper.assign(1, infinity);
  }
  options.reward_must_vary = false;
  options.minimum_rows = model.options.value.washout + 2;
  return options;
}

LogEvaluation evaluate_on_log(const Model& model, Log& log, std::uint64_t seed, Index kept_rows) {
  LogEvaluation result;
  result.rows = log.rows();
  result.episodes = log.episodes();
  Walk walk(model, seed, kept_rows, result);
  ProgressLine progress("evaluate", "rows", static_cast<double>(result.rows));
  log.for_each_chunk([&](const Trajectory& chunk) {
    if (interrupted()) throw Interrupted();
    for (Index k = 0; k < chunk.steps(); ++k) walk.add(chunk, k);
    progress.update(static_cast<double>(walk.rows.reward.size()));
  });
  walk.finish();
  const Rows& rows = walk.rows;
  result.mean_reward = std::accumulate(rows.reward.begin(), rows.reward.end(), 0.0) /
                       static_cast<double>(rows.reward.size());
  require(result.judged > 0, "every episode is within the model's washout of {} rows",
          model.options.value.washout);
  const std::vector<double> realised = returns(rows, model.options.value.discount);
  calibrate(rows, realised, result);
  const std::size_t before = realised.size() - result.by_row.size();
  for (std::size_t k = 0; k < result.by_row.size(); ++k) {
    result.by_row[k][2] = realised[before + k];
  }
  return result;
}

Figure calibration_figure(const LogEvaluation& evaluation) {
  Figure figure{"calibration", {"value", "return", "deviation", "rows"}, {}};
  for (const LogEvaluation::Decile& decile : evaluation.deciles) {
    figure.rows.push_back(
        {decile.value, decile.realised, decile.deviation, static_cast<double>(decile.rows)});
  }
  if (figure.rows.empty()) figure.missing = "too few rows to know what followed";
  return figure;
}

}  // namespace waggle::app
