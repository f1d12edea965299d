// waggle beside what a user would write instead, in the same run and with the same flags. The
// comparison is the ratio printed at the end: absolute times differ from machine to machine.
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include <Eigen/Dense>
#include <benchmark/benchmark.h>

#include <waggle/environments.h>
#include <waggle/waggle.h>

#include "control/piecewise_linear.h"
#include "linalg/dense.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "reservoir/kernels.h"
#include "value/fitted_iteration.h"

extern "C" void dgemv_(const char* trans, const int* m, const int* n, const double* alpha,
                       const double* a, const int* lda, const double* x, const int* incx,
                       const double* beta, double* y, const int* incy);

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using waggle::EchoStateNetwork;
using waggle::plain_reservoir;
using waggle::RandomNumbers;

constexpr Index kSteps = 10'000;
constexpr Index kSquared = 8;  // predictions whose products a value has, by default

EchoStateNetwork network(Index units) { return EchoStateNetwork(plain_reservoir(units, 1), 2); }

MatrixXd inputs() { return RandomNumbers(1).matrix(2, kSteps); }

void DrivePlainEigen(benchmark::State& state) {
  const EchoStateNetwork esn = network(state.range(0));
  const MatrixXd A = esn.recurrent(), z = inputs();
  const MatrixXd& C = esn.input();
  const VectorXd& b = esn.bias();
  for (auto _ : state) {
    VectorXd x = VectorXd::Zero(A.rows());
    for (Index k = 0; k < kSteps; ++k) x = (A * x + C * z.col(k) + b).cwiseMax(0.0);
    benchmark::DoNotOptimize(x.data());
  }
}

void DriveWaggle(benchmark::State& state) {
  const EchoStateNetwork esn = network(state.range(0));
  const MatrixXd z = inputs();
  VectorXd x(esn.units()), next(esn.units());
  for (auto _ : state) {
    x.setZero();
    for (Index k = 0; k < kSteps; ++k) {
      esn.step(x, z.col(k), next);
      x.swap(next);
    }
    benchmark::DoNotOptimize(x.data());
  }
}

/// A state in the middle of a run, where about half of the units are 0.
VectorXd typical_state(const EchoStateNetwork& esn) {
  MatrixXd states = MatrixXd::Zero(esn.units(), 201);
  esn.drive(RandomNumbers(2).matrix(2, 200), states);
  return states.col(200);
}

void Step(benchmark::State& state) {
  const EchoStateNetwork esn = network(300);
  const VectorXd x = typical_state(esn), z = RandomNumbers(3).vector(2);
  VectorXd next(300);
  for (auto _ : state) {
    esn.step(x, z, next);
    benchmark::DoNotOptimize(next.data());
  }
}

/// The whole decision: preactivation, 100 candidate values, the best, and the step it leads to.
void GreedyDecision(benchmark::State& state) {
  const auto esn = std::make_shared<EchoStateNetwork>(network(300));
  waggle::GreedyPolicy policy({esn,
                               {.reward = true},
                               waggle::ActionSpace::box(-0.1, 0.1),
                               RandomNumbers(4).vector(300),
                               {.maximiser = waggle::Maximiser::sampled, .candidates = 100}},
                              {}, typical_state(*esn));
  const waggle::Percept percept{.reward = 1.0, .observation = VectorXd(0)};
  VectorXd action(1);
  std::uint64_t k = 0;
  for (auto _ : state) {
    waggle::Draws draws = waggle::Random(1).at(waggle::Purpose::policy, ++k);
    policy.act(percept, draws, action);
    benchmark::DoNotOptimize(action.data());
  }
}

/// Drawing the 100 candidates alone: what GreedyDecision spends before they are "given".
void DrawCandidates(benchmark::State& state) {
  std::uint64_t k = 0;
  for (auto _ : state) {
    waggle::Draws draws = waggle::Random(1).at(waggle::Purpose::policy, ++k);
    for (int j = 0; j < 100; ++j) benchmark::DoNotOptimize(draws.uniform(-0.1, 0.1));
  }
}

/// The search alone, on values whose units have their kinks spread over and around the interval:
/// the exact maximum against 100 given candidates.
struct Search {
  RandomNumbers numbers;
  VectorXd b = numbers.vector(300), c = numbers.vector(300), w = numbers.vector(300);
};

void SearchSampled(benchmark::State& state) {
  const Search f;
  VectorXd values(100);
  std::uint64_t k = 0;
  for (auto _ : state) {
    waggle::Draws draws = waggle::Random(1).at(waggle::Purpose::policy, ++k);
    double candidates[100];
    for (double& a : candidates) a = draws.uniform(-1.0, 1.0);
    waggle::kernels::relu_candidate_values(f.b.data(), f.c.data(), f.w.data(), 300, candidates, 100,
                                           values.data());
    Index best = 0;
    benchmark::DoNotOptimize(values.maxCoeff(&best));
    benchmark::DoNotOptimize(best);
  }
}

void SearchExact(benchmark::State& state) {
  const Search f;
  waggle::PiecewiseLinearMaximiser maximise(300);
  for (auto _ : state) {
    benchmark::DoNotOptimize(maximise({.b = f.b, .c = f.c, .w = f.w, .lower = -1.0, .upper = 1.0}));
  }
}

/// An LSTD fit of T = 10,000, n = 300, with one λ, and with 20 of them from one reduction.
void LstdFit(benchmark::State& state) {
  const EchoStateNetwork esn = network(300);
  MatrixXd states = MatrixXd::Zero(300, kSteps + 1);
  esn.drive(inputs(), states);
  const VectorXd rewards = RandomNumbers(5).vector(kSteps);
  const auto path = waggle::ridge_path();
  for (auto _ : state) {
    waggle::TdMoments moments(300, 0.5);
    moments.add(states.leftCols(kSteps), states.leftCols(kSteps), states.rightCols(kSteps),
                rewards);
    if (state.range(0) == 1) {
      benchmark::DoNotOptimize(waggle::solve_td({moments}, {.ridge = 1e-3}).weights.data());
    } else {
      const waggle::linalg::ShiftedSolver solver(moments.system(), moments.target());
      for (Index i = 0; i < state.range(0); ++i) {
        benchmark::DoNotOptimize(solver.solve(path[static_cast<std::size_t>(i)]).data());
      }
    }
  }
}

/// Rows x_k − γ x_{k+1} and rewards of the market maker's size: T = 10,000, n = 300.
struct BellmanProblem {
  MatrixXd rows;
  VectorXd rewards;
};

BellmanProblem bellman_problem() {
  const EchoStateNetwork esn = network(300);
  MatrixXd states = MatrixXd::Zero(300, kSteps + 1);
  esn.drive(inputs(), states);
  return {states.leftCols(kSteps) - 0.5 * states.rightCols(kSteps),
          RandomNumbers(5).vector(kSteps)};
}

void FitEigenBdcsvd(benchmark::State& state) {
  const BellmanProblem problem = bellman_problem();
  const MatrixXd xi = problem.rows.transpose();
  for (auto _ : state) {
    const Eigen::BDCSVD<MatrixXd> svd(xi, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const VectorXd& s = svd.singularValues();
    const VectorXd filter = s.array() / (s.array().square() + 1e-9);
    const VectorXd w =
        svd.matrixV() * (filter.asDiagonal() * (svd.matrixU().transpose() * problem.rewards));
    benchmark::DoNotOptimize(w.data());
  }
}

void FitWaggle(benchmark::State& state) {
  const BellmanProblem problem = bellman_problem();
  for (auto _ : state) {
    waggle::LeastSquares equations(300);
    equations.add(problem.rows, problem.rewards.transpose());
    const waggle::RidgeFit fit = equations.solve({1e-9});
    benchmark::DoNotOptimize(fit.weights.data());
  }
}

/// Fitted iteration of 10,000 rows and as many features as predictive states have by default: a
/// number of sweeps, each a search for every row's best action and six evaluations of those found.
void ValueSweeps(benchmark::State& state) {
  constexpr Index kState = 10;
  const waggle::PredictiveOptions usual;
  waggle::PredictiveHead head;
  head.base.setZero(kState, 1);
  head.value = {RandomNumbers(6).matrix(usual.features, kState),
                RandomNumbers(7).vector(usual.features)};
  head.squared = kSquared;
  waggle::ValueSteps steps;
  steps.after = RandomNumbers(8).matrix(kState, kSteps);
  steps.next = RandomNumbers(9).matrix(2 * kState, kSteps);
  steps.reward = RandomNumbers(10).vector(kSteps);
  steps.terminated.assign(kSteps, false);
  waggle::FittedIterationOptions options;
  options.ridge = 1e-3;
  options.bounds = {-50.0, 50.0};
  options.tolerance = 0.0;
  options.sweeps = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const waggle::FittedIteration found = waggle::iterate_value(
        steps, head, waggle::ActionSpace::box(-1.0, 1.0), VectorXd::Zero(kSteps), options);
    benchmark::DoNotOptimize(found.weights.data());
  }
}

/// One product of a vector with the features of all rows, as BLAS makes it.
void Dgemv(benchmark::State& state) {
  const waggle::PredictiveOptions usual;
  const Index features = 11 + usual.features + kSquared * (kSquared + 1) / 2;
  const MatrixXd phi = RandomNumbers(11).matrix(features, kSteps);
  const VectorXd weights = RandomNumbers(12).vector(features);
  VectorXd values = VectorXd::Zero(kSteps);
  const int m = static_cast<int>(features), n = kSteps, stride = 1;
  const double one = 1.0, zero = 0.0;
  for (auto _ : state) {
    dgemv_("T", &m, &n, &one, phi.data(), &m, weights.data(), &stride, &zero, values.data(),
           &stride);
    benchmark::DoNotOptimize(values.data());
  }
}

/// What was learnt of a pendulum of which only the angle is seen.
const waggle::Controller& pendulum_controller() {
  static const waggle::Controller controller = [] {
    waggle::ControlProblem pendulum = waggle::pendulum_problem();
    waggle::Simulation simulation(*pendulum.environment, 0);
    waggle::LearnOptions options;
    options.collect.steps = 2000;
    return waggle::learn(simulation, *pendulum.initial, options).controller;
  }();
  return controller;
}

/// A decision on its predictive states, for each of several copies.
void PredictiveDecision(benchmark::State& state) {
  const auto copies = static_cast<std::size_t>(state.range(0));
  const waggle::Controller& controller = pendulum_controller();
  const auto columns = static_cast<Eigen::Index>(copies);
  waggle::GreedyGroup group(controller, MatrixXd::Zero(controller.reservoir->units(), columns));
  std::vector<waggle::Percept> percepts(copies);
  for (waggle::Percept& percept : percepts) percept.observation = Eigen::Vector2d::Zero();
  std::vector<Eigen::Index> all(copies);
  std::iota(all.begin(), all.end(), 0);
  std::vector<waggle::Draws> draws(copies, waggle::Random(1).at(waggle::Purpose::policy));
  MatrixXd actions(1, columns);
  double angle = 0.0;
  for (auto _ : state) {
    for (waggle::Percept& percept : percepts) {
      percept.observation << std::cos(angle), std::sin(angle);
      angle += 1.0;
    }
    group.act(percepts, all, draws, actions);
    benchmark::DoNotOptimize(actions.data());
  }
}

BENCHMARK(DrivePlainEigen)->Arg(300)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(DriveWaggle)->Arg(300)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(Step)->Unit(benchmark::kMicrosecond);
BENCHMARK(GreedyDecision)->Unit(benchmark::kMicrosecond);
BENCHMARK(DrawCandidates)->Unit(benchmark::kMicrosecond);
BENCHMARK(SearchSampled)->Unit(benchmark::kMicrosecond);
BENCHMARK(SearchExact)->Unit(benchmark::kMicrosecond);
BENCHMARK(LstdFit)->Arg(1)->Arg(20)->Unit(benchmark::kMillisecond);
BENCHMARK(FitEigenBdcsvd)->Unit(benchmark::kMillisecond);
BENCHMARK(FitWaggle)->Unit(benchmark::kMillisecond);
BENCHMARK(ValueSweeps)->Arg(1)->Arg(9)->Unit(benchmark::kMillisecond);
BENCHMARK(Dgemv)->Unit(benchmark::kMillisecond);
BENCHMARK(PredictiveDecision)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

/// Prints as usual and keeps the best time of every benchmark for the ratios.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      // What is of one thread is measured by the time that the processor gave it.
      const bool is_cpu = run.run_name.time_type == "process_time";
      const double total = is_cpu ? run.cpu_accumulated_time : run.real_accumulated_time;
      const double time = total / static_cast<double>(run.iterations);
      auto [entry, is_new] =
          seconds_.emplace(run.run_name.function_name + "/" + run.run_name.args, time);
      if (!is_new) entry->second = std::min(entry->second, time);
    }
  }

  void print_ratios() const {
    std::printf("\nratios of best times in this run\n");
    print("driving n = 300: plain Eigen / waggle", "DrivePlainEigen/300", "DriveWaggle/300",
          "at least 1.6");
    print("driving n = 1000: plain Eigen / waggle", "DrivePlainEigen/1000", "DriveWaggle/1000",
          "at least 1.8");
    print("Bellman fit, T = 10,000: BDCSVD / waggle", "FitEigenBdcsvd/", "FitWaggle/",
          "at least 3");
    print("exact maximum / 100 sampled candidates", "SearchExact/", "SearchSampled/", "below 1");
    print("LSTD, 20 values of the ridge / 1 value", "LstdFit/20", "LstdFit/1", "below 2");
    print("greedy decision incl. drawing / step", "GreedyDecision/", "Step/", "");
    const auto greedy = seconds_.find("GreedyDecision/"), draw = seconds_.find("DrawCandidates/"),
               step = seconds_.find("Step/");
    if (greedy != seconds_.end() && draw != seconds_.end() && step != seconds_.end()) {
      std::printf("  %-46s %6.2f   (at most 2)\n", "greedy decision, candidates given / step",
                  (greedy->second - draw->second) / step->second);
    }
    const auto single = seconds_.find("PredictiveDecision/1"),
               many = seconds_.find("PredictiveDecision/64");
    if (single != seconds_.end() && many != seconds_.end()) {
      std::printf("  %-46s %6.2f\n", "predictive decision, alone / each of 64 at once",
                  64.0 * single->second / many->second);
    }
    print("20 sweeps, driven anew / states kept", "Sweeps/0/1", "Sweeps/1/1", "");
    print("the same, kept on 1 thread / on 2", "Sweeps/1/1", "Sweeps/1/2", "");
    print_shares("whole fit", "WholeFit/", 2.5, 4096);
    print_shares("with leaks", "LeakyFit/", 2.5, 4096);
    print_shares("with leaks, long", "LongFit/", 3.5, 65536);
    const auto one = seconds_.find("ValueSweeps/1"), nine = seconds_.find("ValueSweeps/9"),
               dgemv = seconds_.find("Dgemv/");
    if (one != seconds_.end() && nine != seconds_.end() && dgemv != seconds_.end()) {
      std::printf("  %-46s %6.2f\n", "sweep of fitted iteration / dgemv of its size",
                  (nine->second - one->second) / 8.0 / dgemv->second);
    }
  }

 private:
  /// Of dgemm's rate, for fits of so many n² products a row; one of Dgemm's is of 256 rows.
  void print_shares(const char* what, const std::string& name, double products, double rows) const {
    for (const int n : {300, 1000}) {
      const auto dgemm = seconds_.find("Dgemm/" + std::to_string(n));
      for (const int threads : {1, 2}) {
        const auto fit = seconds_.find(name + std::to_string(n) + "/" + std::to_string(threads));
        if (dgemm == seconds_.end() || fit == seconds_.end()) continue;
        std::printf("  %-17s n = %4d, %d thread%s: share of dgemm's rate %6.2f   (goal 0.6)\n",
                    what, n, threads, threads > 1 ? "s" : " ",
                    products * (rows / 256.0) * dgemm->second / fit->second);
      }
    }
  }
  void print(const char* what, const char* over, const char* under, const std::string& goal) const {
    const auto a = seconds_.find(over), b = seconds_.find(under);
    if (a == seconds_.end() || b == seconds_.end()) return;
    std::printf("  %-46s %6.2f   %s\n", what, a->second / b->second,
                goal.empty() ? "" : ("(" + goal + ")").c_str());
  }

  std::map<std::string, double> seconds_;
};

}  // namespace

int main(int argc, char** argv) {
  std::printf("BLAS kernels: %s\n", waggle::linalg::use_vectors().c_str());
  waggle::linalg::leave_threads_to_caller();  // one thread for all: Eigen's has one too
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
}
