#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "reproduce.h"

/// The experiments of `waggle-paper reproduce`, each one entry of a table. What there is to say of
/// one stands in its entry; commands, results and reports loop over the table.
///
/// A new experiment is the file NAME_experiment.cc with a function `Experiment NAME_experiment()`,
/// paper/experiments/NAME.toml if it has options, web/report/sections/NAME.ts if it has figures,
/// and its name in the list of CMakeLists.txt.
namespace waggle::app {

/// One of the results an experiment has.
struct ResultKind {
  std::string name;   ///< in results.json
  std::string title;  ///< of its section in the report
  std::string text;   ///< what it is about, in a sentence or two
  std::optional<MainMetric> main_metric = std::nullopt;
};

struct Experiment {
  std::string name;  ///< on the command line
  std::vector<ResultKind> results;
  void (*run)(const ReproduceOptions&, const SeedProgress&, Results&);
  bool has_learners = false;      ///< those of its file, which `compare` compares
  bool slow = false;              ///< says enough with few seeds
  bool apart = false;             ///< no result of the paper: left out of `reproduce all`
  std::string learner = "paper";  ///< the one of its learners that is run unless another is named
  /// Its own table for a person; null: that of all experiments.
  std::string (*table)(const std::vector<ExperimentResult>&) = nullptr;
};

/// All of them, in the order of `reproduce all`.
const std::vector<Experiment>& experiments();

/// The one of that name; null if there is none.
const Experiment* find_experiment(const std::string& name);

/// Their names, or those of the ones with a flag: experiment_names(&Experiment::slow).
std::vector<std::string> experiment_names(bool Experiment::*flag = nullptr);

/// The kind of a result by its name; null if no experiment has it.
const ResultKind* find_result_kind(const std::string& name);

/// An empty result of these seeds. Throws Error unless an experiment has a result of that name.
ExperimentResult start_result(const ReproduceOptions& options, const std::string& name,
                              const std::string& learner);

}  // namespace waggle::app
