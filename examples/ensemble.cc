// Three independent reservoirs, their values averaged: steadier than one of three times the size.
// An ensemble is one network as far as anything else can tell.
#include <cstdio>

#include <waggle/waggle.h>

double nectar(int members) {
  waggle::BeeWorld world;
  waggle::Simulation simulation(world, /*seed=*/1);
  waggle::UniformPolicy random(simulation.spec().actions);
  const auto learnt =
      waggle::learn(simulation, random,
                    {.fit = {.reservoir = {.units = 80, .seed = 1},
                             .members = members,
                             .value = {.discount = 0.5},
                             .sweeps = 1},
                     .collect = {.rounds = 8, .final_sweeps = 3, .exploration = {.epsilon = 0.1}}});
  auto policy = learnt.policy(waggle::Start::training_ended);
  return simulation.run(policy, {.steps = 2000}).trajectory.rewards().mean();
}

int main() { std::printf("one %.2f, three %.2f\n", nectar(1), nectar(3)); }
