#include "compare.h"

#include <map>

#include <fmt/format.h>

#include "experiment_file.h"

namespace waggle::app {

void compare(const ReproduceOptions& options, const SeedProgress& progress, Results& results) {
  ReproduceOptions all = options;
  all.learners = ExperimentFile(options.experiment).compared_learners();
  all.figures = Figures::learning_curve;
  reproduce(all, progress, results);
}

void show_learning(ExperimentResult& result) {
  std::erase_if(result.figures, [](const Figure& figure) {
    return figure.name != "learning_curve" && figure.name != "runs" && figure.name != "practice";
  });
  result.among_learners = true;
}

namespace {

std::string cell(const std::string& text) { return fmt::format(" {:>28}", text); }

std::string spread(const Metric& metric) {
  if (metric.values.empty()) return cell("none");
  return cell(fmt::format("{:.3f} ({:.3f}–{:.3f})", quantile(metric.values, 0.5),
                          quantile(metric.values, 0.05), quantile(metric.values, 0.95)));
}

/// The table of one problem: a heading, the paper's run, a row a learner, the optimum.
std::string table(const std::vector<const ExperimentResult*>& learners) {
  const ExperimentResult& any = *learners.front();
  const auto row = [&](const std::string& name, const ExperimentResult& result, auto text_of) {
    std::string text = fmt::format("  {:<14}", name);
    for (const Metric& metric : result.metrics) {
      if (metric.compared) text += text_of(metric);
    }
    return text;
  };
  const auto number = [](const std::optional<double>& value, const char* format) {
    return cell(value ? fmt::format(fmt::runtime(format), *value) : "");
  };
  std::string text = any.experiment;
  if (any.timing) text += ", reward on " + *any.timing;
  text += fmt::format(", {} seeds from {}\n", any.seeds, any.first_seed);
  text += row("learner", any, [](const Metric& m) { return cell(m.name + " (5–95 %)"); });
  text += fmt::format(" {:>8}\n", "s/seed");
  text +=
      row("paper's run", any, [&](const Metric& m) { return number(m.paper, "{:.2f}"); }) + "\n";
  for (const ExperimentResult* result : learners) {
    text += row(result->learner, *result, spread);
    if (!result->seconds.empty()) text += fmt::format(" {:>8.2f}", quantile(result->seconds, 0.5));
    if (!result->diverged.empty()) text += fmt::format("  {} diverged", result->diverged.size());
    text += "\n";
    for (const auto& [warning, count] : result->warnings) {
      text += fmt::format("    ! {} of {} seeds: {}\n", count, result->seeds, warning);
    }
  }
  return text +
         row("optimum", any, [&](const Metric& m) { return number(m.reference, "{:.3f}"); }) + "\n";
}

}  // namespace

std::string to_comparison(const std::vector<ExperimentResult>& results) {
  std::map<std::string, std::vector<const ExperimentResult*>> by_timing;
  for (const ExperimentResult& result : results) {
    by_timing[result.timing.value_or("")].push_back(&result);
  }
  std::string text;
  for (const auto& [timing, learners] : by_timing) {
    if (!text.empty()) text += "\n";
    text += table(learners);
  }
  return text;
}

}  // namespace waggle::app
