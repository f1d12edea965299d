#include "learn/tuning_settings.h"

#include <algorithm>

#include <fmt/format.h>

namespace waggle {

namespace {

const std::vector<Dial>& all_dials() {
  static const std::vector<Dial> dials = {
      {"operator_norm",
       {0.2, 0.5, 0.9},
       [](const FitOptions& o) { return o.reservoir.operator_norm.value_or(0.9); },
       [](FitOptions& o, double value) { o.reservoir.operator_norm = value; }},
      {"smoothing",
       {0.0, 0.3, 1.0},
       [](const FitOptions& o) { return o.greedy.smoothing.value_or(0.3); },
       [](FitOptions& o, double value) { o.greedy.smoothing = value; }},
      {"slowest_leak",
       {0.1, 0.3, 1.0},
       [](const FitOptions& o) { return o.reservoir.slowest_leak.value_or(o.reservoir.leak); },
       [](FitOptions& o, double value) { o.reservoir.slowest_leak = value; }},
      {"bias_scaling",
       {0.1, 0.3, 1.0},
       [](const FitOptions& o) { return o.reservoir.bias_scaling; },
       [](FitOptions& o, double value) { o.reservoir.bias_scaling = value; }},
      {"ridge",
       {0.0, 1e-3, 1e-2},
       [](const FitOptions& o) { return o.value.solve.ridge.value_or(0.0); },
       [](FitOptions& o, double value) {
         o.value.solve.ridge = value > 0.0 ? std::optional(value) : std::nullopt;
         if (value > 0.0) o.value.solve.scale = RidgeScale::relative;
       }},
      {"units",
       {150, 300, 600},
       [](const FitOptions& o) { return static_cast<double>(o.reservoir.units); },
       [](FitOptions& o, double value) { o.reservoir.units = static_cast<Eigen::Index>(value); }},
  };
  return dials;
}

/// Whether a dial does anything for this kind of value, network and space.
bool has_effect(const Dial& dial, const FitOptions& options, const ActionSpace& space) {
  const ReservoirOptions& reservoir = options.reservoir;
  const bool drawn = !reservoir.procedure_one;
  if (dial.name == "operator_norm") return drawn && !reservoir.spectral_radius;
  if (dial.name == "slowest_leak") return drawn && reservoir.leak == 1.0;
  if (dial.name == "bias_scaling" || dial.name == "units") return drawn;
  if (options.predictive) return false;
  if (dial.name == "smoothing") {
    return !space.is_discrete() && space.size() == 1 &&
           options.greedy.maximiser == Maximiser::exact;
  }
  return true;
}

const Dial* find(const std::vector<Dial>& dials, const std::string& name) {
  const auto found =
      std::find_if(dials.begin(), dials.end(), [&](const Dial& dial) { return dial.name == name; });
  return found == dials.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Dial> dials_of(const FitOptions& options, const ActionSpace& space,
                           const std::vector<std::string>& fixed) {
  std::vector<Dial> result;
  for (const Dial& dial : all_dials()) {
    if (std::find(fixed.begin(), fixed.end(), dial.name) != fixed.end()) continue;
    if (has_effect(dial, options, space)) result.push_back(dial);
  }
  return result;
}

FitOptions changed(FitOptions options, const std::vector<Dial>& dials, const Changes& changes) {
  for (const auto& [name, value] : changes) find(dials, name)->set(options, value);
  return options;
}

std::vector<Changes> first_changes(const FitOptions& options, const std::vector<Dial>& dials) {
  // A shorter memory and a smoother maximum are what the paper's two problems gain most by.
  static const std::vector<Changes> list = {
      {{"operator_norm", 0.5}},
      {{"smoothing", 1.0}},
      {{"operator_norm", 0.5}, {"smoothing", 1.0}},
      {{"slowest_leak", 0.1}},
      {{"slowest_leak", 1.0}},
      {{"bias_scaling", 1.0}},
      {{"ridge", 1e-2}},
  };
  std::vector<Changes> result;
  for (const Changes& changes : list) {
    const bool possible = std::all_of(changes.begin(), changes.end(), [&](const auto& change) {
      const Dial* dial = find(dials, change.first);
      return dial != nullptr && dial->get(options) != change.second;
    });
    if (possible) result.push_back(changes);
  }
  return result;
}

std::vector<Changes> neighbours(const FitOptions& options, const std::vector<Dial>& dials,
                                const Changes& changes) {
  std::vector<Changes> result;
  const FitOptions here = changed(options, dials, changes);
  for (const Dial& dial : dials) {
    const double value = dial.get(here);
    const auto above = std::upper_bound(dial.values.begin(), dial.values.end(), value);
    const auto below = std::lower_bound(dial.values.begin(), dial.values.end(), value);
    const auto add = [&](double next) {
      Changes near = changes;
      near[dial.name] = next;
      if (next == dial.get(options)) near.erase(dial.name);
      result.push_back(std::move(near));
    };
    if (below != dial.values.begin()) add(*(below - 1));
    if (above != dial.values.end()) add(*above);
  }
  return result;
}

std::string flags_of(const Changes& changes) {
  std::string text;
  for (const auto& [name, value] : changes) {
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    text += fmt::format("{}--{} {}", text.empty() ? "" : " ", flag, value);
    if (name == "ridge") text += " --ridge-scale relative";
  }
  return text;
}

}  // namespace waggle
