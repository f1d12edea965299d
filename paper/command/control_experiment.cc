#include <algorithm>
#include <ctime>

#include <waggle/detail/text.h>
#include <waggle/environments.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>

#include "control_figures.h"
#include "core/check.h"
#include "environments.h"
#include "experiment.h"
#include "experiment_file.h"
#include "option_flags.h"
#include "progress.h"

namespace waggle::app {

using Eigen::Index;

namespace {

const std::string kPrefix = "control-";  // of the results' names
/// Added to the seed of a run, so that it is judged by episodes that it was not learnt from.
constexpr std::uint64_t kFresh = 1'000'000'000;

/// A row of the table.
struct Row {
  std::string name;
  std::string title;
  std::string environment;
  Index steps = 0;  ///< of experience
  double unit = 1;  ///< the score is reported in units of this
  std::optional<double> published;
  Index published_steps = 0;
  std::optional<double> measured;  ///< another score of the same learner, with its CPU seconds
  Index measured_steps = 0;
  double measured_seconds = 0;
  std::string recorded;      ///< the problem of web/recorded that is the same; none if empty
  toml::table options = {};  ///< of the environment
};

Row read_row(const toml::table& table) {
  Row row;
  row.name = table["name"].value_or(row.name);
  row.title = table["title"].value_or(row.title);
  row.environment = table["environment"].value_or(row.environment);
  row.steps = table["steps"].value_or(row.steps);
  row.unit = table["unit"].value_or(row.unit);
  row.published = table["published"].value<double>();
  row.published_steps = table["published_steps"].value_or(row.published_steps);
  row.measured = table["measured"].value<double>();
  row.measured_steps = table["measured_steps"].value_or(row.measured_steps);
  row.measured_seconds = table["measured_seconds"].value_or(row.measured_seconds);
  row.recorded = table["recorded"].value_or(row.recorded);
  if (const toml::table* options = table["options"].as_table()) row.options = *options;
  return row;
}

std::vector<Row> read_rows(const ExperimentFile& file) {
  std::vector<Row> rows;
  for (const toml::table& table : file.tables("problems")) rows.push_back(read_row(table));
  return rows;
}

/// The rows asked for; all if none is.
std::vector<Row> asked_rows(const ReproduceOptions& options, const ExperimentFile& file) {
  std::vector<Row> all = read_rows(file), rows;
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Row& row : all) names.push_back(row.name);
  for (const std::string& name : options.problems) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error("--problem: " + missing_name("problem", name, names));
    }
  }
  for (Row& row : all) {
    const auto& asked = options.problems;
    if (!asked.empty() && std::find(asked.begin(), asked.end(), row.name) == asked.end()) continue;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// CPU seconds of this thread, in which a learner does all its work: seeds run side by side.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Judged {
  double score = 0.0;
  bool diverged = false;
};

Judged judge(const BuiltIn& problem, const Model& model, Index steps, std::uint64_t seed) {
  GreedyPolicy policy = model.policy();
  if (problem.is_endless()) {
    const PolicyScore score =
        score_policy(*problem.environment, policy,
                     {.steps = steps, .seed = seed, .divergence_limit = model.divergence_limit},
                     until_interrupted());
    return {score.mean, score.diverged};
  }
  const ProblemScore score =
      score_on(problem, policy,
               {.seed = seed, .max_steps = steps, .divergence_limit = model.divergence_limit},
               until_interrupted());
  return {score.score, score.episodes.diverged};
}

/// One seed: learn, then act in fresh episodes.
SeedOutcome run_seed(const Row& row, LearnOptions options, Index evaluation_steps,
                     std::uint64_t seed, ControlRecord& record) {
  const BuiltIn problem = make_built_in(row.environment, row.options);
  options.collect.steps = row.steps;
  options.fit.value.discount = problem.discount;
  options.fit.reservoir.seed = seed;
  SeedOutcome outcome;
  try {
    Simulation simulation(*problem.environment, seed);
    const double start = cpu_seconds();
    const Learnt learnt =
        learn(simulation, *problem.initial, options, {.progress = until_interrupted()});
    end_if_interrupted();
    outcome.seconds = cpu_seconds() - start;
    record = record_of(problem, learnt, row.unit, seed + kFresh);
    outcome.warnings = learnt.warnings;
    outcome.rank_deficient = learnt.diagnostics.rank_deficient();
    outcome.diverged = !learnt.usable();
    if (outcome.diverged) return outcome;
    const Judged judged = judge(problem, learnt, evaluation_steps, seed + kFresh);
    outcome.diverged = judged.diverged;
    outcome.values = {judged.score / row.unit};
  } catch (const Stopped&) {
    throw Interrupted();
  } catch (const Error& error) {
    // A recipe that a problem does not suit is a result, and the other rows are worth having.
    outcome.diverged = true;
    outcome.warnings.emplace_back(error.what());
  }
  return outcome;
}

/// What is known of a row without learning.
std::optional<double> reference_of(const Row& row) {
  const BuiltIn problem = make_built_in(row.environment, row.options);
  if (problem.reference) return problem.reference().score / row.unit;
  if (problem.optimum) return problem.optimum(problem.discount).mean_reward / row.unit;
  return std::nullopt;
}

void reproduce_control(const ReproduceOptions& options, const SeedProgress& progress,
                       Results& results) {
  const ExperimentFile file("control");
  for (const Row& row : asked_rows(options, file)) {
    const std::optional<double> reference = reference_of(row);
    for (const std::string& name : options.learners) {
      end_if_interrupted();
      const LearnOptions learner = file.learner(name);
      ExperimentResult result = start_result(options, kPrefix + row.name, name);
      result.paper_column = "recurrent PPO";
      result.reference_column = "reference";
      result.options = {
          {"problem", row.title},
          {"environment", row.environment},
          {"environment_options", make_built_in(row.environment, row.options).options},
          {"steps", row.steps},
          {"published_steps", row.published_steps},
          {"learner", to_json(learner)}};
      if (row.measured) {
        result.options["measured"] = {{"score", *row.measured},
                                      {"steps", row.measured_steps},
                                      {"cpu_seconds", row.measured_seconds}};
      }
      if (!row.recorded.empty()) result.options["recorded"] = row.recorded;
      result.metrics = {{"score", row.title, row.published, reference, {}, true}};
      std::vector<SeedOutcome> outcomes(static_cast<std::size_t>(options.seeds));
      std::vector<ControlRecord> records(outcomes.size());
      const auto result_of = [&](std::size_t done) {
        ExperimentResult all = result;
        collect_first(done, outcomes, all);
        return all;
      };
      const std::size_t done = for_each_seed(
          options, fmt::format("control, {}, {}", row.name, name), progress,
          [&](int i, std::uint64_t seed) {
            const auto place = static_cast<std::size_t>(i);
            outcomes[place] = run_seed(row, learner, file.evaluation_steps(), seed, records[place]);
          },
          result_of);
      result = result_of(done);
      outcomes.resize(done);
      if (options.figures != Figures::none) {
        result.figures =
            control_figures(row.environment, row.options, outcomes, options.first_seed, records);
      }
      results.push_back(std::move(result));
    }
  }
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "–";
}

/// A line a problem and learner. The worst is lost if a seed lost the system.
std::string control_table(const std::vector<ExperimentResult>& results) {
  constexpr const char* kLine = "{:<35} {:>6} {:>5} {:<9} {:>8} {:>8} {:>9} {:>18} {:>6}\n";
  std::string text = fmt::format(fmt::runtime(kLine), "problem", "steps", "seeds", "learner",
                                 "median", "worst", "reference", "recurrent PPO", "CPU s");
  std::map<std::string, int> warnings;
  for (const ExperimentResult& result : results) {
    const Metric& score = result.metrics.front();
    const bool any = !score.values.empty();
    const bool lost = !result.diverged.empty();
    const auto published_steps = result.options["published_steps"].get<Index>();
    text += fmt::format(
        fmt::runtime(kLine), score.label, result.options["steps"].get<Index>(), result.seeds,
        result.learner, any ? number(quantile(score.values, 0.5)) : "none",
        lost ? fmt::format("{} lost", result.diverged.size()) : number(quantile(score.values, 0.0)),
        number(score.reference),
        score.paper ? fmt::format("{} ({}k)", number(score.paper), published_steps / 1000) : "–",
        result.seconds.empty() ? "–" : fmt::format("{:.1f}", quantile(result.seconds, 0.5)));
    for (const auto& [warning, count] : result.warnings) warnings[warning] += count;
  }
  for (const auto& [warning, count] : warnings) {
    text += fmt::format("  ! {} run{}: {}\n", count, count == 1 ? "" : "s", warning);
  }
  return text;
}

}  // namespace

/// The problems that nobody tuned for, by one set of defaults.
Experiment control_experiment() {
  Experiment experiment{.name = "control",
                        .results = {},
                        .run = reproduce_control,
                        .has_learners = true,
                        .slow = true,
                        .apart = true,
                        .learner = "predictive",
                        .table = control_table};
  for (const Row& row : read_rows(ExperimentFile("control"))) {
    experiment.results.push_back(
        {.name = kPrefix + row.name,
         .title = row.title,
         .text = fmt::format("Learnt from {} steps, judged by 100 fresh episodes, or by a run of "
                             "10,000 steps where there are none.",
                             row.steps),
         .main_metric = MainMetric{.name = "score", .axis = row.title, .better = Better::higher}});
  }
  return experiment;
}

}  // namespace waggle::app
