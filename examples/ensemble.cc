// A value on the memory itself (the preset direct), of one network and of three whose values are
// averaged: steadier than one of three times the size. An ensemble is one network as far as
// anything else can tell.
#include <cstdio>

#include <waggle/presets.h>
#include <waggle/waggle.h>

double nectar(int members) {
  waggle::BeeWorld world;
  waggle::Simulation simulation(world, /*seed=*/1);
  waggle::UniformPolicy random(simulation.spec().actions);
  auto options = waggle::presets::direct();
  options.fit.reservoir.units = 80;
  options.fit.reservoir.seed = 1;
  options.fit.members = members;
  options.fit.value.discount = 0.5;
  options.fit.sweeps = 1;
  options.collect.rounds = 8;
  options.collect.final_sweeps = 3;
  options.collect.exploration.epsilon = 0.1;
  const auto learnt = waggle::learn(simulation, random, options);
  auto policy = learnt.policy(waggle::Start::training_ended);
  return simulation.run(policy, {.steps = 2000}).trajectory.rewards().mean();
}

int main() { std::printf("one %.2f, three %.2f\n", nectar(1), nectar(3)); }
