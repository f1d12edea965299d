#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "figures.h"

namespace waggle::app {

/// A number measured once for every seed.
struct Metric {
  std::string name;   ///< its key in JSON
  std::string label;  ///< its name in the table
  std::optional<double> paper;
  std::optional<double> reference;  ///< the exact value, from reference/, never from a learner
  std::vector<double> values;       ///< in the order of the seeds; those that diverged are left out
  bool compared = false;            ///< whether it is a column of the comparison of learners
};

/// A number that needs no seed, such as an exact optimum.
struct Fact {
  std::string name;
  std::string label;  ///< empty: not in the table
  std::optional<double> paper;
  std::optional<double> ours;       ///< as computed or simulated here
  std::optional<double> reference;  ///< the exact value, where it is another
};

enum class Better { higher, lower };

/// The metric by which learners are told apart.
struct MainMetric {
  std::string name;  ///< that of a Metric
  std::string axis;  ///< what it is, on an axis: "mean nectar per step"
  Better better = Better::higher;
  bool logarithmic = false;  ///< whether an axis should be, for it spans decades while learning
};

struct ExperimentResult {
  std::string experiment;  ///< the name of its kind
  std::string title;       ///< for a reader, as is the text: what it is about
  std::string text;
  std::optional<MainMetric> main_metric;  ///< none: learners are not compared
  std::string learner;
  std::optional<std::string> timing;       ///< of the market maker's reward
  std::string paper_column = "paper";      ///< what the metrics' `paper` is
  std::string reference_column = "exact";  ///< and their `reference`
  nlohmann::ordered_json options;
  std::uint64_t first_seed = 0;
  int seeds = 0;
  std::vector<std::uint64_t> diverged;  ///< seeds whose policy lost the system
  int rank_deficient = 0;               ///< seeds whose fit had dependent features
  std::map<std::string, int> warnings;  ///< what learners warned of, and for how many seeds
  std::vector<double> seconds;          ///< of learning, a seed each; not part of the JSON
  std::vector<Metric> metrics;
  std::vector<Fact> facts;
  std::optional<std::uint64_t> figure_seed;  ///< whose run the figures show
  std::vector<Figure> figures;
  bool among_learners = false;  ///< one of several: its figures have a folder of their own
};

/// The key of a column of numbers in JSON: "to reach" is to_reach, "exact" is reference.
std::string key_of(std::string column);

/// The least-squares slope of log error on log x: errors ∝ x^slope.
double log_slope(const std::vector<double>& x, const std::vector<double>& errors);

/// What is kept of one seed's run.
struct SeedOutcome {
  std::vector<double> values = {};  ///< one for each of the result's metrics; none if it diverged
  bool diverged = false;
  bool rank_deficient = false;
  std::vector<std::string> warnings = {};
  double seconds = 0.0;
};

/// Which outcome is the (lower) median of those that did not diverge, by its value of one metric:
/// the run that figures show, for the first may be a lucky or an unlucky one. 0 if all diverged.
std::size_t median_outcome(const std::vector<SeedOutcome>& outcomes, std::size_t metric);

/// Adds the outcomes, in the order of the seeds, to a result whose metrics are named already.
void collect(const std::vector<SeedOutcome>& outcomes, ExperimentResult& result);

/// The same of the first ones, which are then the result's seeds.
void collect_first(std::size_t count, const std::vector<SeedOutcome>& outcomes,
                   ExperimentResult& result);

/// The q-quantile of unsorted values, interpolated linearly; values must not be empty.
double quantile(std::vector<double> values, double q);

/// {"version": …, "experiments": […]}, without the figures.
nlohmann::ordered_json to_json(const std::vector<ExperimentResult>& results,
                               const std::string& command);

/// One table for a person.
std::string to_table(const std::vector<ExperimentResult>& results);

/// Writes every figure below `directory`, lists them in `json`, and writes that as results.json.
void write_results(const std::filesystem::path& directory,
                   const std::vector<ExperimentResult>& results, nlohmann::ordered_json& json);

}  // namespace waggle::app
