#include "model_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <waggle/version.h>

#include "core/text.h"
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
  const int most =
      std::max(model.options.sweeps, model.collected ? model.collected->final_sweeps : 0);
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

std::string learnt_table(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  const Provenance& from = model.provenance;
  const FitDiagnostics& fit = model.diagnostics;
  std::string text = fmt::format("learnt from {}: {} rows, {} episode{}\n", listed(from.sources),
                                 from.rows, from.episodes, from.episodes == 1 ? "" : "s");
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
  const double discount = model.options.value.discount;
  text += table_line("discount γ", fmt::format("{}: looks about {:.3g} steps ahead", discount,
                                               1.0 / (1.0 - discount)));
  const EchoStateNetwork& network = *model.controller.network();
  const std::string members =
      network.members() > 1 ? fmt::format("{} networks of ", network.members()) : "";
  text +=
      table_line("reservoir", fmt::format("{}{} {} units, seed {}", members, network.member_units(),
                                          name_of(model.options.reservoir.activation),
                                          model.options.reservoir.seed));
  const Index left_out = from.rows - fit.samples;
  if (left_out > 0) {
    text += table_line("left out", fmt::format("{} rows: the first {} of each episode (washout)",
                                               left_out, model.options.value.washout_rows()));
  }
  text += table_line("fit", fmt::format("{} rows, {} features, rank {}{}, condition {:.1e}",
                                        fit.samples, fit.features, fit.rank,
                                        fit.rank_deficient() ? " (the ridge decides the rest)" : "",
                                        fit.condition_number));
  text += table_line(
      "ridge λ", fmt::format("{:.2e} ({:.1e} of the mean square{})", fit.ridge, fit.relative_ridge,
                             model.options.value.solve.choose() ? ", cross-validated" : ""));
  text += table_line("residual",
                     fmt::format("{:.4g}, root mean square of the Bellman error", fit.residual));
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
  json["sizes"] = {{"inputs", model.controller.network()->inputs()},
                   {"units", model.controller.network()->units()},
                   {"features", model.controller.network()->features()}};
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
