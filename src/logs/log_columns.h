#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <waggle/detail/table.h>
#include <waggle/log.h>

namespace waggle {

/// The label of an observation that is missing.
constexpr const char* kMissing = "missing";

/// What the columns of all files of a log are called.
struct LogNames {
  std::vector<std::string> actions;
  std::vector<std::string> observations;
  std::vector<std::vector<std::string>> labels;  ///< of each observation, where they are given
  std::vector<bool> may_miss;                    ///< of each: column=missing is given, too
  std::vector<std::string> notes;                ///< what was found out
};

/// Where these are in one file.
struct LogColumns {
  std::size_t reward = 0;
  std::vector<std::size_t> actions;
  std::vector<std::size_t> observations;
  std::optional<std::size_t> episode;
  std::optional<std::size_t> terminated;
  std::optional<std::size_t> truncated;
  std::optional<std::size_t> time;

  std::vector<std::size_t> all() const;
  /// Those that say when a row was written and where episodes begin and end.
  std::vector<std::size_t> about_time() const;
  bool says_episodes() const { return episode || terminated || truncated; }
};

/// Finds the names in the columns of a log's first file: those of action vectors, and of the
/// observations if they are not named one by one. An observation "column=label" that is no column
/// is one of that column's labels; they must stand together. Throws Error if a column to ignore is
/// missing, or more are used than can be.
LogNames find_names(const LogOptions& options, const std::vector<std::string>& columns);

/// Finds the columns in any file. Throws Error if one is missing, or, if the observations were not
/// named, there are more than in the first file.
LogColumns find_columns(const LogOptions& options, const LogNames& names,
                        const std::vector<std::string>& columns, const std::string& path);

}  // namespace waggle
