// What it is worth to know of an actuator's limits: a pendulum whose torque moves by at most so
// much a step, learnt with and without knowing it, both judged on that machine.
//
//     slow_actuator [MAX_CHANGE [STEPS [SEEDS]]]
#include <cstdio>
#include <cstdlib>

#include <waggle/waggle.h>

int main(int count, char** arguments) {
  const auto number = [&](int i, double otherwise) {
    return i < count ? std::atof(arguments[i]) : otherwise;
  };
  const waggle::ActuatorLimits machine{.max_change = {number(1, 0.2)}};
  const auto steps = static_cast<Eigen::Index>(number(2, 3000));
  const auto seeds = static_cast<std::uint64_t>(number(3, 1));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto score_of = [&](const waggle::ActuatorLimits& known) {
      waggle::ControlProblem problem = waggle::make_problem("pendulum");
      waggle::Simulation simulation(*problem.environment, seed);
      waggle::LearnOptions options;
      options.fit.value.discount = problem.discount;
      options.fit.reservoir.seed = seed;
      options.fit.limits = known;
      options.collect.steps = steps;
      waggle::GreedyPolicy learnt = waggle::learn(simulation, *problem.initial, options).policy();
      waggle::LimitedPolicy policy(learnt, machine, simulation.spec().actions);
      return waggle::score_on(problem, policy).score;
    };
    std::printf("seed %d: %.0f knowing it, %.0f clipped\n", static_cast<int>(seed),
                score_of(machine), score_of({}));
  }
}
