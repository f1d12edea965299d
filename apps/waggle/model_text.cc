#include "model_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/detail/text.h>
#include <waggle/version.h>

#include "environments.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;
using nlohmann::ordered_json;

namespace {

/// The width of a text on the screen: bytes that go on a character do not count.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

struct Channel {
  std::string name;
  std::string role;
};

/// In the order of ChannelRanges.
std::vector<Channel> channels_of(const EnvironmentSpec& spec) {
  std::vector<Channel> channels;
  channels.push_back({spec.reward_name, spec.reward_is_input ? "reward, also seen" : "reward"});
  for (const std::string& name : spec.action_names) channels.push_back({name, "action"});
  for (const std::string& name : spec.observation_names) channels.push_back({name, "observed"});
  return channels;
}

std::string improvement_text(const Model& model) {
  const FitOptions& fit = model.options;
  const int most = fit.predictive
                       ? kValueSweeps
                       : std::max(fit.sweeps, model.collected ? model.collected->final_sweeps : 0);
  if (most == 0) return "none: the value is that of the logged policy";
  if (!model.improvement) return fmt::format("at most {} sweeps", most);
  const auto [sweeps, end] = *model.improvement;
  const std::string made = fmt::format("{} sweep{}", sweeps, sweeps == 1 ? "" : "s");
  switch (end) {
    case PolicyIterationEnd::fixed_point:
      return made + ", converged";
    case PolicyIterationEnd::cycle:
      return made + ", then it cycled";
    case PolicyIterationEnd::stopped:
      break;
  }
  return made + (sweeps < most ? ", stopped early" : ", the limit: not converged");
}

/// "8", or "7 to 8" where they differ.
std::string range_text(std::vector<Index> numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {}", *least, *most);
}

std::string explained_text(double share) {
  if (std::isnan(share)) return fmt::format("{:>8}", "-");
  return std::abs(share) < 1000.0 ? fmt::format("{:>8.3f}", share) : fmt::format("{:>8.1e}", share);
}

/// How many of what is predicted a person is shown.
constexpr std::size_t kShownNames = 16;

std::string predictions_text(const PredictionQuality& predictions) {
  if (predictions.names.empty()) return table_line("predicts", "nothing: nothing is seen");
  std::string ahead;
  for (const Index horizon : predictions.horizons) ahead += fmt::format("{:>8}", horizon);
  std::string text = table_line("predicts, steps ahead", ahead);
  const std::size_t count = std::min(predictions.names.size(), kShownNames);
  for (std::size_t i = 0; i < count; ++i) {
    std::string row;
    for (const double share : predictions.explained.col(static_cast<Index>(i))) {
      row += explained_text(share);
    }
    text += table_line("  R² of " + shown(predictions.names[i]), row);
  }
  if (count < predictions.names.size()) {
    text += table_line(
        "", fmt::format("and {} more; --json has all", predictions.names.size() - count));
  }
  return text;
}

std::string reward_model_text(const Model& model) {
  const auto& heads = as<PredictiveNetwork>(*model.controller.reservoir)->heads();
  const auto with = std::count_if(heads.begin(), heads.end(),
                                  [](const PredictiveHead& head) { return head.has_reward(); });
  if (with == 0) return "off: the value finds the reward in the state";
  std::string on =
      with == std::ssize(heads) ? "on" : fmt::format("on in {} of {} fits", with, heads.size());
  const double share = model.predictions ? model.predictions->reward_model : 0.0;
  if (!(share > 0.0)) return on;
  return fmt::format("{}: {:.1f} % of the reward's variance is in the action, not in the state", on,
                     100.0 * share);
}

/// What a predictive controller remembers, keeps and predicts.
std::string predictive_text(const Model& model) {
  const PredictiveNetwork& predictive = *as<PredictiveNetwork>(*model.controller.reservoir);
  const HistoryMemory& memory = predictive.memory();
  const EchoStateNetwork& network = memory.network();
  std::string text = table_line(
      "memory",
      fmt::format(
          "{} {} units, seed {}; the last {} inputs exactly{}; {} numbers",
          network.nonlinear_units(), name_of(network.activation()), model.options.reservoir.seed,
          memory.frames() + 1,
          memory.seen() > 0 ? fmt::format(", what was seen {} further back", memory.seen()) : "",
          memory.size()));
  std::vector<Index> kept, features;
  for (const PredictiveHead& head : predictive.heads()) {
    kept.push_back(head.size());
    features.push_back(head.features());
  }
  const Index now = memory.seen_size();
  text += table_line("keeps of it",
                     fmt::format("{} numbers that predict the future, {} of them seen now",
                                 range_text(kept), now));
  if (model.predictions) text += predictions_text(*model.predictions);
  text += table_line("reward model", reward_model_text(model));
  text += table_line(
      "value", fmt::format("{} features, {}{}", range_text(features), predictive.heads().size(),
                           predictive.heads().size() == 1 ? " fit" : " fits averaged"));
  // A state holds what is seen now: the first that counts has read as many rows as the washout.
  const Index left_out = model.options.value.washout_rows() - 1;
  if (left_out > 0) {
    text += table_line("left out",
                       left_out == 1
                           ? "the first row of each episode (washout)"
                           : fmt::format("the first {} rows of each episode (washout)", left_out));
  }
  const FitDiagnostics& fit = model.diagnostics;
  text += table_line("fit", fmt::format("{} rows, relative ridge {:.1e}{}", fit.samples, fit.ridge,
                                        model.options.predictive ? ", cross-validated" : ""));
  return text;
}

/// The same of a controller whose value is linear in the memory itself.
std::string network_text(const Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  const EchoStateNetwork& network = *as<EchoStateNetwork>(*model.controller.reservoir);
  const std::string members =
      network.members() > 1 ? fmt::format("{} networks of ", network.members()) : "";
  std::string text =
      table_line("reservoir", fmt::format("{}{} {} units, seed {}", members, network.member_units(),
                                          name_of(model.options.reservoir.activation),
                                          model.options.reservoir.seed));
  const Index left_out = model.provenance.rows - fit.samples;
  if (left_out > 0) {
    text += table_line("left out", fmt::format("{} rows: the first {} of each episode (washout)",
                                               left_out, model.options.value.washout_rows()));
  }
  text += table_line("fit", fmt::format("{} rows, {} features, rank {}{}, condition {:.1e}",
                                        fit.samples, fit.features, fit.rank,
                                        fit.rank_deficient() ? " (the ridge decides the rest)" : "",
                                        fit.condition_number));
  return text +
         table_line(
             "ridge λ",
             fmt::format("{:.2e} ({:.1e} of the mean square{})", fit.ridge, fit.relative_ridge,
                         model.options.value.solve.choose() ? ", cross-validated" : ""));
}

/// "changes by 0.1 a step at most, chosen every 3 steps".
std::string limits_text(const ActuatorLimits& limits) {
  std::string text;
  if (!limits.max_change.empty()) {
    text = fmt::format("changes by {:.4g} a step at most", fmt::join(limits.max_change, ", "));
  }
  if (limits.hold > 1) {
    text += fmt::format("{}chosen every {} steps and kept in between", text.empty() ? "" : ", ",
                        limits.hold);
  }
  return text;
}

ordered_json predictive_json(const Model& model) {
  const PredictiveNetwork& predictive = *as<PredictiveNetwork>(*model.controller.reservoir);
  const HistoryMemory& memory = predictive.memory();
  ordered_json json;
  json["memory"] = {{"units", memory.network().nonlinear_units()},
                    {"frames", memory.frames()},
                    {"seen", memory.seen()},
                    {"size", memory.size()}};
  json["fits"] = predictive.heads().size();
  ordered_json dimensions = ordered_json::array();
  ordered_json rewards = ordered_json::array();
  for (const PredictiveHead& head : predictive.heads()) {
    dimensions.push_back(head.size());
    rewards.push_back(head.has_reward());
  }
  json["dimensions"] = dimensions;
  json["seen_now"] = memory.seen_size();
  json["reward_model"] = {{"in_fits", rewards}};
  if (!model.predictions) return json;
  const PredictionQuality& quality = *model.predictions;
  // JSON has no NaN: where nothing varies it is null.
  json["reward_model"]["explained"] = quality.reward_model;
  json["horizons"] = quality.horizons;
  json["predictions"] = ordered_json::array();
  for (std::size_t i = 0; i < quality.names.size(); ++i) {
    const auto column = quality.explained.col(static_cast<Index>(i));
    json["predictions"].push_back(
        {{"name", quality.names[i]},
         {"explained", std::vector<double>(column.begin(), column.end())}});
  }
  return json;
}

ordered_json numbers(const VectorXd& vector) {
  ordered_json list = ordered_json::array();
  for (const double x : vector) {
    list.push_back(std::isfinite(x) ? ordered_json(x) : ordered_json(x > 0 ? "inf" : "-inf"));
  }
  return list;
}

}  // namespace

std::string table_line(const std::string& label, const std::string& value) {
  const std::size_t used = width(label);
  return fmt::format("  {}{} {}\n", label, std::string(used < 22 ? 22 - used : 0, ' '), value);
}

const EchoStateNetwork& memory_network(const Model& model) {
  const PredictiveNetwork* predictive = as<PredictiveNetwork>(*model.controller.reservoir);
  return predictive != nullptr ? predictive->memory().network()
                               : *as<EchoStateNetwork>(*model.controller.reservoir);
}

std::string learnt_table(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  const Provenance& from = model.provenance;
  std::string text = fmt::format("learnt from {}: {} rows, {} episode{}\n", listed(from.sources),
                                 from.rows, from.episodes, from.episodes == 1 ? "" : "s");
  if (!from.adapted_from.empty()) {
    text += table_line(
        "adapted",
        fmt::format("at work, from {}: {} steps, {} back to its start", shown(from.adapted_from),
                    from.adapted_steps,
                    from.went_back == 1 ? "once" : fmt::format("{} times", from.went_back)));
  }
  const std::vector<Channel> channels = channels_of(spec);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto k = static_cast<Index>(i);
    const bool choice = spec.actions.is_discrete() && channels[i].role == "action";
    text += table_line(
        shown(channels[i].name),
        choice ? "action, " + describe_actions(spec.actions, spec.choice_names)
               : fmt::format("{}, {:.4g} to {:.4g}, mean {:.4g}, deviation {:.4g}",
                             channels[i].role, model.ranges.minimum[k], model.ranges.maximum[k],
                             model.ranges.mean[k], model.ranges.deviation[k]));
  }
  if (!spec.actions.is_discrete()) {
    text += table_line("actions searched", describe_actions(model.controller.actions, {}));
  }
  if (model.controller.limits.any()) {
    text += table_line("an action", limits_text(model.controller.limits));
  }
  const double discount = model.options.value.discount;
  const std::string steps = fmt::format("{:.3g}", 1.0 / (1.0 - discount));
  text += table_line("discount γ", fmt::format("{}: looks about {} step{} ahead", discount, steps,
                                               steps == "1" ? "" : "s"));
  const bool predictive = model.controller.reservoir->kind() == PredictiveNetwork::kKind;
  text += predictive ? predictive_text(model) : network_text(model);
  text += table_line("residual", fmt::format("{:.4g}, root mean square of the Bellman error",
                                             model.diagnostics.residual));
  text += table_line("policy iteration", improvement_text(model));
  for (const std::string& warning : model.warnings) text += fmt::format("  ! {}\n", warning);
  return text;
}

ordered_json model_json(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  ordered_json json;
  json["version"] = WAGGLE_VERSION;
  json["provenance"] = to_json(model.provenance);
  json["environment"] = to_json(spec);
  if (!model.controller.actions.is_discrete()) {
    json["action_bounds"] = {{"lower", numbers(model.controller.actions.lower)},
                             {"upper", numbers(model.controller.actions.upper)}};
  }
  json["seed"] = model.options.reservoir.seed;
  json["options"] = to_json(model.options);
  if (model.collected) json["options"].update(to_json(*model.collected));
  const ReservoirSystem& reservoir = *model.controller.reservoir;
  json["sizes"] = {{"inputs", reservoir.inputs()},
                   {"units", reservoir.units()},
                   {"features", reservoir.features()}};
  if (model.controller.reservoir->kind() == PredictiveNetwork::kKind) {
    json["predictive"] = predictive_json(model);
  }
  json["fit"] = to_json(model.diagnostics);
  json["fit"]["singular"] = model.singular;
  if (model.improvement) json["improvement"] = to_json(*model.improvement);
  json["has_confidence"] = model.has_confidence();
  const std::vector<Channel> channels = channels_of(spec);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto k = static_cast<Index>(i);
    json["channels"].push_back({{"name", channels[i].name},
                                {"role", channels[i].role},
                                {"minimum", model.ranges.minimum[k]},
                                {"maximum", model.ranges.maximum[k]},
                                {"mean", model.ranges.mean[k]},
                                {"deviation", model.ranges.deviation[k]}});
  }
  json["divergence_limit"] = model.divergence_limit;
  json["warnings"] = model.warnings;
  return json;
}

}  // namespace waggle::app
