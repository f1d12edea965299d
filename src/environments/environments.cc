#include <algorithm>

#include <waggle/detail/text.h>
#include <waggle/environments.h>

#include "core/check.h"

namespace waggle {

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for_each_environment([&](const auto& entry) { names.emplace_back(entry.name); });
  return names;
}

bool is_environment(const std::string& name) {
  const std::vector<std::string> names = environment_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_environment(const std::string& name) {
  require(is_environment(name), "environment: {}",
          missing_name("environment", name, environment_names()));
}

ControlProblem make_problem(const std::string& name) {
  return make_problem(name, [](const auto& entry) { return entry.make({}); });
}

}  // namespace waggle
