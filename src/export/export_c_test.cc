#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/export.h>

#include "expect_error.h"
#include "export_fixture.h"
#include "plain_learner.h"

namespace waggle {
namespace {

using ExportC = CFixture;

/// A made-up plant: what it shows is what was done, remembered, and noise. One number or several,
/// or choices.
Trajectory made_up_log(const EnvironmentSpec& spec, Index steps) {
  const Index actions = spec.actions.size();
  Trajectory log(actions, spec.observation_size());
  VectorXd action(actions), observation = VectorXd::Zero(spec.observation_size());
  double memory = 0.0;
  for (Index k = 0; k < steps; ++k) {
    Draws draws = Random(11).at(Purpose::user, static_cast<std::uint64_t>(k));
    for (Index i = 0; i < actions; ++i) {
      action[i] = spec.actions.is_discrete()
                      ? static_cast<double>(draws.index(spec.actions.choices))
                      : draws.uniform(-1.0, 1.0);
    }
    const double centre = spec.actions.is_discrete() ? 0.5 * (spec.actions.choices - 1.0) : 0.0;
    memory = 0.7 * memory + action.sum() - centre + 0.3 * draws.normal();
    for (double& value : observation) value = memory + 0.1 * draws.normal();
    const double reward = -memory * memory + 0.2 * action[0];
    log.append(reward, action, observation);
  }
  return log;
}

EnvironmentSpec made_up_spec(ActionSpace actions, Index observations, bool reward_is_input) {
  EnvironmentSpec spec;
  spec.name = "plant */ \\ ?\?/ \n end";
  spec.actions = std::move(actions);
  for (Index i = 0; i < spec.actions.size(); ++i) spec.action_names.push_back("valve /* @");
  for (Index i = 0; i < observations; ++i) spec.observation_names.push_back("θ\xe2\x80\xae");
  spec.reward_is_input = reward_is_input;
  return spec;
}

Exported made_up(const char* title, ActionSpace actions, const LearnOptions& options,
                 Index observations = 1, bool reward_is_input = true) {
  const EnvironmentSpec spec = made_up_spec(std::move(actions), observations, reward_is_input);
  const Trajectory log = made_up_log(spec, 10'600);
  Trajectory head(log.action_size(), log.observation_size());
  Trajectory tail = head;
  for (Index k = 0; k < log.steps(); ++k) {
    (k < 600 ? head : tail)
        .append(log.rewards()[k], log.actions().col(k), log.observations().col(k));
  }
  return {title, learn_from_log(spec, head, options.fit), std::move(tail)};
}

LearnOptions small(Index units = 40) {
  LearnOptions options = plain_learner();
  options.fit.reservoir.units = units;
  return options;
}

Exported make_bee() {
  BeeWorld world;
  Simulation simulation(world, 3);
  UniformPolicy initial(world.spec().actions);
  LearnOptions options = small(120);
  options.fit.sweeps = 5;
  const Learnt learnt = learn(simulation, initial, options);
  GreedyPolicy policy = learnt.policy(Start::training_ended, {.epsilon = 0.1});
  return {"bee world", learnt, simulation.run(policy, {.steps = 10'000}).trajectory};
}

const Exported& bee() {
  static const Exported controller = make_bee();
  return controller;
}

Exported market() {
  MarketMaker market;
  Simulation simulation(market, 4);
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.3), 1.0);
  LearnOptions options = small();
  options.fit.reservoir.direct_inputs = true;
  options.fit.reservoir.slowest_leak = 0.2;
  const Learnt learnt = learn(simulation, initial, options);
  return {"market maker, leaks and direct inputs", learnt,
          simulation.run(initial, {.steps = 10'000}).trajectory};
}

std::vector<Exported> controllers() {
  const ActionSpace interval = ActionSpace::box(-1.0, 1.0);
  std::vector<Exported> all;
  all.push_back(bee());
  all.push_back(market());
  LearnOptions options = small();
  options.fit.greedy.smoothing = 0.3;
  all.push_back(made_up("a window", interval, options, 2));
  options = small();
  options.fit.members = 3;
  options.fit.reservoir.density = 0.2;
  all.push_back(made_up("sparse members", interval, options, 1, false));
  options.fit.reservoir.density = 1.0;
  options.fit.reservoir.units = 15;
  all.push_back(made_up("dense members", interval, options, 0));
  options = small();
  options.fit.reservoir.recurrent_scaling = 0.0;
  options.fit.reservoir.operator_norm.reset();
  all.push_back(made_up("no recurrence", interval, options));
  options = small();
  options.fit.reservoir.activation = Activation::identity;
  options.fit.reservoir.leak = 0.5;
  all.push_back(made_up("identity units", interval, options));
  options = small();
  options.fit.reservoir.activation = Activation::tanh;
  options.fit.reservoir.leak = 0.7;
  options.fit.reservoir.input_scaling = 1.0;
  all.push_back(made_up("choices, tanh units", ActionSpace::discrete(3), options));
  all.push_back(made_up("choices, ReLU units", ActionSpace::discrete(4), small(), 0));
  all.push_back(made_up("one choice", ActionSpace::discrete(1), small(), 1, false));
  options = small(20);
  options.fit.greedy.candidates = 10;
  all.push_back(made_up("two numbers",
                        ActionSpace::box(Eigen::Vector2d(-1.0, -2.0), Eigen::Vector2d(1.0, 0.5)),
                        options));
  options.fit.reservoir.activation = Activation::tanh;
  all.push_back(made_up("candidates, tanh units", interval, options));
  options.fit.greedy = {
      .maximiser = Maximiser::sampled, .candidates = 7, .candidate_spread = 1.0 / 3.0};
  options.fit.reservoir.activation = Activation::relu;
  all.push_back(made_up("normal candidates, unbounded", ActionSpace::unbounded(2), options));
  options.fit.limits.max_change = {0.1};
  all.push_back(made_up("normal candidates at first",
                        ActionSpace::box(Eigen::Vector2d(-1.0, -1.0), Eigen::Vector2d(1.0, 1.0)),
                        options));
  options = small(20);
  options.fit.greedy.candidates = 10;
  options.fit.limits = {.max_change = {0.05, 0.2}, .hold = 3};
  all.push_back(made_up("two numbers with limits",
                        ActionSpace::box(Eigen::Vector2d(-1.0, -2.0), Eigen::Vector2d(1.0, 0.5)),
                        options));
  options = small();
  options.fit.greedy.smoothing = 0.3;
  options.fit.limits = {.max_change = {0.3}};
  all.push_back(made_up("a window within reach", interval, options));
  options.fit.limits = {.hold = 2};
  options.fit.reservoir.leak = 0.7;
  all.push_back(made_up("every second step", interval, options));
  all.push_back(made_up("choices every second step", ActionSpace::discrete(4), options, 0));
  options.fit.limits = {.max_change = {0.1}};
  options.fit.reservoir.activation = Activation::identity;
  all.push_back(made_up("identity units with limits", interval, options));
  return all;
}

TEST_F(ExportC, DoesWhatTheLibraryDoes) {
  constexpr std::uint64_t seed = 0x123456789abcdef0;
  for (const Exported& controller : controllers()) {
    SCOPED_TRACE(controller.title);
    for (const MatrixXd& told : {MatrixXd(), told_of(controller.percepts)}) {
      const MatrixXd expected = run_library(controller, seed, told);
      const MatrixXd actual = run_c(controller, {.seed = seed}, told);
      ASSERT_EQ(actual.size(), expected.size());
      const Index last = expected.rows() - 1;
      const MatrixXd actions = expected.topRows(last);
      // Something is decided, at least where there is something to decide: a linear value always
      // has its maximum at the same end.
      if (controller.model.controller.actions.choices != 1 &&
          as<EchoStateNetwork>(*controller.model.controller.reservoir)->activation() !=
              Activation::identity) {
        EXPECT_GT(actions.maxCoeff() - actions.minCoeff(), 0.0);
      }
      EXPECT_LT((actual.topRows(last) - actions).cwiseAbs().maxCoeff(), 1e-12);
      const double scale = std::max(1.0, expected.row(last).cwiseAbs().maxCoeff());
      EXPECT_LT((actual - expected).row(last).cwiseAbs().maxCoeff(), 1e-12 * scale);
    }
    ASSERT_TRUE(run("g++ -Wall -Wextra -Werror -pedantic -x c++ -fsyntax-only controller.c"));
  }
}

TEST_F(ExportC, DriftsLittleInFloat) {
  for (const Exported& controller : controllers()) {
    SCOPED_TRACE(controller.title);
    for (const MatrixXd& told : {MatrixXd(), told_of(controller.percepts)}) {
      expect_little_drift(controller, run_library(controller, 0, told),
                          run_c(controller, {.precision = Precision::float32}, told));
    }
  }
}

TEST_F(ExportC, TakesOnACortexWhatItSays) {
  if (!has_cortex_compiler()) GTEST_SKIP() << "there is no arm-none-eabi-gcc";
  for (const Exported& controller : controllers()) {
    for (const Precision precision : {Precision::float32, Precision::float64}) {
      expect_sizes_on_a_cortex(controller, {.precision = precision});
    }
  }
}

TEST_F(ExportC, TheRuntimeIsCInItsOwnRight) {
  const std::string tests = WAGGLE_SOURCE_DIR "/tests",
                    runtime = WAGGLE_SOURCE_DIR "/src/export/runtime";
  EXPECT_TRUE(run(fmt::format("gcc {} -O1 {} -I{} {}/exported_runtime_test.c -o main -lm && ./main",
                              kStrictC, kSanitized, runtime, tests)));
}

TEST_F(ExportC, NamesFilesAsTold) {
  const Model model = bee().model;
  export_c(directory_ / "my bee-2.c", model, {});
  EXPECT_TRUE(
      run("test -f 'my bee-2.h' && gcc -std=c99 -Wall -Wextra -Werror -pedantic -c "
          "'my bee-2.c' -o bee.o && nm bee.o | grep -q 'T my_bee_2_step'"));
  EXPECT_THROW(export_c(directory_ / "no" / "bee", model, {}), std::runtime_error);
}

TEST_F(ExportC, DecidesTiesAsTheLibrary) {
  for (Exported controller : {bee(), made_up("choices", ActionSpace::discrete(3), small())}) {
    controller.model.controller.weights.setZero();
    const MatrixXd expected = run_library(controller, 0);
    EXPECT_EQ(run_c(controller, {}), expected);
    const double first = controller.model.controller.actions.is_discrete() ? 0.0 : -0.1;
    EXPECT_TRUE((expected.row(0).array() == first).all());
  }
}

TEST_F(ExportC, GoesOnAfterInputsThatAreNotFinite) {
  LearnOptions options = small();
  options.fit.reservoir.leak = 0.9;
  const Exported controller = made_up("plant", ActionSpace::box(-1.0, 1.0), options);
  export_c(directory_ / "controller", controller.model, {});
  run_main(
      "#include \"controller.h\"\n#include <math.h>\n#include <string.h>\n"
      "int main(void) {\n"
      "  controller_state s, before; double o = 1.0, large = 1e100, first, a;\n"
      "  double bad[4] = {NAN, INFINITY, 1.1e100, -1e308};\n"
      "  controller_reset(&s);\n"
      "  if (!controller_step(&s, 0.0, &o, &first) || first == 0.0) return 1;\n"
      "  before = s;\n"
      "  for (int i = 0; i < 4; ++i) {\n"
      "    a = 0.0;\n"
      "    if (controller_step(&s, bad[i], &o, &a) || a != first) return 2;\n"
      "    if (controller_step(&s, 0.0, &bad[i], &a) || a != first) return 3;\n"
      "  }\n"
      "  if (memcmp(&s, &before, sizeof s) != 0) return 4;\n"
      "  for (int i = 0; i < 50; ++i) {\n"
      "    controller_step(&s, 0.0, &large, &a);\n"
      "    if (!isfinite(a) || !isfinite(controller_value(&s))) return 5;\n"
      "  }\n"
      "  controller_reset(&s);\n"
      "  return controller_step(&s, 0.0, &o, &a) && a == first ? 0 : 6;\n}\n");
}

TEST_F(ExportC, RefusesToHaveDoneWhatCannotBe) {
  export_c(directory_ / "box", bee().model, {});
  export_c(directory_ / "choice", made_up("", ActionSpace::discrete(3), small()).model, {});
  run_main(
      "#include \"box.h\"\n#include \"choice.h\"\n#include <math.h>\n"
      "#include <string.h>\n"
      "int main(void) {\n"
      "  box_state b, before; choice_state c; double o = 1.0, value, a, done[1];\n"
      "  const double bad[4] = {NAN, INFINITY, 1e308, 1.1e100}, no[4] = {-1, 3, 1.5, NAN};\n"
      "  box_reset(&b);\n"
      "  choice_reset(&c);\n"
      "  done[0] = 0.0;\n"
      "  if (box_applied(&b, done) || choice_applied(&c, done)) return 1;\n"
      "  box_step(&b, 1.0, 0, &a);\n"
      "  choice_step(&c, 1.0, &o, done);\n"
      "  before = b;\n"
      "  for (int i = 0; i < 4; ++i) {\n"
      "    if (box_applied(&b, bad + i) || choice_applied(&c, no + i)) return 2;\n"
      "  }\n"
      "  if (memcmp(&b, &before, sizeof b) != 0) return 4;\n"
      "  done[0] = 2.0;\n"
      "  if (!choice_applied(&c, done)) return 6;\n"
      "  value = box_value(&b);\n"
      "  done[0] = -0.5;\n"
      "  if (!box_applied(&b, done) || box_value(&b) == value) return 7;\n"
      "  if (box_applied(&b, &a)) return 8;\n"                         // it was told already
      "  if (box_step(&b, NAN, 0, done) || done[0] != a) return 9;\n"  // not what was done
      "  box_reset(&b);\n"
      "  return box_applied(&b, done) ? 10 : 0;\n}\n",
      "box.c choice.c");
}

TEST(ExportedC, SaysWhatItTakes) {
  const Model model = bee().model;
  const Index constants = 120 * 120 + 120 * 2 + 120 + 120 + 2;  // A, C, ζ, W and the bounds
  const ExportedC wide = export_c(model);
  const ExportedC narrow = export_c(model, {.name = "bee_2", .precision = Precision::float32});
  EXPECT_EQ(wide.flash_bytes, 8 * constants);
  EXPECT_EQ(narrow.flash_bytes, 4 * constants);
  EXPECT_EQ(narrow.ram_bytes, 4 * (120 * 4 + 2) + 8 + 4 * 4);
  EXPECT_GE(wide.multiply_adds, 120 * 120 + 120 * 3);
  EXPECT_LE(wide.multiply_adds, 120 * 120 + 120 * 10);
  for (const std::string& part :
       {fmt::format("{} bytes of constants", narrow.flash_bytes),
        fmt::format("{} multiply-adds", narrow.multiply_adds),
        std::string("reward          nectar"), std::string("move, from -0.1 to 0.1"),
        std::string("typedef float bee_2_real;"), std::string("int bee_2_step(bee_2_state *state"),
        std::string("int bee_2_applied(bee_2_state *state, const bee_2_real *action);")}) {
    EXPECT_NE(narrow.header.find(part), std::string::npos) << part;
  }
  EXPECT_NE(narrow.source.find("#include \"bee_2.h\""), std::string::npos);
  EXPECT_EQ(narrow.source.find("malloc"), std::string::npos);
}

TEST(ExportedC, RefusesWhatIsNoName) {
  Model model = bee().model;
  for (const char* name : {"", "2bee", "_bee", "my-bee", "bee\nint x;", "b\xc3\xa9"}) {
    expect_error([&] { export_c(model, {.name = name}); }, "name = '", "must be a letter");
  }
  expect_error([&] { export_c(model, {.name = std::string(41, 'x')}); }, "at most 40");
  expect_error([&] { export_c("/tmp/", model, {}); }, "name = ''");
  expect_error([&] { export_c("/tmp/a\"b", model, {}); }, "no quotes");
  model.controller.weights[3] = 1e300;
  expect_error([&] { export_c(model, {.precision = Precision::float32}); }, "1e+300",
               "export as double");
  model.controller.weights[3] = NAN;
  expect_error([&] { export_c(model); }, "readout.weights");
}

}  // namespace
}  // namespace waggle
