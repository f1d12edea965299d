#include "logs/log_columns.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <glob.h>

#include <waggle/detail/text.h>

#include "core/check.h"

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

/// Where the columns about episodes are. Those of other tools' names are taken where the options
/// have the first names and no such column is there, unless they are something else.
struct Flags {
  std::optional<std::size_t> episode, terminated, truncated;
};

Flags find_flags(const LogOptions& options, const ColumnIndex& index) {
  const Set left_out = ignored(options, index);
  Set taken = left_out;
  taken.insert(options.actions.begin(), options.actions.end());
  taken.insert({options.reward, options.time});
  if (options.observations)
    taken.insert(options.observations->begin(), options.observations->end());
  const auto find = [&](const std::string& given, const std::string& first,
                        std::initializer_list<const char*> others) {
    auto found = left_out.contains(given) ? std::nullopt : index.find(given);
    if (found || given != first || left_out.contains(given)) return found;
    for (const char* other : others) {
      if (!found && !taken.contains(other)) found = index.find(other);
    }
    return found;
  };
  const LogOptions usual;
  return {find(options.episode, usual.episode, {}),
          find(options.terminated, usual.terminated, {"terminals", "terminations"}),
          find(options.truncated, usual.truncated, {"timeouts", "truncations"})};
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
  const Flags flags = find_flags(options, index);
  for (const auto& [found, given] :
       {std::pair(flags.terminated, options.terminated), {flags.truncated, options.truncated}}) {
    if (found && columns[*found] != given) {
      names.notes.push_back(
          fmt::format("the column {} is taken for {}", shown(columns[*found]), given));
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
    taken.insert({options.reward, options.time});
    for (const auto& flag : {flags.episode, flags.terminated, flags.truncated}) {
      if (flag) taken.insert(columns[*flag]);
    }
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
  const Flags flags = find_flags(options, index);
  places.episode = flags.episode;
  places.terminated = flags.terminated;
  places.truncated = flags.truncated;
  // They are optional, unless asked for by names of their own.
  const LogOptions usual;
  for (const auto& [found, given, first] :
       {std::tuple(flags.episode, options.episode, usual.episode),
        {flags.terminated, options.terminated, usual.terminated},
        {flags.truncated, options.truncated, usual.truncated}}) {
    const auto& ignored = options.ignore;
    const bool wanted = !given.empty() && given != first &&
                        std::find(ignored.begin(), ignored.end(), given) == ignored.end();
    if (!found && wanted) index.must_find(given, path);
  }
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
