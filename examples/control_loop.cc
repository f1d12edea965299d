// A controller in a loop of one's own: read the sensor, ask, act. It remembers what it needs by
// itself, and says how sure it is. (A model comes from waggle learn, or from plant_log.cc; here it
// is learnt on the spot.)
#include <cmath>
#include <cstdio>

#include <waggle/waggle.h>

int main() {
  waggle::BeeWorld world;
  waggle::Simulation simulation(world, /*seed=*/1);
  waggle::UniformPolicy random(simulation.spec().actions);
  waggle::save_model("bee.safetensors",
                     waggle::learn(simulation, random, {.fit = {.value = {.discount = 0.5}}}));

  // From here on, nothing but the file is needed.
  const waggle::Model model = waggle::load_model("bee.safetensors");
  waggle::GreedyPolicy controller = model.policy();
  Eigen::VectorXd action(1);
  double y = 0.0, total = 0.0, doubt = 0.0;
  const int steps = 2000;
  for (int k = 0; k < steps; ++k) {
    const double nectar = 1.0 + std::cos(0.1 * k) * std::sin(2.0 * M_PI * y);  // the sensor
    total += nectar;
    waggle::Draws draws = waggle::Random(0).at(waggle::Purpose::policy, k);
    controller.act({.reward = nectar}, draws, action);
    doubt += model.standard_error(controller.features());
    y += action[0];  // the actuator
  }
  std::printf("mean nectar %.2f, value known to about %.3f\n", total / steps, doubt / steps);
}
