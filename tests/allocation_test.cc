/// Proves that the hot loops allocate nothing, by counting every call of malloc in this program:
/// Eigen's own, and those of operator new.
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

#include <gtest/gtest.h>

#include <waggle/waggle.h>

#include "plain_learner.h"
#include "predictive_cases.h"
#include "random_numbers.h"

namespace {
std::atomic<long> allocations = 0;
}

#ifdef __SANITIZE_ADDRESS__
// The sanitizer has a malloc of its own, which must not be replaced but tells of every call.
extern "C" void __sanitizer_malloc_hook(const volatile void*, std::size_t) { ++allocations; }
extern "C" void __sanitizer_free_hook(const volatile void*) {}
#else
extern "C" void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier)

extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
#endif

namespace waggle {

void PrintTo(const ReservoirOptions& o, std::ostream* out) {
  *out << o.units << " units, activation " << static_cast<int>(o.activation) << ", leak " << o.leak
       << ", density " << o.density;
}

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <typename Work>
long count_allocations(Work work) {
  work();  // once before, for anything that is set up on first use
  const long before = allocations;
  work();
  return allocations - before;
}

TEST(Allocation, TheCounterCounts) {
  EXPECT_GT(count_allocations([] { VectorXd::Zero(1000).eval(); }), 0);
  EXPECT_GT(count_allocations([] { ::operator delete(::operator new(8)); }), 0);
}

class EveryNetwork : public testing::TestWithParam<ReservoirOptions> {};

TEST_P(EveryNetwork, StepDriveAndGreedyDecisionAllocateNothing) {
  RandomNumbers numbers;
  const auto network = std::make_shared<EchoStateNetwork>(GetParam(), 2);
  const MatrixXd z = numbers.matrix(2, 100);
  MatrixXd states = MatrixXd::Zero(network->units(), 101);
  VectorXd next(network->units());
  EXPECT_EQ(count_allocations([&] { network->step(states.col(0), z.col(0), next); }), 0);
  EXPECT_EQ(count_allocations([&] { network->drive(z, states); }), 0);

  const VectorXd weights = numbers.vector(network->units());
  const Percept percept{.reward = 0.5, .observation = VectorXd(0)};
  VectorXd action(1);
  for (const Maximiser maximiser : {Maximiser::exact, Maximiser::sampled}) {
    GreedyPolicy policy({network,
                         {.reward = true},
                         ActionSpace::box(-1, 1),
                         weights,
                         {.maximiser = maximiser, .smoothing = 0.1}});
    EXPECT_EQ(count_allocations([&] {
                for (std::uint64_t k = 0; k < 10; ++k) {
                  Draws draws = Random(1).at(Purpose::policy, k);
                  policy.act(percept, draws, action);
                  action *= -1.0;
                  policy.applied(action);
                }
              }),
              0);
  }
}

TEST(Allocation, APredictiveControllerDecidesWithoutAny) {
  for (const Case& of : {predictive_tanks(), predictive_recall(), predictive_bee()}) {
    GreedyPolicy policy = of.model.policy();
    Percept percept;
    percept.observation = of.recorded.observations().col(0);
    VectorXd action(of.model.controller.actions.size());
    EXPECT_EQ(count_allocations([&] {
                for (std::uint64_t k = 0; k < 10; ++k) {
                  Draws draws = Random(1).at(Purpose::policy, k);
                  policy.act(percept, draws, action);
                  policy.applied(action);
                }
              }),
              0);
  }
}

TEST(Allocation, SayingHowSureTheValueIsTakesNone) {
  RandomNumbers numbers;
  Model model;
  model.controller.reservoir = std::make_shared<const EchoStateNetwork>(plain_reservoir(300), 2);
  model.deviation_factor = numbers.matrix(300, 300);
  const VectorXd state = numbers.vector(300);
  EXPECT_EQ(count_allocations([&] { model.standard_error(state); }), 0);
  model.baseline.emplace();
  model.baseline->mean = numbers.vector(300);
  model.baseline->weights = numbers.vector(300);
  EXPECT_EQ(count_allocations([&] { model.novelty(state); }), 0);
}

TEST(Allocation, HoldingWhatIsReadTakesNone) {
  Model model;
  model.environment.observation_names = {"a", "b"};
  model.environment.actions = ActionSpace::box(VectorXd::Zero(1), VectorXd::Ones(1));
  model.ranges = {VectorXd::Zero(4), VectorXd::Ones(4), VectorXd::Zero(4), VectorXd::Ones(4)};
  InputGuard guard(model);
  InputGuard before = guard;
  Percept percept;
  percept.observation = VectorXd::Constant(2, 5.0);
  EXPECT_EQ(count_allocations([&] {
              before = guard;
              guard.hold(percept);
            }),
            0);
}

TEST(Allocation, WatchingErrorsTakesNone) {
  ErrorWatch watch({.block = 2, .settling = 3});
  EXPECT_EQ(count_allocations([&] {
              for (int k = 0; k < 20; ++k) watch.add(1.0);
            }),
            0);
}

TEST(Allocation, ToGoOnLearningTakesNone) {
  RandomNumbers numbers;
  Model model;
  model.controller.reservoir = std::make_shared<const EchoStateNetwork>(plain_reservoir(60), 2);
  model.controller.weights = numbers.vector(60);
  model.deviation_factor = numbers.matrix(60, 60);
  model.diagnostics.residual = 1.0;
  model.diagnostics.samples = 1000;
  model.environment.actions = ActionSpace::box(VectorXd::Zero(1), VectorXd::Ones(1));
  model.ranges = {VectorXd::Zero(2), VectorXd::Ones(2), VectorXd::Zero(2), VectorXd::Ones(2)};
  const VectorXd state = numbers.vector(60);
  Adaptation adaptation(model, {.trial_steps = 8});
  long updates = 0;
  EXPECT_EQ(count_allocations([&] {
              for (int k = 0; k < 200; ++k) {  // and what acts changes in between
                adaptation.decided(0.5, state, 1.0, true);
                adaptation.applied(state, 1.0);
              }
              updates = adaptation.updates();
            }),
            0);
  EXPECT_GT(updates, 300);
  EXPECT_GT(adaptation.trial().turns(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryNetwork,
    testing::Values(plain_reservoir(300), ReservoirOptions{.units = 50, .leak = 0.5},
                    ReservoirOptions{.units = 50, .activation = Activation::tanh},
                    ReservoirOptions{.units = 50, .orthogonal = false, .density = 0.2},
                    ReservoirOptions{.procedure_one = ProcedureOne{.input_bound = 3.0}},
                    ReservoirOptions{.units = 50, .slowest_leak = 0.1}));

}  // namespace
}  // namespace waggle
