#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <waggle/base/progress.h>
#include <waggle/evaluation.h>
#include <waggle/export.h>
#include <waggle/learner.h>
#include <waggle/log.h>

namespace waggle::playground {

/// What a column of a log is to the learner.
enum class Role : std::uint8_t {
  observation,
  reward,
  action,
  episode,
  terminated,
  truncated,
  unused
};

/// What a column is by its name alone: "reward" and "action", their plurals and other names that
/// they go by; counters of rows are unused; all others are observed.
Role guess_role(const std::string& name);

/// A column as a person meets it.
struct SeenColumn {
  std::string name;
  std::vector<std::string> cells;  ///< of the first rows
  Role role = Role::observation;   ///< as guessed
};

/// A visitor's log: what its columns may be, what is learnt from it, and how that compares with it.
class LogSession {
 public:
  static constexpr Eigen::Index kMostRows = 10'000;  ///< are learnt from, if nothing else is said
  static constexpr int kUnits = 100;
  static constexpr std::size_t kMostColumns = 64;
  static constexpr Eigen::Index kShownRows = 400;  ///< of result(), the last
  static constexpr std::size_t kSeenRows = 3;      ///< of columns()

  /// Opens a CSV file and guesses what its columns are; at most one is the reward, an episode's
  /// name or its end. Throws Error, naming the file, if it is empty, malformed or no text, or has
  /// more than kMostColumns columns.
  explicit LogSession(std::string file, Eigen::Index most_rows = kMostRows);

  const std::vector<SeenColumn>& columns() const { return columns_; }

  /// Learns from the first rows as `waggle learn` does, with fewer units and features. Throws Error
  /// if the roles have no reward or no action, more than one of what there can be one of, or the
  /// log cannot be read that way; Stopped if the end was asked for.
  void learn(const std::vector<Role>& roles, double discount, std::uint64_t seed,
             const ProgressCallback& progress = {});

  bool has_learnt() const { return learnt_.has_value(); }
  /// All throw Error before anything was learnt.
  const Learnt& learnt() const;
  const LogEvaluation& evaluation() const;  ///< held against the rows it was learnt from
  /// The model's file, and its policy in C.
  std::string model() const;
  ExportedC exported() const;

  /// For the page, as JSON: the columns; what was learnt and how well, with the last rows.
  std::string columns_json() const;
  std::string result_json() const;

 private:
  LogOptions reading(const std::vector<Role>& roles, Eigen::Index minimum_rows) const;

  std::string file_;
  Eigen::Index most_rows_;
  std::vector<SeenColumn> columns_;
  std::optional<Learnt> learnt_;
  LogEvaluation evaluation_;
  Eigen::Index rows_in_file_ = 0;
};

/// A log to try: a bee that flies at random, as `waggle simulate bee-world --steps 2000` writes it.
void write_sample_log(const std::string& file);

}  // namespace waggle::playground
