#include "experiment.h"

#include <fmt/format.h>

#include <waggle/base/error.h>

namespace waggle::app {

std::vector<std::string> experiment_names(bool Experiment::*flag) {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments()) {
    if (flag == nullptr || experiment.*flag) names.push_back(experiment.name);
  }
  return names;
}

const Experiment* find_experiment(const std::string& name) {
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return &experiment;
  }
  return nullptr;
}

const ResultKind* find_result_kind(const std::string& name) {
  for (const Experiment& experiment : experiments()) {
    for (const ResultKind& kind : experiment.results) {
      if (kind.name == name) return &kind;
    }
  }
  return nullptr;
}

ExperimentResult start_result(const ReproduceOptions& options, const std::string& name,
                              const std::string& learner) {
  const ResultKind* kind = find_result_kind(name);
  if (kind == nullptr) throw Error(fmt::format("result '{}': no experiment has it", name));
  ExperimentResult result;
  result.experiment = name;
  result.title = kind->title;
  result.text = kind->text;
  result.main_metric = kind->main_metric;
  result.learner = learner;
  result.first_seed = options.first_seed;
  result.seeds = options.seeds;
  return result;
}

}  // namespace waggle::app
