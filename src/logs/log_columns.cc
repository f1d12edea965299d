#include "logs/log_columns.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <glob.h>

#include "core/check.h"
#include "core/text.h"

namespace waggle {

namespace fs = std::filesystem;

namespace {

/// Where columns are, by their names. It must not outlive them.
class ColumnIndex {
 public:
  explicit ColumnIndex(const std::vector<std::string>& columns) : columns_(columns) {
    places_.reserve(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) places_.emplace(columns[i], i);
  }

  std::optional<std::size_t> find(const std::string& name) const {
    const auto found = places_.find(name);
    if (name.empty() || found == places_.end()) return std::nullopt;
    return found->second;
  }
  std::size_t must_find(const std::string& name, const std::string& path) const {
    const auto found = find(name);
    if (!found) throw Error(fmt::format("'{}': {}", path, missing_name("column", name, columns_)));
    return *found;
  }
  /// The name, or name_0, name_1, … if only these are columns.
  std::vector<std::string> vector(const std::string& name) const {
    if (find(name) || !find(name + "_0")) return {name};
    std::vector<std::string> names;
    for (std::size_t i = 0; find(fmt::format("{}_{}", name, i)); ++i) {
      names.push_back(fmt::format("{}_{}", name, i));
    }
    return names;
  }

 private:
  const std::vector<std::string>& columns_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

using Set = std::unordered_set<std::string>;

/// All columns that are to be ignored.
Set ignored(const LogOptions& options, const ColumnIndex& index) {
  Set names;
  for (const std::string& name : options.ignore) {
    for (std::string& column : index.vector(name)) names.insert(std::move(column));
  }
  return names;
}

/// What a column of flags is called: `given`, as the options say; but where that is only the
/// default and no such column is there, the first of the `others`, other tools' names for it, that
/// is. Empty if it is left out.
std::string flag_name(const std::string& given, const std::string& usual,
                      std::initializer_list<const char*> others, const ColumnIndex& index,
                      const Set& left_out) {
  if (left_out.contains(given)) return "";
  if (given != usual || index.find(given)) return given;
  for (const char* other : others) {
    if (index.find(other) && !left_out.contains(other)) return other;
  }
  return given;
}

struct FlagNames {
  std::string episode, terminated, truncated;
};

FlagNames find_flags(const LogOptions& options, const ColumnIndex& index) {
  const Set left_out = ignored(options, index);
  const LogOptions usual;
  Set named(options.actions.begin(), options.actions.end());
  named.insert(options.reward);
  named.insert(options.time);
  if (options.observations)
    named.insert(options.observations->begin(), options.observations->end());
  named.insert(left_out.begin(), left_out.end());
  return {
      flag_name(options.episode, "", {}, index, left_out),
      flag_name(options.terminated, usual.terminated, {"terminals", "terminations"}, index, named),
      flag_name(options.truncated, usual.truncated, {"timeouts", "truncations"}, index, named)};
}

/// Adds an observation that was named: a column, or one of the labels of a column.
void add_observation(const std::string& name, const ColumnIndex& index, LogNames& names) {
  std::string column = name, label;
  for (std::size_t at = name.find('='); !index.find(name) && at != std::string::npos;
       at = name.find('=', at + 1)) {
    if (!index.find(name.substr(0, at))) continue;
    column = name.substr(0, at);
    label = name.substr(at + 1);
    break;
  }
  auto& known = names.observations;
  if (label == kMissing && !known.empty() && known.back() == column &&
      names.labels.back().empty()) {
    names.may_miss.back() = true;
    return;
  }
  if (label.empty() || known.empty() || known.back() != column) {
    require(std::find(known.begin(), known.end(), column) == known.end(),
            "observations: {} must stand with the other labels of its column", shown(name));
    known.push_back(column);
    names.labels.emplace_back();
    names.may_miss.push_back(false);
  }
  if (!label.empty()) names.labels.back().push_back(label);
}

}  // namespace

std::vector<fs::path> expand_patterns(const std::vector<std::string>& files) {
  require(!files.empty(), "no log was named: give at least one file");
  std::vector<fs::path> paths;
  for (const std::string& file : files) {
    std::error_code ignored;
    const bool literal =
        fs::exists(file, ignored) || file.find_first_of("*?[") == std::string::npos;
    if (literal) {
      paths.emplace_back(file);
      continue;
    }
    glob_t matches = {};
    const int code = glob(file.c_str(), 0, nullptr, &matches);
    for (std::size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) {
      paths.emplace_back(matches.gl_pathv[i]);
    }
    globfree(&matches);
    require(code == 0, "no file fits the pattern '{}'", file);
  }
  return paths;
}

std::vector<std::size_t> LogColumns::all() const {
  std::vector<std::size_t> columns = {reward};
  columns.insert(columns.end(), actions.begin(), actions.end());
  columns.insert(columns.end(), observations.begin(), observations.end());
  const std::vector<std::size_t> others = about_time();
  columns.insert(columns.end(), others.begin(), others.end());
  return columns;
}

std::vector<std::size_t> LogColumns::about_time() const {
  std::vector<std::size_t> columns;
  for (const auto& special : {episode, terminated, truncated, time}) {
    if (special) columns.push_back(*special);
  }
  return columns;
}

LogNames find_names(const LogOptions& options, const std::vector<std::string>& columns) {
  const ColumnIndex index(columns);
  LogNames names;
  for (const std::string& action : options.actions) {
    const std::vector<std::string> all = index.vector(action);
    names.actions.insert(names.actions.end(), all.begin(), all.end());
  }
  const FlagNames flags = find_flags(options, index);
  for (const auto& [found, given] :
       {std::pair(flags.terminated, options.terminated), {flags.truncated, options.truncated}}) {
    if (!found.empty() && found != given && index.find(found)) {
      names.notes.push_back(fmt::format("the column {} is taken for {}", shown(found), given));
    }
  }
  if (options.observations) {
    for (const std::string& name : *options.observations) add_observation(name, index, names);
  } else {
    Set taken = ignored(options, index);
    for (const std::string& name : taken) {
      if (!index.find(name)) throw Error("ignore: " + missing_name("column", name, columns));
    }
    taken.insert(names.actions.begin(), names.actions.end());
    taken.insert({options.reward, options.time, flags.episode, flags.terminated, flags.truncated});
    for (const std::string& column : columns) {
      if (!taken.contains(column)) names.observations.push_back(column);
    }
    names.labels.resize(names.observations.size());
    names.may_miss.resize(names.observations.size());
  }
  const std::size_t used = names.actions.size() + names.observations.size();
  require(used <= kMaximumColumns,
          "{} columns to learn from, must be at most {}: name the observations, or what to ignore",
          used, kMaximumColumns);
  return names;
}

LogColumns find_columns(const LogOptions& options, const LogNames& names,
                        const std::vector<std::string>& columns, const std::string& path) {
  const ColumnIndex index(columns);
  LogColumns places;
  places.reward = index.must_find(options.reward, path);
  for (const std::string& name : names.actions) {
    places.actions.push_back(index.must_find(name, path));
  }
  for (const std::string& name : names.observations) {
    places.observations.push_back(index.must_find(name, path));
  }
  const FlagNames flags = find_flags(options, index);
  // They are optional, unless asked for by names of their own.
  const LogOptions usual;
  const auto find_flag = [&](const std::string& name, const std::string& usual_name,
                             const std::string& given) -> std::optional<std::size_t> {
    if (name.empty() || given == usual_name) return index.find(name);
    return index.must_find(name, path);
  };
  places.episode = find_flag(flags.episode, usual.episode, options.episode);
  places.terminated = find_flag(flags.terminated, usual.terminated, options.terminated);
  places.truncated = find_flag(flags.truncated, usual.truncated, options.truncated);
  if (!options.time.empty()) places.time = index.must_find(options.time, path);
  if (options.observations) return places;
  const std::vector<std::size_t> used = places.all();
  const std::unordered_set<std::size_t> known(used.begin(), used.end());
  const Set left_out = ignored(options, index);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    require(known.contains(i) || left_out.contains(columns[i]),
            "'{}': column {} is not in the log's first file; to leave it out, ignore it or name "
            "the observations",
            path, shown(columns[i]));
  }
  return places;
}

}  // namespace waggle
