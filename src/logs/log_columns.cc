#include "logs/log_columns.h"

#include <algorithm>
#include <unordered_set>

#include <glob.h>

#include "core/check.h"
#include "core/text.h"

namespace waggle {

namespace fs = std::filesystem;

namespace {

std::optional<std::size_t> find(const std::vector<std::string>& columns, const std::string& name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (name.empty() || found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::size_t must_find(const std::vector<std::string>& columns, const std::string& name,
                      const std::string& path) {
  const auto found = find(columns, name);
  if (!found) throw Error(fmt::format("'{}': {}", path, missing_name("column", name, columns)));
  return *found;
}

/// Adds an observation that was named: a column, or one of the labels of a column.
void add_observation(const std::string& name, const std::vector<std::string>& columns,
                     LogNames& names) {
  std::string column = name, label;
  for (std::size_t at = name.find('='); !find(columns, name) && at != std::string::npos;
       at = name.find('=', at + 1)) {
    if (!find(columns, name.substr(0, at))) continue;
    column = name.substr(0, at);
    label = name.substr(at + 1);
    break;
  }
  auto& known = names.observations;
  if (label.empty() || known.empty() || known.back() != column) {
    require(std::find(known.begin(), known.end(), column) == known.end(),
            "observations: {} must stand with the other labels of its column", shown(name));
    known.push_back(column);
    names.labels.emplace_back();
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
  for (const auto& special : {episode, terminated, truncated}) {
    if (special) columns.push_back(*special);
  }
  return columns;
}

LogNames find_names(const LogOptions& options, const std::vector<std::string>& columns) {
  LogNames names;
  for (const std::string& action : options.actions) {
    if (find(columns, action) || !find(columns, action + "_0")) {
      names.actions.push_back(action);
      continue;
    }
    for (std::size_t i = 0; find(columns, fmt::format("{}_{}", action, i)); ++i) {
      names.actions.push_back(fmt::format("{}_{}", action, i));
    }
  }
  if (options.observations) {
    for (const std::string& name : *options.observations) add_observation(name, columns, names);
    return names;
  }
  std::unordered_set<std::string> taken(names.actions.begin(), names.actions.end());
  taken.insert({options.reward, options.episode, options.terminated, options.truncated});
  for (const std::string& column : columns) {
    if (!taken.contains(column)) names.observations.push_back(column);
  }
  names.labels.resize(names.observations.size());
  return names;
}

LogColumns find_columns(const LogOptions& options, const LogNames& names,
                        const std::vector<std::string>& columns, const std::string& path) {
  LogColumns places;
  places.reward = must_find(columns, options.reward, path);
  for (const std::string& name : names.actions) {
    places.actions.push_back(must_find(columns, name, path));
  }
  for (const std::string& name : names.observations) {
    places.observations.push_back(must_find(columns, name, path));
  }
  places.episode = find(columns, options.episode);
  places.terminated = find(columns, options.terminated);
  places.truncated = find(columns, options.truncated);
  if (options.observations) return places;
  const std::vector<std::size_t> used = places.all();
  const std::unordered_set<std::size_t> known(used.begin(), used.end());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    require(
        known.contains(i),
        "'{}': column {} is not in the log's first file; to leave it out, name the observations",
        path, shown(columns[i]));
  }
  return places;
}

}  // namespace waggle
