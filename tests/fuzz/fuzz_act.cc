#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <waggle/learner.h>
#include <waggle/presets.h>

#include "act_loop.h"

namespace {

using namespace waggle;

/// A small controller that reads a reward and two observations, one of them a label.
Model learnt() {
  EnvironmentSpec spec;
  spec.name = "fuzz";
  spec.actions = ActionSpace::box(-1.0, 1.0);
  spec.action_names = {"a"};
  spec.observation_names = {"o", "mode=on", "mode=off"};
  Trajectory log(1, 3);
  for (int k = 0; k < 200; ++k) {
    const double phase = 0.1 * k * k;
    const bool on = k % 3 == 0;
    log.append(std::sin(phase), Eigen::VectorXd::Constant(1, std::cos(phase)),
               Eigen::Vector3d(std::sin(0.7 * k), on ? 1.0 : 0.0, on ? 0.0 : 1.0));
  }
  FitOptions options = presets::direct().fit;
  options.members = 1;
  options.reservoir.units = 10;
  options.sweeps = 1;
  return learn_from_log(spec, log, options);
}

}  // namespace

/// The first byte says how the loop is set up, the rest are its lines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model model = learnt();
  if (size == 0) return 0;
  app::ActLoop::Guard guard;
  guard.options.hold = (data[0] & 1) == 0;
  guard.options.watch = {.block = 1, .settling = 2};
  if ((data[0] & 2) != 0) guard.fallback = std::make_unique<HoldPolicy>();
  app::ActLoop loop(model, 0, Start::fresh, std::move(guard));
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    if (!nlohmann::json::accept(loop.answer(line))) __builtin_trap();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  (void)loop.summary();
  return 0;
}
