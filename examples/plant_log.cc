// From a plant's log to a controller on disk. The log here is written by a tank with a slow inflow
// that is not measured; yours comes from your own machine. What is needed of it are columns: what
// was seen, what was done, what it was worth.
#include <cstdio>
#include <fstream>

#include <waggle/waggle.h>

// The level y is to stay at 0; the valve a acts on a flow f that nobody measures.
void write_plant_log(const char* path) {
  std::ofstream log(path);
  log << "level,valve,score\n";
  double y = 0.0, f = 0.0;
  for (int k = 0; k < 5000; ++k) {
    waggle::Draws draws = waggle::Random(1).at(waggle::Purpose::user, k);
    const double a = draws.uniform(-1.0, 1.0);  // the operator was not very good
    log << y << ',' << a << ',' << -y * y << '\n';
    y = 0.9 * y + 0.5 * f + 0.1 * draws.normal();
    f = 0.6 * f + 0.4 * a;
  }
}

int main() {
  write_plant_log("plant.csv");
  waggle::Log log("plant.csv", {.reward = "score", .actions = {"valve"}});
  std::printf("%ld rows\n", static_cast<long>(log.rows()));
  auto learnt = waggle::learn_from_log(
      log.spec(), log, {.reservoir = {.units = 100, .seed = 1}, .value = {.discount = 0.9}});
  learnt.provenance.sources = {"plant.csv"};
  waggle::save_model("plant.safetensors", learnt);
  std::printf("score of the log %.3f, saved %ld weights\n", learnt.rounds.front().mean_reward,
              static_cast<long>(learnt.controller.weights.size()));
}
