#include "compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiment_file.h"

namespace waggle::app {

std::vector<ExperimentResult> compare(const ReproduceOptions& options, const Progress& progress) {
  std::vector<ExperimentResult> results;
  for (const std::string& learner : ExperimentFile(options.experiment).compared_learners()) {
    ReproduceOptions one = options;
    one.learner = learner;
    for (ExperimentResult& result : reproduce(one, progress)) {
      result.figures.clear();
      results.push_back(std::move(result));
    }
  }
  return results;
}

std::string to_comparison(const std::vector<ExperimentResult>& results) {
  // By reward timing, where there are several, and then in the order of the learners.
  std::vector<const ExperimentResult*> ordered;
  for (const ExperimentResult& result : results) ordered.push_back(&result);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return a->timing < b->timing; });
  std::string text;
  std::optional<std::string> timing;
  for (const ExperimentResult* result : ordered) {
    const bool starts = text.empty() || result->timing != timing;
    timing = result->timing;
    if (starts) {
      if (!text.empty()) text += "\n";
      text += result->experiment + (timing ? ", reward on " + *timing : "") + "\n";
      text += fmt::format("  {:<14}", "learner");
      for (const Metric& metric : result->metrics) {
        if (metric.compared) text += fmt::format(" {:>29}", metric.name + " (5–95 %)");
      }
      text += fmt::format(" {:>10}\n", "s/seed");
      const Metric& first = *std::find_if(result->metrics.begin(), result->metrics.end(),
                                          [](const Metric& metric) { return metric.compared; });
      text += fmt::format("  {:<14}", "paper's run");
      text += fmt::format(" {:>29}\n", first.paper ? fmt::format("{:.2f}", *first.paper) : "");
    }
    text += fmt::format("  {:<14}", result->learner);
    for (const Metric& metric : result->metrics) {
      if (!metric.compared) continue;
      text += metric.values.empty()
                  ? fmt::format(" {:>29}", "none")
                  : fmt::format(
                        " {:>29}",
                        fmt::format("{:.3f} ({:.3f}–{:.3f})", quantile(metric.values, 0.5),
                                    quantile(metric.values, 0.05), quantile(metric.values, 0.95)));
    }
    text +=
        fmt::format(" {:>10.2f}", result->seconds.empty() ? 0.0 : quantile(result->seconds, 0.5));
    text +=
        result->diverged.empty() ? "\n" : fmt::format("   {} diverged\n", result->diverged.size());
    const bool ends = result == ordered.back() ||
                      (*(std::find(ordered.begin(), ordered.end(), result) + 1))->timing != timing;
    if (ends) {
      text += fmt::format("  {:<14}", "optimum");
      for (const Metric& metric : result->metrics) {
        if (metric.compared) text += fmt::format(" {:>29.3f}", metric.reference.value_or(0.0));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace waggle::app
