#include <waggle/detail/text.h>
#include <waggle/presets.h>

#include "core/check.h"

namespace waggle::presets {

LearnOptions predictive() { return {}; }

LearnOptions direct() {
  LearnOptions options;
  options.fit.predictive = std::nullopt;
  options.collect.steps = 2000;
  options.collect.rounds = 1;
  options.collect.exploration = {.epsilon = 0.0, .noise = 0.0, .held = false};
  return options;
}

SupervisedOptions forecasting() { return {}; }

ReservoirOptions plain_reservoir() {
  ReservoirOptions options;
  options.direct_inputs = false;
  options.slowest_leak = std::nullopt;
  return options;
}

const std::vector<Preset>& all() {
  static const std::vector<Preset> presets = [] {
    std::vector<Preset> list;
    const auto add = [&list](const char* name, const char* text, const LearnOptions& options) {
      list.push_back({name, text, options});
    };
    add("predictive", "what serves most problems: a value on predictive states", predictive());
    add("direct", "a value on the memory itself", direct());
    return list;
  }();
  return presets;
}

const LearnOptions& by_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : all()) {
    if (preset.name == name) return preset.options;
    names.push_back(preset.name);
  }
  throw Error(missing_name("preset", std::string(name), names));
}

}  // namespace waggle::presets
