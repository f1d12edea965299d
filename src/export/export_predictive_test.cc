#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/export.h>
#include <waggle/learner.h>
#include <waggle/predictive.h>

#include "expect_error.h"
#include "export_fixture.h"

namespace waggle {
namespace {

using ExportPredictive = CFixture;

FitOptions small() {
  FitOptions options;
  options.reservoir.units = 40;
  options.predictive = PredictiveOptions{.frames = 2,
                                         .seen = 0,
                                         .dimensions = 4,
                                         .layer = 20,
                                         .dynamics = 20,
                                         .features = 60,
                                         .averaged = 1};
  options.greedy.smoothing = 0.3;
  options.confidence = false;  // some are given other features
  return options;
}

/// Learnt from random actions, and shown what its own lead to, and some others.
Exported learnt(const char* title, const ControlProblem& problem, FitOptions options,
                Index shown = 3000) {
  options.value.discount = problem.discount;
  HeldUniformPolicy policy(problem.environment->spec().actions);
  Simulation simulation(*problem.environment, 5);
  const Trajectory log = simulation.run(policy, {.steps = 1500}).trajectory;
  Model model = learn_from_log(simulation.spec(), log, options);
  Simulation run(*problem.environment, 6);
  GreedyPolicy greedy = model.policy(Start::fresh, {.epsilon = 0.1, .held = true});
  Trajectory percepts = run.run(greedy, {.steps = shown}).trajectory;
  return {title, std::move(model), std::move(percepts)};
}

const PredictiveNetwork& network_of(const Exported& controller) {
  return *as<PredictiveNetwork>(*controller.model.controller.reservoir);
}

/// The same with its heads changed.
Exported with_heads(Exported controller, const char* title,
                    const std::function<void(std::vector<PredictiveHead>&)>& change) {
  std::vector<PredictiveHead> heads = network_of(controller).heads();
  change(heads);
  controller.title = title;
  controller.model.controller.reservoir =
      std::make_shared<const PredictiveNetwork>(network_of(controller).memory(), std::move(heads));
  return controller;
}

/// Bends of the reward model, as a plant would have whose actions cost something.
void add_bends(PredictiveHead& head, const ActionSpace& actions) {
  head.knots.resize(actions.size(), 3);
  head.bends.resize(actions.size(), 3);
  for (Index k = 0; k < 3; ++k) {
    const double share = 0.3 * static_cast<double>(k);
    head.knots.col(k) = actions.lower + share * (actions.upper - actions.lower);
    head.bends.col(k).setConstant(k == 0 ? 0.4 : -0.3);
  }
}

/// The same with products that count, whatever the fit thought of them.
Exported with_products(Exported controller, const char* title) {
  controller.title = title;
  VectorXd& weights = controller.model.controller.weights;
  const double size = weights.tail(weights.size() - 1).norm() / 10.0;
  Index feature = 1;
  for (const PredictiveHead& head : network_of(controller).heads()) {
    EXPECT_GT(head.products(), 0);
    feature += head.features();
    for (Index i = 1; i <= head.products(); ++i) {
      weights[feature - i] += size * std::sin(static_cast<double>(i));
    }
  }
  return controller;
}

/// Three fits of the same experience, as averaging leaves them: of different sizes.
Exported three_heads() {
  const ControlProblem problem = make_problem("pendulum");
  FitOptions options = small();
  Exported first = learnt("three heads", problem, options, 2000);
  std::vector<PredictiveHead> heads = network_of(first).heads();
  VectorXd weights = first.model.controller.weights;
  options.predictive->layer = 0;
  options.predictive->dimensions = 2;
  options.predictive->features = 30;
  const Exported second = learnt("", problem, options, 1);
  options.predictive->layer = 10;
  options.predictive->dimensions = 3;
  const Exported third = learnt("", problem, options, 1);
  for (const Exported* more : {&second, &third}) {
    const VectorXd& other = more->model.controller.weights;
    heads.push_back(network_of(*more).heads().front());
    const Index before = weights.size();
    weights.conservativeResize(before + other.size() - 1);
    weights.tail(other.size() - 1) = other.tail(other.size() - 1);
  }
  weights.tail(weights.size() - 1) /= 3.0;
  add_bends(heads[1], first.model.controller.actions);
  auto network =
      std::make_shared<const PredictiveNetwork>(network_of(first).memory(), std::move(heads));
  first.model.state = VectorXd::Zero(network->units());
  first.model.controller.reservoir = std::move(network);
  first.model.controller.weights = std::move(weights);
  return first;
}

std::vector<Exported> make_controllers() {
  std::vector<Exported> all;
  all.push_back(learnt("cart-pole, choices", make_problem("cart-pole"), small()));
  all.push_back(with_heads(all.back(), "choices with a bent reward", [](auto& heads) {
    heads.front().knots = (MatrixXd(2, 2) << -0.5, 0.5, 0.2, 2.0).finished();
    heads.front().bends = (MatrixXd(2, 2) << 0.3, 0.1, -0.4, 1.0).finished();
  }));
  all.push_back(with_products(all.front(), "choices with products"));
  all.push_back(learnt("pendulum, one number", make_problem("pendulum"), small()));
  all.push_back(with_products(all.back(), "one number with products"));
  FitOptions options = small();
  options.predictive->frames = 0;
  options.predictive->layer = 0;
  options.greedy.smoothing = 0.0;
  all.push_back(learnt("pendulum, no window, no frames", make_problem("pendulum"), options));
  all.push_back(with_products(all.back(), "no window, with products"));
  options = small();
  options.greedy.candidates = 10;
  options.predictive->seen = 3;
  Exported tanks = learnt("tanks, two numbers", make_problem("tanks"), options, 2000);
  all.push_back(with_products(tanks, "two numbers with products"));
  all.push_back(tanks);
  all.push_back(with_heads(std::move(tanks), "tanks with a bent reward", [&](auto& heads) {
    add_bends(heads.front(), all.back().model.controller.actions);
  }));
  options.predictive->frames = 0;
  all.push_back(learnt("recall, rewards from memory", recall_problem({.back = 2}), options));
  EXPECT_GT(network_of(all.back()).heads().front().reward.size(), 0);
  options = small();
  options.reservoir.orthogonal = false;
  options.reservoir.density = 0.2;
  options.reservoir.activation = Activation::tanh;
  options.greedy = {
      .maximiser = Maximiser::sampled, .candidates = 10, .candidate_spread = 1.0 / 3.0};
  all.push_back(
      learnt("pendulum, candidates, sparse tanh units", make_problem("pendulum"), options, 2000));
  all.push_back(three_heads());
  options = small();
  options.limits = {.max_change = {0.3}, .hold = 2};
  all.push_back(learnt("pendulum with limits", make_problem("pendulum"), options));
  options.limits = {.hold = 3};
  all.push_back(learnt("cart-pole, every third step", make_problem("cart-pole"), options));
  options.limits = {.max_change = {0.05, 0.1}};
  options.greedy = {};
  all.push_back(learnt("tanks with limits", make_problem("tanks"), options, 2000));
  return all;
}

const std::vector<Exported>& controllers() {
  static const std::vector<Exported> all = make_controllers();
  return all;
}
const Exported& controller_called(const char* title) {
  for (const Exported& controller : controllers()) {
    if (std::string_view(controller.title) == title) return controller;
  }
  throw Error(title);
}

const Exported& pendulum() { return controller_called("pendulum, one number"); }

/// Which rows are to be compared. A decision depends on those before it, in a loop that amplifies:
/// where the library is shown observations that are moved by their last digit its own actions have
/// moved by 1e-10 some 50 to 100 steps later. So a run that is not told what was done is compared
/// for the first steps of every episode, and choices, which do not move by little, to its end.
std::vector<Index> compared_rows(const Exported& controller, bool told) {
  std::vector<Index> rows;
  Index step = 0;
  for (Index k = 0; k < controller.percepts.steps(); ++k, ++step) {
    if (begins(controller.percepts, k)) step = 0;
    if (told || controller.model.controller.actions.is_discrete() || step < 8) rows.push_back(k);
  }
  return rows;
}

TEST_F(ExportPredictive, DoesWhatTheLibraryDoes) {
  constexpr std::uint64_t seed = 0x123456789abcdef0;
  for (const Exported& controller : controllers()) {
    SCOPED_TRACE(controller.title);
    for (const MatrixXd& told : {MatrixXd(), told_of(controller.percepts, true)}) {
      const std::vector<Index> rows = compared_rows(controller, told.size() > 0);
      ASSERT_GT(rows.size(), 50u);
      const MatrixXd expected = run_library(controller, seed, told)(Eigen::all, rows);
      const MatrixXd all = run_c(controller, {.seed = seed}, told);
      ASSERT_EQ(all.cols(), controller.percepts.steps());
      const MatrixXd actual = all(Eigen::all, rows);
      const Index last = expected.rows() - 1;
      const MatrixXd actions = expected.topRows(last);
      EXPECT_GT(actions.maxCoeff() - actions.minCoeff(), 0.0);  // something is decided
      // The top of a flat hill is known to fewer digits than its height.
      EXPECT_LT((actual.topRows(last) - actions).cwiseAbs().maxCoeff(), 1e-6);
      const double scale = std::max(1.0, expected.row(last).cwiseAbs().maxCoeff());
      EXPECT_LT((actual - expected).row(last).cwiseAbs().maxCoeff(), 1e-9 * scale);
    }
    ASSERT_TRUE(run("g++ -Wall -Wextra -Werror -pedantic -x c++ -fsyntax-only controller.c"));
  }
}

TEST_F(ExportPredictive, DriftsLittleInFloat) {
  for (const Exported& controller : controllers()) {
    SCOPED_TRACE(controller.title);
    // Told of all, so that it is the arithmetic that is compared and not the loop. Where the
    // value's mean is flat at its top, that moves further than the value.
    const MatrixXd told = told_of(controller.percepts, true);
    expect_little_drift(controller, run_library(controller, 0, told),
                        run_c(controller, {.precision = Precision::float32}, told), 1e-2);
  }
}

TEST_F(ExportPredictive, TakesOnACortexWhatItSays) {
  if (!has_cortex_compiler()) GTEST_SKIP() << "there is no arm-none-eabi-gcc";
  for (const Exported& controller : controllers()) {
    for (const Precision precision : {Precision::float32, Precision::float64}) {
      expect_sizes_on_a_cortex(controller, {.precision = precision});
    }
  }
}

TEST_F(ExportPredictive, DecidesTiesAsTheLibrary) {
  for (Exported controller :
       {controllers()[0], pendulum(), controller_called("tanks, two numbers")}) {
    SCOPED_TRACE(controller.title);
    controller.model.controller.weights.setZero();
    // Not EXPECT_EQ, which takes gigabytes to say how two long lists differ.
    EXPECT_TRUE(run_c(controller, {}) == run_library(controller, 0));
  }
}

TEST_F(ExportPredictive, GoesOnAfterInputsThatAreNotFinite) {
  export_c(directory_ / "controller", pendulum().model, {});
  run_main(
      "#include \"controller.h\"\n#include <math.h>\n#include <string.h>\n"
      "int main(void) {\n"
      "  controller_state s, before;\n"
      "  double o[2] = {0.9, 0.1}, bad[2] = {0.9, NAN}, large[2] = {1e100, -1e100}, first, a;\n"
      "  double beyond[2] = {0.9, 1.1e100}, not[2] = {NAN, INFINITY}, other = -5.0;\n"
      "  controller_reset(&s);\n"
      "  if (!controller_step(&s, 0.0, o, &first)) return 1;\n"
      "  before = s;\n"
      "  if (controller_applied(&s, not) || controller_applied(&s, not + 1)) return 2;\n"
      "  if (controller_step(&s, 0.0, bad, &a) || a != first) return 3;\n"
      "  if (controller_step(&s, 0.0, beyond, &a) || a != first) return 4;\n"
      "  if (memcmp(&s, &before, sizeof s) != 0) return 5;\n"
      "  if (!controller_applied(&s, &other) || controller_applied(&s, &first)) return 6;\n"
      "  for (int i = 0; i < 50; ++i) {\n"
      "    if (!controller_step(&s, 0.0, i % 2 ? o : large, &a) && i % 2) return 7;\n"
      "    if (!isfinite(a) || !isfinite(controller_value(&s))) return 8;\n"
      "  }\n"
      "  controller_reset(&s);\n"
      "  return controller_step(&s, 0.0, o, &a) && a == first ? 0 : 9;\n}\n");
}

/// A memory of one's own.
class LastInput final : public ReservoirSystem {
 public:
  explicit LastInput(Index inputs) : inputs_(inputs) {}
  Index units() const override { return inputs_; }
  Index inputs() const override { return inputs_; }
  void step(const Eigen::Ref<const VectorXd>& /*x*/, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next = z;
  }

 private:
  Index inputs_;
};

TEST(ExportedPredictive, RefusesWhatItKnowsNoCFor) {
  Model model = controllers()[0].model;
  const Index inputs = model.controller.layout.size();
  model.controller.reservoir = std::make_shared<const LastInput>(inputs);
  model.controller.weights = VectorXd::Ones(inputs);
  model.state = VectorXd::Zero(inputs);
  expect_error([&] { export_c(model); }, "reservoir", "neither an echo state network nor");
}

TEST(ExportedPredictive, SaysWhatItTakes) {
  const Exported& controller = pendulum();
  const PredictiveNetwork& network = network_of(controller);
  const PredictiveHead& head = network.heads().front();
  const HistoryMemory& memory = network.memory();
  const Index n = memory.size(), units = memory.network().units(), q = head.size();
  const Index after = head.after(), p = head.squared;
  ASSERT_EQ(after, q + 1);  // the reward is not seen
  ASSERT_GT(p, 0);
  const Index nonlinear = memory.network().nonlinear_units();
  const ExportedC exported = export_c(controller.model, {.precision = Precision::float32});
  const Index bent = 2 * head.knots.size();
  const Index constants = nonlinear * nonlinear + units * memory.layout().size() + units +
                          nonlinear + 2 +  // A, C, ζ, leaks, bounds
                          head.first.size() + 20 * (head.first.rows() + 1) + head.second.size() +
                          20 * (q + 1) + head.base.size() + head.drift.size() + 60 * (after + 1) +
                          after + 60 + p * p +  // value, weights, products
                          2 + bent;
  EXPECT_EQ(exported.flash_bytes, 4 * (constants + 17));
  // Two kinks of two numbers each for every feature and bend, since there is a window.
  const Index numbers = n + units + 2 * after + 2 + 4 + 1 + 4 * (60 + bent / 2) + 2;
  EXPECT_EQ(exported.ram_bytes, (4 * numbers + 7) / 8 * 8 + 8 + 4 * 4);
  const Index once = constants - 60 - units;
  EXPECT_GE(exported.multiply_adds, once + 60 * 2 * after);
  EXPECT_LE(exported.multiply_adds, once + 60 * (2 * after + 8) + 4 * n + 4 * p * p);
  EXPECT_EQ(exported.source.find("malloc"), std::string::npos);
}

}  // namespace
}  // namespace waggle
