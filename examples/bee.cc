// The example of the README: a bee that flew at random learns where the nectar is.
#include <cstdio>

#include <waggle/waggle.h>

int main() {
  waggle::BeeWorld world;  // or your own Environment
  waggle::Simulation simulation(world, /*seed=*/1);
  waggle::UniformPolicy random(simulation.spec().actions);

  const auto learnt = waggle::learn(  // 2,000 random steps, policy iteration on them
      simulation, random, {.steps = 2000, .sweeps = 10, .reservoir = {.seed = 1}});

  auto policy = learnt.policy();  // greedy on the learnt value
  const auto flight = simulation.run(policy, {.steps = 2000});
  std::printf("random %.2f, learnt %.2f\n", learnt.rounds.front().mean_reward,
              flight.trajectory.rewards().mean());
}
