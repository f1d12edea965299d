/// Whole fits, against the rate of the products they are made of, and policy iteration with states
/// kept from sweep to sweep and without.
#include <cmath>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <waggle/fit/policy_iteration.h>
#include <waggle/fit/value.h>

#include "core/parallel.h"
#include "linalg/dense.h"
#include "plain_learner.h"
#include "random_numbers.h"

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kFitRows = 4096;
constexpr Index kLongRows = 65'536;
constexpr Index kSweepRows = 2000;
const waggle::InputLayout kLayout{.reward = true};

waggle::Trajectory log_of(Index rows) {
  waggle::RandomNumbers numbers(13);
  waggle::Trajectory log(1, 0);
  for (Index k = 0; k < rows; ++k) log.append(numbers.vector(1)[0], numbers.vector(1), VectorXd(0));
  return log;
}

/// c += a · bᵀ of n × 256 matrices: what the machine does at best.
void Dgemm(benchmark::State& state) {
  const Index n = state.range(0);
  const MatrixXd a = waggle::RandomNumbers(14).matrix(n, 256);
  MatrixXd c = MatrixXd::Zero(n, n);
  for (auto _ : state) {
    waggle::linalg::add_outer_product(a, a, c);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2.0 * 256.0 * static_cast<double>(n * n),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void fit(benchmark::State& state, const waggle::ReservoirOptions& options, Index rows) {
  const waggle::ThreadLimit threads(static_cast<int>(state.range(1)));
  const waggle::EchoStateNetwork network(options, kLayout.size());
  const waggle::Trajectory log = log_of(rows);
  for (auto _ : state) {
    const waggle::ValueFit fit =
        waggle::fit_value(network, kLayout, log, {.discount = 0.5, .solve = {1e-3}});
    benchmark::DoNotOptimize(fit.weights.data());
  }
}

/// fit_value by LSTD of one network without leaks, on so many threads: drives it once, as the
/// states of so few rows are kept for the residual, and adds up 1.5 n² products a row.
void WholeFit(benchmark::State& state) {
  fit(state, waggle::plain_reservoir(state.range(0), 1), kFitRows);
}

/// The same of one with leaks, none of whose units is ever 0.
void LeakyFit(benchmark::State& state) {
  fit(state, {.units = state.range(0), .seed = 1}, kFitRows);
}

/// The same along a record that is long enough to be driven in stretches, and for which states are
/// driven twice.
void LongFit(benchmark::State& state) {
  fit(state, {.units = state.range(0), .seed = 1}, kLongRows);
}

/// Twenty sweeps along 2,000 rows with three networks of 300 units, on one thread: with the states
/// kept (1) or driven anew in every sweep (0).
void Sweeps(benchmark::State& state) {
  const waggle::Controller controller{std::make_shared<waggle::EchoStateNetwork>(
                                          waggle::ReservoirOptions{.seed = 1}, kLayout.size(), 3),
                                      kLayout, waggle::ActionSpace::box(-1.0, 1.0)};
  const waggle::Trajectory log = log_of(kSweepRows);
  waggle::PolicyIterationOptions options;
  options.value = {.discount = 0.5,
                   .solve = {.ridge = 1e-3, .scale = waggle::RidgeScale::relative}};
  options.tolerance = 0.0;
  options.execution = {static_cast<int>(state.range(1)), state.range(0) == 1 ? 0.25 : 0.0};
  for (auto _ : state) {
    const waggle::PolicyIteration found = waggle::iterate_policy(controller, log, options);
    benchmark::DoNotOptimize(found.value.weights.data());
  }
}

BENCHMARK(Dgemm)->Arg(300)->Arg(1000)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(WholeFit)->Args({300, 1})->Args({1000, 1})->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(WholeFit)->Args({300, 2})->Args({1000, 2})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(LeakyFit)->Args({300, 1})->Args({1000, 1})->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(LongFit)->Args({300, 1})->Args({1000, 1})->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(Sweeps)->Args({0, 1})->Args({1, 1})->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(Sweeps)->Args({1, 2})->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
