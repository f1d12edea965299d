// A heater with inertia: its warmth h cannot be measured, only the room's temperature y (as the
// difference from what is wanted). A controller is learnt from 3,000 steps: 750 of random heating,
// then rounds that act, mostly, on what was learnt before, each when a quarter more has been seen.
#include <cstdio>

#include <waggle/waggle.h>

class Thermostat final : public waggle::Environment {
 public:
  waggle::EnvironmentSpec spec() const override {
    waggle::EnvironmentSpec spec;
    spec.name = "thermostat";
    spec.actions = waggle::ActionSpace::box(-1.0, 1.0);
    spec.action_names = {"power"};
    spec.observation_names = {"temperature"};
    return spec;
  }
  void reset(waggle::Draws&, waggle::Percept& percept) override {
    y_ = h_ = percept.observation[0] = 0.0;
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>& power, waggle::Draws& draws,
            waggle::Percept& percept) override {
    y_ = 0.95 * y_ + 0.3 * h_ + 0.1 * draws.normal();
    h_ = 0.7 * h_ + 0.3 * power[0];
    percept.observation[0] = y_;
    percept.reward = -y_ * y_;
  }

 private:
  double y_ = 0.0;  // temperature
  double h_ = 0.0;  // warmth of the heater
};

int main() {
  Thermostat thermostat;
  waggle::Simulation simulation(thermostat, /*seed=*/1);
  waggle::UniformPolicy random(simulation.spec().actions);
  const auto learnt =
      waggle::learn(simulation, random,
                    {.fit = {.reservoir = {.units = 100, .seed = 1}, .value = {.discount = 0.9}},
                     .collect = {.steps = 3000}});
  auto policy = learnt.policy(waggle::Start::training_ended);
  const auto controlled = simulation.run(policy, {.steps = 3000});
  std::printf("random: mean reward %.4f\n", learnt.rounds.front().mean_reward);
  std::printf("learnt: mean reward %.4f\n", controlled.trajectory.rewards().mean());
}
