#include <waggle/model.h>

namespace waggle {

namespace {

std::vector<std::string> numbers_as_words(int count) {
  std::vector<std::string> words;
  words.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) words.push_back(std::to_string(i));
  return words;
}

bool is_within(const ActionSpace& inner, const ActionSpace& outer) {
  if (inner.is_discrete() || outer.is_discrete() || inner.size() != outer.size()) return true;
  return (inner.lower.array() >= outer.lower.array()).all() &&
         (inner.upper.array() <= outer.upper.array()).all();
}

}  // namespace

std::vector<std::string> choice_words(const EnvironmentSpec& spec) {
  return spec.choice_names.empty() ? numbers_as_words(spec.actions.choices) : spec.choice_names;
}

Misfit misfit(const Model& model, const EnvironmentSpec& machine) {
  const EnvironmentSpec& own = model.environment;
  const std::vector<std::string> words = choice_words(own);
  Misfit result;
  result.reward = own.reward_name != machine.reward_name;
  result.reward_input = own.reward_is_input && !machine.reward_is_input;
  result.observations = own.observation_names != machine.observation_names;
  result.observation_size = own.observation_size() != machine.observation_size();
  result.actions = own.action_names != machine.action_names;
  result.action_size = own.actions.size() != machine.actions.size();
  result.choices = own.actions.choices != machine.actions.choices;
  result.choice_names = own.choice_names != machine.choice_names;
  // A choice is a number: the same words in another order would be other actions.
  result.choice_words =
      words != choice_words(machine) && words != numbers_as_words(machine.actions.choices);
  result.bounds = !is_within(model.controller.actions, machine.actions);
  return result;
}

}  // namespace waggle
