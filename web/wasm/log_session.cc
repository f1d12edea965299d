#include "log_session.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <waggle/detail/require.h>
#include <waggle/detail/results_json.h>
#include <waggle/detail/table.h>
#include <waggle/detail/text.h>
#include <waggle/env/bee_world.h>
#include <waggle/model_file.h>
#include <waggle/policy.h>
#include <waggle/rollout.h>

#include "quick_fit.h"

namespace waggle::playground {

using Eigen::Index;
using nlohmann::json;

namespace {

constexpr Index kChunkRows = 500;  // progress is told of so many
constexpr Index kSampleSteps = 2000;
constexpr std::size_t kSeenCharacters = 24;

struct KnownName {
  std::string_view name;
  Role role;
};
constexpr auto kKnownNames = std::to_array<KnownName>({
    {"reward", Role::reward},
    {"rewards", Role::reward},
    {"r", Role::reward},
    {"score", Role::reward},
    {"profit", Role::reward},
    {"payoff", Role::reward},
    {"utility", Role::reward},
    {"nectar", Role::reward},
    {"action", Role::action},
    {"actions", Role::action},
    {"act", Role::action},
    {"a", Role::action},
    {"control", Role::action},
    {"u", Role::action},
    {"command", Role::action},
    {"choice", Role::action},
    {"move", Role::action},
    {"trade", Role::action},
    {"torque", Role::action},
    {"force", Role::action},
    {"episode", Role::episode},
    {"episodes", Role::episode},
    {"episode_id", Role::episode},
    {"trajectory", Role::episode},
    {"trial", Role::episode},
    {"terminated", Role::terminated},
    {"terminal", Role::terminated},
    {"terminals", Role::terminated},
    {"terminations", Role::terminated},
    {"done", Role::terminated},
    {"dones", Role::terminated},
    {"truncated", Role::truncated},
    {"truncations", Role::truncated},
    {"timeout", Role::truncated},
    {"timeouts", Role::truncated},
    {"step", Role::unused},
    {"steps", Role::unused},
    {"row", Role::unused},
    {"index", Role::unused},
    {"t", Role::unused},
    {"time", Role::unused},
    {"timestamp", Role::unused},
});

/// A column as messages call what it is.
const char* role_name(Role role) {
  switch (role) {
    case Role::observation:
      return "an observation";
    case Role::reward:
      return "the reward";
    case Role::action:
      return "an action";
    case Role::episode:
      return "the episode";
    case Role::terminated:
      return "whether it terminated";
    case Role::truncated:
      return "whether it was cut";
    case Role::unused:
      return "not used";
  }
  return "";
}

bool may_be_several(Role role) {
  return role == Role::observation || role == Role::action || role == Role::unused;
}

/// Throws Error if the file holds a byte that no text has. UTF-16, which does, is told apart by
/// whoever reads it.
void require_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string start(4096, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  const bool wide = start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF");
  require(wide || start.find('\0') == std::string::npos,
          "'{}': this is no text: a log here is a CSV file", file);
}

std::string cut(std::string_view text) {
  if (text.size() <= kSeenCharacters) return std::string(text);
  std::size_t end = kSeenCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<double> list(const Eigen::VectorXd& values) { return {values.begin(), values.end()}; }

json predictions_json(const PredictionQuality& quality) {
  json explained = json::array();
  for (Index i = 0; i < quality.explained.rows(); ++i) {
    explained.push_back(list(quality.explained.row(i).transpose()));
  }
  return {{"horizons", quality.horizons}, {"names", quality.names}, {"explained", explained}};
}

/// As JavaScript calls its fields.
json evaluation_json(const LogEvaluation& evaluation) {
  json result;
  const nlohmann::ordered_json all = to_json(evaluation);
  for (const auto& [name, value] : all.items()) {
    std::string own;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool starts = i > 0 && name[i - 1] == '_';
      if (starts) {
        own += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
      } else if (name[i] != '_') {
        own += name[i];
      }
    }
    result[own] = value;
  }
  result["difference"] = result["actionDifference"];
  result["deviation"] = result["actionDeviation"];
  return result;
}

}  // namespace

Role guess_role(const std::string& name) {
  std::string word;
  for (const char c : name) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  // Of action_0, action_1, … and a[0], a[1], … the first part is the name.
  std::size_t end = word.size();
  if (end > 0 && word[end - 1] == ']') --end;
  while (end > 0 && std::isdigit(static_cast<unsigned char>(word[end - 1])) != 0) --end;
  if (end > 0 && end < word.size() && (word[end - 1] == '_' || word[end - 1] == '[')) --end;
  const auto find = [](std::string_view wanted) {
    return std::find_if(kKnownNames.begin(), kKnownNames.end(),
                        [&](const KnownName& known) { return known.name == wanted; });
  };
  const auto whole = find(word);
  if (whole != kKnownNames.end()) return whole->role;
  const auto part = find(word.substr(0, end));
  if (part != kKnownNames.end() && part->role == Role::action) return Role::action;
  return Role::observation;
}

LogSession::LogSession(std::string file, Index most_rows)
    : file_(std::move(file)), most_rows_(most_rows) {
  require_text(file_);
  const std::unique_ptr<Table> table = open_table(file_);
  require(table->columns().size() <= kMostColumns,
          "'{}': {} columns, a page shows {} at most; the program waggle takes more", file_,
          table->columns().size(), kMostColumns);
  std::vector<std::size_t> all;
  for (const std::string& name : table->columns()) {
    all.push_back(all.size());
    Role role = guess_role(name);
    const bool taken = std::any_of(columns_.begin(), columns_.end(),
                                   [&](const SeenColumn& column) { return column.role == role; });
    if (taken && !may_be_several(role)) role = Role::observation;
    columns_.push_back({name, {}, role});
  }
  table->use(all);
  std::size_t rows = 0;
  for (; rows < kSeenRows && table->next(); ++rows) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].cells.push_back(cut(table->text(i)));
    }
  }
  require(rows > 0, "'{}': the log is empty: it has no rows", file_);
}

LogOptions LogSession::reading(const std::vector<Role>& roles, Index minimum_rows) const {
  require(roles.size() == columns_.size(), "{} roles for {} columns", roles.size(),
          columns_.size());
  LogOptions options;
  options.actions.clear();
  options.reward = options.episode = options.terminated = options.truncated = "";
  options.observations.emplace();
  options.needs.minimum_rows = minimum_rows;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const std::string& name = columns_[i].name;
    std::string* one = nullptr;
    switch (roles[i]) {
      case Role::observation:
        options.observations->push_back(name);
        break;
      case Role::action:
        options.actions.push_back(name);
        break;
      case Role::reward:
        one = &options.reward;
        break;
      case Role::episode:
        one = &options.episode;
        break;
      case Role::terminated:
        one = &options.terminated;
        break;
      case Role::truncated:
        one = &options.truncated;
        break;
      case Role::unused:
        break;
    }
    if (one == nullptr) continue;
    require(one->empty(), "two columns, {} and {}, say {}: choose one of them", shown(*one),
            shown(name), role_name(roles[i]));
    *one = name;
  }
  require(!options.reward.empty(), "no column is the reward: choose the one to have more of");
  require(!options.actions.empty(),
          "no column is an action: choose the one that says what was done in each row");
  return options;
}

void LogSession::learn(const std::vector<Role>& roles, double discount, std::uint64_t seed,
                       const ProgressCallback& progress) {
  learnt_.reset();
  const FitOptions options = quick_fit(kUnits, discount, seed);
  options.validate();
  Log log(file_, reading(roles, options.value.least_rows()));
  rows_in_file_ = log.rows();
  const Trajectory rows = first_rows(log, most_rows_);
  TrajectoryChunks chunks(rows, kChunkRows, log.cut_out());
  Learnt learnt = learn_from_log(log.spec(), chunks, options, {.progress = progress});
  learnt.provenance.sources = {file_};
  evaluation_ = evaluate_on_log(learnt, chunks,
                                {.seed = seed, .kept_rows = kShownRows, .off_policy = std::nullopt},
                                progress);
  learnt_ = std::move(learnt);
}

const Learnt& LogSession::learnt() const {
  require(has_learnt(), "nothing was learnt from the log yet");
  return *learnt_;
}

const LogEvaluation& LogSession::evaluation() const {
  require(has_learnt(), "nothing was learnt from the log yet");
  return evaluation_;
}

std::string LogSession::model() const { return serialise(learnt()); }

ExportedC LogSession::exported() const { return export_c(learnt()); }

std::string LogSession::columns_json() const {
  json all = json::array();
  for (const SeenColumn& column : columns_) {
    all.push_back(
        {{"name", column.name}, {"cells", column.cells}, {"role", static_cast<int>(column.role)}});
  }
  return dump(all);
}

std::string LogSession::result_json() const {
  const Learnt& model = learnt();
  json result;
  result["rows"] = model.provenance.rows;
  result["rowsInFile"] = rows_in_file_;
  result["episodes"] = model.provenance.episodes;
  result["predictive"] = model.options.predictive.has_value();
  result["predictions"] = model.predictions ? predictions_json(*model.predictions) : json();
  result["actions"] = model.environment.action_names;
  result["choices"] = model.environment.choice_names;
  result["discount"] = model.options.value.discount;
  result["residual"] = model.diagnostics.residual;
  result["evaluation"] = evaluation_json(evaluation_);
  result["last"] = evaluation_.by_row;
  result["warnings"] = model.warnings;
  for (const std::string& warning : evaluation_.warnings) result["warnings"].push_back(warning);
  return dump(result);
}

void write_sample_log(const std::string& file) {
  BeeWorld world;
  Simulation simulation(world, 1);
  UniformPolicy random(simulation.spec().actions);
  write_log(file, simulation.spec(), simulation.run(random, {.steps = kSampleSteps}).trajectory);
}

}  // namespace waggle::playground
