#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <waggle/detail/text.h>
#include <waggle/log.h>
#include <waggle/model.h>

#include "core/check.h"

namespace waggle {

void LogOptions::validate() const {
  require(!reward.empty(), "reward: the column must be named");
  require(!actions.empty(), "actions: at least one column must be named");
  std::unordered_set<std::string> taken;
  const auto take = [&](const std::string& name, const char* what) {
    require(!name.empty(), "{}: a column's name must not be empty", what);
    require(taken.insert(name).second, "{}: column {} is named twice", what, shown(name));
  };
  take(reward, "reward");
  for (const std::string& name : actions) take(name, "actions");
  if (observations) {
    for (const std::string& name : *observations) take(name, "observations");
  }
  const std::unordered_set<std::string> labels(labelled.begin(), labelled.end());
  require(labels.size() == labelled.size() && !labels.contains(""),
          "labelled: {} must be distinct and not empty", listed(labelled));
  if (!episode.empty()) take(episode, "episode");
  if (!terminated.empty()) take(terminated, "terminated");
  if (!truncated.empty()) take(truncated, "truncated");
  if (!time.empty()) take(time, "time");
  std::unordered_set<std::string> left_out;
  for (const std::string& name : ignore) {
    const bool flag = name == episode || name == terminated || name == truncated;
    require(!name.empty(), "ignore: a column's name must not be empty");
    require(left_out.insert(name).second && (flag || !taken.contains(name)),
            "ignore: column {} is named twice", shown(name));
  }
  const std::unordered_set<std::string> distinct(choices.begin(), choices.end());
  require(distinct.size() == choices.size() && !distinct.contains(""),
          "choices: {} must be distinct and not empty", listed(choices));
  const bool bounds = !lower.empty() || !upper.empty();
  require(choices.empty() || action_kind != ActionKind::continuous,
          "choices were given for a continuous action");
  require(!bounds || (choices.empty() && action_kind != ActionKind::discrete),
          "bounds were given for a discrete action");
  for (const double bound : lower) require(!std::isnan(bound), "lower: a bound is nan");
  for (const double bound : upper) require(!std::isnan(bound), "upper: a bound is nan");
  for (std::size_t i = 0; i < std::max(lower.size(), upper.size()); ++i) {
    if (lower.empty() || upper.empty()) break;
    const double least = lower[std::min(i, lower.size() - 1)];
    const double greatest = upper[std::min(i, upper.size() - 1)];
    require(least < greatest, "action bound {}: [{}, {}] must have its lower end below its upper",
            i, least, greatest);
  }
  require(needs.minimum_rows >= 0, "minimum_rows = {}: must not be negative", needs.minimum_rows);
  require(needs.chunk_rows >= 1, "chunk_rows = {}: must be at least 1", needs.chunk_rows);
}

LogOptions LogOptions::of(const EnvironmentSpec& spec, const std::vector<std::string>& labels) {
  LogOptions options;
  options.reward = spec.reward_name;
  options.actions = spec.action_names;
  options.observations = spec.observation_names;
  options.reward_is_input = spec.reward_is_input;
  for (const std::string& name : spec.observation_names) {
    if (name.ends_with("=missing")) options.missing = Missing::hold;
  }
  if (spec.actions.is_discrete()) {
    options.choices = labels.empty() ? spec.choice_names : labels;
    for (int i = static_cast<int>(options.choices.size()); i < spec.actions.choices; ++i) {
      options.choices.push_back(fmt::format("{}", i));
    }
  } else {
    options.action_kind = ActionKind::continuous;
    options.lower.assign(spec.actions.lower.begin(), spec.actions.lower.end());
    options.upper.assign(spec.actions.upper.begin(), spec.actions.upper.end());
  }
  return options;
}

LogOptions LogOptions::of(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  LogOptions options = of(spec, spec.choice_names);
  if (!spec.actions.is_discrete()) {
    const double infinity = std::numeric_limits<double>::infinity();
    options.lower.assign(1, -infinity);
    options.upper.assign(1, infinity);
  }
  options.needs.reward_must_vary = false;
  options.needs.minimum_rows = model.options.value.least_rows();
  return options;
}

}  // namespace waggle
