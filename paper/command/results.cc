#include "results.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Core>
#include <fmt/format.h>

#include <waggle/detail/atomic_file.h>

namespace waggle::app {

using nlohmann::ordered_json;

void collect(const std::vector<SeedOutcome>& outcomes, ExperimentResult& result) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const SeedOutcome& outcome = outcomes[i];
    for (const std::string& warning : outcome.warnings) ++result.warnings[warning];
    if (outcome.diverged) {
      result.diverged.push_back(result.first_seed + i);
      continue;
    }
    for (std::size_t m = 0; m < result.metrics.size(); ++m) {
      result.metrics[m].values.push_back(outcome.values[m]);
    }
    result.rank_deficient += outcome.rank_deficient ? 1 : 0;
    result.seconds.push_back(outcome.seconds);
  }
}

void collect_first(std::size_t count, const std::vector<SeedOutcome>& outcomes,
                   ExperimentResult& result) {
  collect({outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(count)}, result);
  result.seeds = static_cast<int>(count);
}

std::size_t median_outcome(const std::vector<SeedOutcome>& outcomes, std::size_t metric) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].diverged) places.push_back(i);
  }
  if (places.empty()) return 0;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return outcomes[a].values[metric] < outcomes[b].values[metric];
  });
  return places[(places.size() - 1) / 2];
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double log_slope(const std::vector<double>& x, const std::vector<double>& errors) {
  const auto logarithms = [](const std::vector<double>& values) {
    return Eigen::Map<const Eigen::ArrayXd>(values.data(), std::ssize(values)).log().eval();
  };
  const Eigen::ArrayXd u = logarithms(x) - logarithms(x).mean();
  return (u * logarithms(errors)).sum() / u.square().sum();
}

std::string key_of(std::string column) {
  std::replace(column.begin(), column.end(), ' ', '_');
  return column == "exact" ? "reference" : column;
}

namespace {

ordered_json or_null(const std::optional<double>& number) {
  return number ? ordered_json(*number) : ordered_json(nullptr);
}

/// Tables set some labels back.
std::string unindented(const std::string& label) {
  return label.substr(std::min(label.find_first_not_of(' '), label.size()));
}

ordered_json to_json(const Metric& metric, const ExperimentResult& result) {
  ordered_json json;
  json[key_of(result.paper_column)] = or_null(metric.paper);
  json[key_of(result.reference_column)] = or_null(metric.reference);
  const auto at = [&](double q) {
    return metric.values.empty() ? ordered_json(nullptr) : ordered_json(quantile(metric.values, q));
  };
  json["median"] = at(0.5);
  json["p05"] = at(0.05);
  json["p95"] = at(0.95);
  json["values"] = metric.values;
  return json;
}

ordered_json to_json(const MainMetric& metric) {
  return {{"name", metric.name},
          {"axis", metric.axis},
          {"better", metric.better == Better::higher ? "higher" : "lower"},
          {"logarithmic", metric.logarithmic}};
}

ordered_json to_json(const ExperimentResult& result) {
  ordered_json json;
  json["experiment"] = result.experiment;
  json["title"] = result.title;
  json["text"] = result.text;
  if (result.main_metric) json["main_metric"] = to_json(*result.main_metric);
  json["learner"] = result.learner;
  if (result.timing) json["timing"] = *result.timing;
  json["options"] = result.options;
  json["seeds"] = result.seeds;
  json["first_seed"] = result.first_seed;
  if (result.figure_seed) json["figure_seed"] = *result.figure_seed;
  json["diverged_seeds"] = result.diverged;
  json["rank_deficient"] = result.rank_deficient;
  json["warnings"] = result.warnings;
  json["paper_column"] = result.paper_column;
  json["reference_column"] = result.reference_column;
  json["labels"] = ordered_json::object();
  for (const Metric& metric : result.metrics) {
    json["labels"][metric.name] = unindented(metric.label);
    json["metrics"][metric.name] = to_json(metric, result);
  }
  json["facts"] = ordered_json::object();
  for (const Fact& fact : result.facts) {
    json["facts"][fact.name] = {{"label", unindented(fact.label)},
                                {"paper", or_null(fact.paper)},
                                {"value", or_null(fact.ours)},
                                {"reference", or_null(fact.reference)}};
  }
  return json;
}

/// Numbers too small for the format are written as powers of ten.
std::string number(const std::optional<double>& value, const char* format = "{:.3f}") {
  if (!value) return "";
  const bool small = *value != 0.0 && std::abs(*value) < 1e-2;
  return fmt::format(fmt::runtime(small ? "{:.1e}" : format), *value);
}

/// A row of cells, the first left-aligned, the others right-aligned under their headings.
std::string row(const ExperimentResult& result, const std::string& label, const std::string& paper,
                const std::string& median, const std::string& range, const std::string& reference) {
  return fmt::format("  {:<48} {:>{}} {:>7} {:>15} {:>{}}\n", label, paper,
                     std::max<std::size_t>(5, result.paper_column.size()), median, range, reference,
                     std::max<std::size_t>(7, result.reference_column.size()));
}

std::string heading(const ExperimentResult& result) {
  std::string text = fmt::format("{}, learner '{}'", result.experiment, result.learner);
  if (result.timing) text += fmt::format(", reward on {}", *result.timing);
  const std::uint64_t last = result.first_seed + static_cast<std::uint64_t>(result.seeds) - 1;
  text += result.seeds == 1 ? fmt::format(", seed {}", last)
                            : fmt::format(", seeds {}–{}", result.first_seed, last);
  return text + "\n";
}

std::string notes(const ExperimentResult& result) {
  std::string text;
  if (!result.diverged.empty()) {
    text += fmt::format("  ! the policy diverged for {} of {} seeds ({}{}); they are left out\n",
                        result.diverged.size(), result.seeds,
                        fmt::join(result.diverged.begin(),
                                  result.diverged.begin() +
                                      std::min<std::ptrdiff_t>(8, std::ssize(result.diverged)),
                                  ", "),
                        result.diverged.size() > 8 ? ", …" : "");
  }
  for (const auto& [warning, count] : result.warnings) {
    text += fmt::format("  ! {} of {} seeds: {}\n", count, result.seeds, warning);
  }
  if (result.rank_deficient > 0) {
    text += fmt::format("  ! {} of {} fits were rank deficient; the ridge decides the rest\n",
                        result.rank_deficient, result.seeds);
  }
  return text;
}

std::string folder_of(const ExperimentResult& result) {
  std::string folder = result.experiment;
  if (result.timing) folder += "-" + *result.timing;
  return result.among_learners ? folder + "/" + result.learner : folder;
}

}  // namespace

ordered_json to_json(const std::vector<ExperimentResult>& results, const std::string& command) {
  ordered_json json = start_json("experiments", command);
  json["experiments"] = ordered_json::array();
  for (const ExperimentResult& result : results) json["experiments"].push_back(to_json(result));
  return json;
}

std::string to_table(const std::vector<ExperimentResult>& results) {
  std::string text, columns;
  for (const ExperimentResult& result : results) {
    const std::string titles =
        row(result, "quantity", result.paper_column, "ours", "5–95 %", result.reference_column);
    if (titles != columns) text += titles + "  " + std::string(titles.size() - 5, '-') + "\n";
    columns = titles;
    text += heading(result);
    for (const Metric& metric : result.metrics) {
      const bool any = !metric.values.empty();
      text += row(result, metric.label, number(metric.paper, "{:.2f}"),
                  any ? number(quantile(metric.values, 0.5)) : "none",
                  any ? fmt::format("{}–{}", number(quantile(metric.values, 0.05)),
                                    number(quantile(metric.values, 0.95)))
                      : "",
                  number(metric.reference));
    }
    for (const Fact& fact : result.facts) {
      if (fact.label.empty()) continue;  // for machines
      text += row(result, fact.label, number(fact.paper, "{:.2f}"), number(fact.ours), "",
                  number(fact.reference));
    }
    text += notes(result);
  }
  return text;
}

void write_results(const std::filesystem::path& directory,
                   const std::vector<ExperimentResult>& results, ordered_json& json) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    json["experiments"][i]["figures"] =
        write_figures(directory, folder_of(results[i]), results[i].figures);
  }
  write_file(directory / "results.json", to_text(json));
}

}  // namespace waggle::app
