#include "experiment_file.h"

#include <fmt/format.h>
#include <waggle_paper/presets.h>

namespace waggle::app {

namespace {

toml::table parse(std::string_view name) {
  try {
    return toml::parse(experiment_text(name));
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("paper/experiments/{}.toml, line {}: {}", name,
                            error.source().begin.line, error.description()));
  }
}

}  // namespace

ExperimentFile::ExperimentFile(std::string_view name) : name_(name), file_(parse(name)) {}

std::vector<std::string> ExperimentFile::learner_names() const {
  std::vector<std::string> names;
  if (const toml::table* learners = file_["learners"].as_table()) {
    for (const auto& [key, value] : *learners) names.emplace_back(key.str());
  }
  return names;
}

std::vector<std::string> ExperimentFile::compared_learners() const {
  std::vector<std::string> names;
  if (const toml::array* list = file_["compare"].as_array()) {
    for (const toml::node& node : *list) names.push_back(node.value_or(std::string()));
  }
  return names;
}

std::string ExperimentFile::best_learner() const {
  const auto best = file_["best"].value<std::string>();
  if (!best) throw Error(fmt::format("paper/experiments/{}.toml: best is missing", name_));
  return *best;
}

LearnOptions ExperimentFile::learner(const std::string& learner) const {
  const toml::table* table = file_["learners"][learner].as_table();
  if (table == nullptr) {
    throw Error(
        fmt::format("learner '{}': {} has {}", learner, name_, fmt::join(learner_names(), ", ")));
  }
  toml::table own = *table;
  LearnOptions options;
  if (const auto preset = own["preset"].value<std::string>()) {
    options = presets::paper_preset(*preset);
    own.erase("preset");
  }
  if (const auto parent = own["inherit"].value<std::string>()) {
    options = this->learner(*parent);
    own.erase("inherit");
  }
  read_into(own, "learners." + learner, options);
  return options;
}

Eigen::Index ExperimentFile::evaluation_steps() const {
  const auto steps = file_["evaluation"]["steps"].value<std::int64_t>();
  if (!steps)
    throw Error(fmt::format("paper/experiments/{}.toml: evaluation.steps is missing", name_));
  return *steps;
}

std::vector<toml::table> ExperimentFile::tables(const char* list) const {
  std::vector<toml::table> found;
  if (const toml::array* array = file_[list].as_array()) {
    for (const toml::node& node : *array) {
      if (const toml::table* table = node.as_table()) found.push_back(*table);
    }
  }
  if (found.empty())
    throw Error(fmt::format("paper/experiments/{}.toml: {} is missing", name_, list));
  return found;
}

std::optional<double> ExperimentFile::number(const char* table, std::string_view key) const {
  return file_[table][key].value<double>();
}

}  // namespace waggle::app
