// The example of the README: a bee that flew at random learns where the nectar is.
#include <cstdio>

#include <waggle/waggle.h>

int main() {
  waggle::BeeWorld world;  // or your own Environment
  waggle::Simulation simulation(world, /*seed=*/3);
  waggle::UniformPolicy random(simulation.spec().actions);

  const auto learnt = waggle::learn(  // 2,000 steps, in rounds of acting and learning
      simulation, random, {.fit = {.value = {.discount = 0.5}}, .collect = {.steps = 2000}});

  auto policy = learnt.policy(waggle::Start::training_ended);  // greedy on the learnt value
  const auto flight = simulation.run(policy, {.steps = 2000});
  std::printf("random %.2f, learnt %.2f\n", learnt.rounds.front().mean_reward,
              flight.trajectory.rewards().mean());
}
