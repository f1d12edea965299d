#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "config.h"

namespace waggle::app {

/// The text of paper/experiments/NAME.toml, built into the program. Throws Error for an unknown
/// name.
std::string_view experiment_text(std::string_view name);

/// An experiment's TOML file: its environment, its learners, what the paper prints.
class ExperimentFile {
 public:
  explicit ExperimentFile(std::string_view name);

  /// Reads [table] on top of `options`; a missing table leaves them as they are.
  template <typename Options>
  Options read(const char* table, Options options = {}) const {
    if (const toml::table* found = file_[table].as_table()) read_into(*found, table, options);
    return options;
  }

  /// Reads [learners.NAME], on top of the preset it names or the learner it inherits from. Throws
  /// Error, with the known names, for an unknown one.
  LearnOptions learner(const std::string& learner) const;
  std::vector<std::string> learner_names() const;
  /// The learners to compare, in order.
  std::vector<std::string> compared_learners() const;
  /// The best learner with a single reservoir. Throws Error if the file names none.
  std::string best_learner() const;

  /// The steps over which the learnt policy is scored.
  Eigen::Index evaluation_steps() const;
  /// What the paper prints for a quantity, if it does.
  std::optional<double> paper(const char* quantity) const { return number("paper", quantity); }
  /// The tables of a list, [[list]]. Throws Error if there are none.
  std::vector<toml::table> tables(const char* list) const;
  /// A number of a table, if it is there.
  std::optional<double> number(const char* table, std::string_view key) const;

 private:
  template <typename Options>
  void read_into(const toml::table& table, const std::string& where, Options& options) const {
    TomlReader reader(table, where);
    describe(reader, options);
    reader.finish();
  }

  std::string name_;
  toml::table file_;
};

}  // namespace waggle::app
