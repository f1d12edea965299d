#include <cstddef>
#include <cstdint>
#include <string_view>

#include <waggle/base/error.h>
#include <waggle/base/random.h>
#include <waggle/model.h>

/// Any bytes are a model that can act or an Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const waggle::Model model =
        waggle::parse_model({reinterpret_cast<const char*>(data), size}, "input");
    waggle::GreedyPolicy policy = model.policy();
    waggle::Percept percept;
    percept.observation.setOnes(model.environment.observation_size());
    Eigen::VectorXd action(model.controller.actions.size());
    waggle::Draws draws = waggle::Random(0).at(waggle::Purpose::policy);
    for (int step = 0; step < 3; ++step) policy.act(percept, draws, action);
  } catch (const waggle::Error&) {  // refused
  }
  return 0;
}
