#include "act_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <waggle/detail/json.h>
#include <waggle/detail/require.h>
#include <waggle/detail/text.h>

#include "act_cells.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

ActLoop::ActLoop(const Model& model, std::uint64_t seed, Start start, Guard guard)
    : model_(model),
      policy_(model, guard.options, start, std::move(guard.fallback), guard.learning),
      events_(model, policy_, std::move(guard.tell)),
      random_(seed),
      missing_(model),
      held_(missing_.means()),
      action_(VectorXd::Zero(model.controller.actions.size())),
      next_(action_),
      applied_(action_) {
  percept_.observation = VectorXd::Zero(model.environment.observation_size());
  for (const std::string& name : model.environment.choice_names) {
    // As the log had it: a number is a number.
    const bool numeric = number_in(name) && nlohmann::json::accept(name);
    choice_texts_.push_back(numeric ? name : nlohmann::json(name).dump());
  }
}

std::string ActLoop::answer(const std::string& line) {
  try {
    const nlohmann::json json = parse_json(with_quoted_words(line), "line");
    require(json.is_object(), "line: must be a JSON object");
    const bool reset = read(json);
    if (reset) begin_episode();
    if (reset && json.size() == 1) return "{\"reset\":true}";
    if (terminated_) {
      terminate();
      return "{\"terminated\":true}";
    }
    act();
    std::string text = "{\"action\":";
    if (action_.size() == 1) {
      text += action_text(0);
    } else {
      for (Index i = 0; i < action_.size(); ++i) text += (i == 0 ? "[" : ",") + action_text(i);
      text += "]";
    }
    text += fmt::format(",\"value\":{}", policy_.value());
    if (model_.has_confidence()) {
      const double error = error_of_value();
      // JSON has no infinity, which a reservoir that runs away comes to.
      text += std::isfinite(error) ? fmt::format(",\"standard_error\":{}", error)
                                   : ",\"standard_error\":null";
    }
    return text + events_.text() + "}";
  } catch (const Error& error) {
    return nlohmann::json{{"error", error.what()}}.dump();
  }
}

void ActLoop::begin_episode() {
  policy_.begin_episode();
  step_ = 0;
  held_ = missing_.means();
}

/// The episode ended with the reward of its last action; what comes next begins another.
void ActLoop::terminate() {
  require(step_ > 0, "terminated: no action has been answered in this episode yet");
  if (says_applied_) policy_.applied(applied_);
  policy_.end_episode(percept_);
  begin_episode();
}

void ActLoop::act() {
  if (says_applied_) policy_.applied(applied_);
  try {
    // What learns tries something else in every episode.
    Draws draws = random_.at(Purpose::policy, learns() ? clock_ : step_);
    policy_.act(percept_, draws, next_);
  } catch (const Error&) {
    if (says_applied_) policy_.applied(action_);  // as if the line had not come
    throw;
  }
  action_.swap(next_);
  missing_.keep(percept_.observation, held_);
  ++step_;
  ++clock_;
  events_.look(percept_);
}

/// The channel of a name: 0 the reward, 1 + i observation i, −1 none.
Index ActLoop::channel(const std::string& name) const {
  for (std::size_t i = 0; i < spec().observation_names.size(); ++i) {
    if (spec().observation_names[i] == name) return 1 + static_cast<Index>(i);
  }
  return name == spec().reward_name || name == "reward" ? 0 : -1;
}

/// The channels column=label of a column of labels, one after the other; none if it is none.
std::vector<Index> ActLoop::labels(const std::string& column) const {
  std::vector<Index> channels;
  for (std::size_t i = 0; i < spec().observation_names.size(); ++i) {
    if (spec().observation_names[i].starts_with(column + "=")) {
      channels.push_back(1 + static_cast<Index>(i));
    }
  }
  return channels;
}

void ActLoop::read_label(const std::string& column, const std::string& label) {
  std::vector<std::string> known;
  bool found = false;
  for (const Index channel : labels(column)) {
    known.push_back(name_of_channel(channel).substr(column.size() + 1));
    slot(channel) = same_label(label, known.back()) ? 1.0 : 0.0;
    found = found || slot(channel) == 1.0;
  }
  if (!found) throw Error(printable(column) + ": " + missing_name("label", label, known));
}

const std::string& ActLoop::name_of_channel(Index channel) const {
  return channel == 0 ? spec().reward_name
                      : spec().observation_names[static_cast<std::size_t>(channel - 1)];
}

bool ActLoop::may_miss(Index channel) const {
  return channel > 0 && missing_.flag(channel - 1) >= 0;
}

/// Holds what a line does not give and may be missing, and says so in the channels for that. Throws
/// Error for anything else that is not given.
void ActLoop::fill_missing(std::vector<bool> given, const VectorXd& held, bool begins) {
  for (Index i = 1; i <= spec().observation_size(); ++i) {
    if (!may_miss(i)) continue;
    const Index flag = 1 + missing_.flag(i - 1);
    if (!given[static_cast<std::size_t>(i)]) {
      slot(i) = std::numeric_limits<double>::quiet_NaN();
    } else if (!given[static_cast<std::size_t>(flag)]) {
      slot(flag) = 0.0;
    }
    given[static_cast<std::size_t>(i)] = given[static_cast<std::size_t>(flag)] = true;
  }
  missing_.fill(percept_.observation, held);
  for (Index i = spec().reward_is_input ? 0 : 1; i <= spec().observation_size(); ++i) {
    if (given[static_cast<std::size_t>(i)]) continue;
    throw Error(printable(name_of_channel(i)) + ": is missing");
  }
  // What comes first in an episode is no action's reward.
  if (!learns() || begins || given[0]) return;
  throw Error(printable(name_of_channel(0)) +
              ": is missing: to learn takes the reward of every step");
}

double& ActLoop::slot(Index channel) {
  return channel == 0 ? percept_.reward : percept_.observation[channel - 1];
}

/// A reward that is not read need not be given.
void ActLoop::forget_reward() {
  if (!spec().reward_is_input) percept_.reward = std::numeric_limits<double>::quiet_NaN();
}

/// Reads a percept, and what was applied before it; returns whether an episode begins with it.
bool ActLoop::read(const nlohmann::json& json) {
  bool reset = false;
  says_applied_ = terminated_ = false;
  forget_reward();
  std::vector<std::string> given(1 + spec().observation_names.size());  // by which key
  const auto claim = [&](Index at, const std::string& key) {
    std::string& by = given[static_cast<std::size_t>(at)];
    require(by.empty(), "{} and {} are the same: give one of them", shown(by), shown(key));
    by = key;
  };
  const auto take = [&](Index at, const nlohmann::json& value, const std::string& key) {
    if ((value.is_null() || value == "NaN") && may_miss(at)) return;
    claim(at, key);
    slot(at) = reading(value, key == "observation" ? name_of_channel(at) : key);
  };
  for (const auto& [key, value] : json.items()) {
    const Index at = channel(key);
    const std::vector<Index> labelled = labels(key);
    if (at >= 0) {
      take(at, value, key);
    } else if (!labelled.empty()) {
      for (const Index one : labelled) claim(one, key);
      read_label(key, value.is_null() ? "missing" : label_in(value, key));
    } else if (key == "observation") {
      const Index size = spec().observation_size();
      require(value.is_array() && static_cast<Index>(value.size()) == size,
              "observation: must be a list of {}", counted(size, "number"));
      for (Index i = 0; i < size; ++i) take(1 + i, value[static_cast<std::size_t>(i)], key);
    } else if (key == "applied") {
      read_applied(value);
    } else if (key == "reset") {
      require(value.is_boolean(), "reset: must be true or false");
      reset = value.get<bool>();
    } else if (key == "terminated") {
      require(value.is_boolean(), "terminated: must be true or false");
      terminated_ = value.get<bool>();
    } else {
      std::vector<std::string> names = spec().observation_names;
      names.insert(names.end(),
                   {spec().reward_name, "reward", "observation", "applied", "reset", "terminated"});
      throw Error(missing_name("channel", key, names));
    }
  }
  require(!reset || !says_applied_,
          "applied: an episode begins with this line, no action came before it");
  require(!reset || !terminated_, "terminated: an episode begins with this line");
  if (reset && json.size() == 1) return true;
  if (terminated_) {
    require(!given[0].empty(), "{}: is missing: what did the last action earn?",
            printable(name_of_channel(0)));
    return false;
  }
  std::vector<bool> there(given.size());
  std::transform(given.begin(), given.end(), there.begin(),
                 [](const std::string& key) { return !key.empty(); });
  fill_missing(std::move(there), reset ? missing_.means() : held_, reset || step_ == 0);
  return reset;
}

void ActLoop::read_applied(const nlohmann::json& json) {
  if (json.is_null()) return;  // as answered
  says_applied_ = true;
  if (applied_.size() == 1) {
    applied_[0] = applied_number(json);
    return;
  }
  require(json.is_array() && static_cast<Index>(json.size()) == applied_.size(),
          "applied: must be a list of {}", counted(applied_.size(), "number"));
  for (Index i = 0; i < applied_.size(); ++i) {
    applied_[i] = applied_number(json[static_cast<std::size_t>(i)]);
  }
}

double ActLoop::applied_number(const nlohmann::json& json) const {
  if (choice_texts_.empty()) return number(json, "applied");
  const std::string label = label_in(json, "applied");
  const std::optional<double> found = choice(label);
  if (!found) {
    throw Error("applied: " + missing_name("choice", label, spec().choice_names));
  }
  return *found;
}

std::optional<double> ActLoop::choice(const std::string& label) const {
  const std::vector<std::string>& names = spec().choice_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (same_label(label, names[i])) return static_cast<double>(i);
  }
  return std::nullopt;
}

std::string ActLoop::action_text(Index i) const {
  if (!choice_texts_.empty()) return choice_texts_[static_cast<std::size_t>(action_[i])];
  return fmt::format("{}", action_[i]);
}

}  // namespace waggle::app
