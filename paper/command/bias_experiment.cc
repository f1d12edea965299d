#include <cmath>

#include <waggle_paper/waggle_paper.h>

#include "experiment.h"
#include "experiment_file.h"
#include "progress.h"
#include "reproduce.h"
#include "theory/quadratic_features.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kLengths[] = {1'000, 3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000};
constexpr std::size_t kCount = std::size(kLengths);

/// p, the coefficient of −y², by each method from the first rows of one long run.
struct Estimates {
  double lstd[kCount];
  double residual[kCount];
};

Estimates estimate(const MarketMakerOptions& environment, const reference::NoisyLinearPolicy& pi,
                   double discount, std::uint64_t seed) {
  MarketMaker market(environment);
  Simulation simulation(market, seed);
  LinearPolicy policy(MatrixXd::Constant(1, 1, pi.gain), pi.noise);
  const InputLayout layout = InputLayout::of(simulation.spec());
  Trajectory log(1, 1);
  Estimates estimates{};
  for (std::size_t i = 0; i < kCount; ++i) {
    end_if_interrupted();
    log.append(simulation.run(policy, {.steps = kLengths[i] - log.steps()}).trajectory);
    const auto p = [&](Method method) {
      return -fit_value(theory::QuadraticFeatures(), layout, log,
                        {.discount = discount, .method = method, .solve = {0.0}, .washout = 1})
                  .weights[1];
    };
    estimates.lstd[i] = p(Method::lstd);
    estimates.residual[i] = p(Method::bellman_residual);
  }
  return estimates;
}

double root_mean_square(const std::vector<double>& values, double about) {
  double sum = 0.0;
  for (const double value : values) sum += (value - about) * (value - about);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

void reproduce_bias(const ReproduceOptions& options, const SeedProgress& progress,
                    Results& results) {
  const ExperimentFile file("market-maker");
  const auto environment = file.read<MarketMakerOptions>("environment");
  const auto policy = file.read<reference::NoisyLinearPolicy>("initial_policy");
  const double discount = file.learner("paper").fit.value.discount;
  const double exact = reference::policy_value(environment, discount, policy).action_value.next;

  std::vector<Estimates> estimates(static_cast<std::size_t>(options.seeds));
  const std::size_t done = for_each_seed(options, "bias", progress, [&](int i, std::uint64_t seed) {
    estimates[static_cast<std::size_t>(i)] = estimate(environment, policy, discount, seed);
  });
  estimates.resize(done);

  ExperimentResult result = start_result(options, "bias", "lstd and bellman_residual");
  result.options = {{"environment", to_json(environment)},
                    {"initial_policy", to_json(policy)},
                    {"discount", discount}};
  result.seeds = static_cast<int>(done);
  Figure figure{"bias", {"steps", "exact", "lstd_error", "bellman_residual_error"}, {}};
  const std::vector<double> lengths(std::begin(kLengths), std::end(kLengths));
  std::vector<double> lstd_errors, residual_errors;
  for (std::size_t i = 0; i < kCount; ++i) {
    Metric lstd{fmt::format("p_lstd_{}", kLengths[i]),
                fmt::format("p by LSTD, {} steps", kLengths[i]),
                {},
                exact,
                {}};
    Metric residual{fmt::format("p_bellman_residual_{}", kLengths[i]),
                    fmt::format("p by Bellman residual, {} steps", kLengths[i]),
                    {},
                    exact,
                    {}};
    for (const Estimates& e : estimates) {
      lstd.values.push_back(e.lstd[i]);
      residual.values.push_back(e.residual[i]);
    }
    lstd_errors.push_back(root_mean_square(lstd.values, exact));
    residual_errors.push_back(root_mean_square(residual.values, exact));
    figure.rows.push_back(
        {static_cast<double>(kLengths[i]), exact, lstd_errors.back(), residual_errors.back()});
    result.metrics.push_back(std::move(lstd));
    result.metrics.push_back(std::move(residual));
  }
  result.facts = {{"lstd_slope",
                   "  log-log slope of LSTD's error in the steps",
                   {},
                   log_slope(lengths, lstd_errors),
                   -0.5},
                  {"bellman_residual_slope",
                   "  … of the Bellman residual's",
                   {},
                   log_slope(lengths, residual_errors),
                   {}}};
  result.figures = {std::move(figure)};
  results.push_back(std::move(result));
}

}  // namespace

/// LSTD and the Bellman residual on features that represent π_0's value exactly, against data
/// length.
Experiment bias_experiment() {
  return {.name = "bias",
          .results = {{.name = "bias",
                       .title = "What noise does to the paper's estimator",
                       .text = "On features that can represent the value exactly, LSTD comes to "
                               "the exact curvature of the value with more data, and the Bellman "
                               "residual of the paper to another number."}},
          .run = reproduce_bias};
}

}  // namespace waggle::app
