#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include <waggle/log.h>
#include <waggle/model.h>

#include "core/check.h"
#include "core/text.h"
#include "logs/columns_table.h"
#include "logs/log_actions.h"
#include "logs/log_columns.h"
#include "logs/log_observations.h"
#include "logs/table.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kChunkNumbers = Index{1} << 20;  // 8 MiB, however wide the rows

struct Row {
  double reward = 0.0;
  VectorXd action;
  VectorXd observation;
  EpisodeEnd end = EpisodeEnd::none;
  bool starts = false;  // an episode, though the row before may not say that it ended one
};

}  // namespace

void LogOptions::validate() const {
  require(!reward.empty(), "reward: the column must be named");
  require(!actions.empty(), "actions: at least one column must be named");
  std::unordered_set<std::string> taken;
  const auto take = [&](const std::string& name, const char* what) {
    require(!name.empty(), "{}: a column's name must not be empty", what);
    require(taken.insert(name).second, "{}: column {} is named twice", what, shown(name));
  };
  take(reward, "reward");
  for (const std::string& name : actions) take(name, "actions");
  if (observations) {
    for (const std::string& name : *observations) take(name, "observations");
  }
  const std::unordered_set<std::string> labels(labelled.begin(), labelled.end());
  require(labels.size() == labelled.size() && !labels.contains(""),
          "labelled: {} must be distinct and not empty", listed(labelled));
  if (!episode.empty()) take(episode, "episode");
  if (!terminated.empty()) take(terminated, "terminated");
  if (!truncated.empty()) take(truncated, "truncated");
  const std::unordered_set<std::string> distinct(choices.begin(), choices.end());
  require(distinct.size() == choices.size() && !distinct.contains(""),
          "choices: {} must be distinct and not empty", listed(choices));
  const bool bounds = !lower.empty() || !upper.empty();
  require(choices.empty() || action_kind != ActionKind::continuous,
          "choices were given for a continuous action");
  require(!bounds || (choices.empty() && action_kind != ActionKind::discrete),
          "bounds were given for a discrete action");
  for (const double bound : lower) require(!std::isnan(bound), "lower: a bound is nan");
  for (const double bound : upper) require(!std::isnan(bound), "upper: a bound is nan");
  for (std::size_t i = 0; i < std::max(lower.size(), upper.size()); ++i) {
    if (lower.empty() || upper.empty()) break;
    const double least = lower[std::min(i, lower.size() - 1)];
    const double greatest = upper[std::min(i, upper.size() - 1)];
    require(least < greatest, "action bound {}: [{}, {}] must have its lower end below its upper",
            i, least, greatest);
  }
  require(minimum_rows >= 0, "minimum_rows = {}: must not be negative", minimum_rows);
  require(chunk_rows >= 1, "chunk_rows = {}: must be at least 1", chunk_rows);
}

LogOptions LogOptions::of(const EnvironmentSpec& spec, const std::vector<std::string>& labels) {
  LogOptions options;
  options.reward = spec.reward_name;
  options.actions = spec.action_names;
  options.observations = spec.observation_names;
  options.reward_is_input = spec.reward_is_input;
  if (spec.actions.is_discrete()) {
    options.choices = labels.empty() ? spec.choice_names : labels;
    for (int i = static_cast<int>(options.choices.size()); i < spec.actions.choices; ++i) {
      options.choices.push_back(fmt::format("{}", i));
    }
  } else {
    options.action_kind = ActionKind::continuous;
    options.lower.assign(spec.actions.lower.begin(), spec.actions.lower.end());
    options.upper.assign(spec.actions.upper.begin(), spec.actions.upper.end());
  }
  return options;
}

LogOptions LogOptions::of(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  LogOptions options = of(spec, spec.choice_names);
  if (!spec.actions.is_discrete()) {
    const double infinity = std::numeric_limits<double>::infinity();
    options.lower.assign(1, -infinity);
    options.upper.assign(1, infinity);
  }
  options.reward_must_vary = false;
  options.minimum_rows = model.options.value.washout_rows() + 2;
  return options;
}

/// Reads rows of consecutive files one ahead, since the next row tells whether an episode ended.
class Log::Reader {
 public:
  using Open = std::function<std::unique_ptr<Table>(const std::filesystem::path&)>;

  Reader(std::vector<std::filesystem::path> files, Open open_table, const LogOptions& options)
      : options_(options), files_(std::move(files)), open_table_(std::move(open_table)) {
    options.validate();
    table_path_ = files_[0];
    table_ = open_table_(table_path_);
    names_ = find_names(options_, table_->columns());
    actions_.emplace(options_, names_.actions);
    observations_.emplace(options_, names_);
    survey();
    spec_.name = files_[0].filename().string();
    spec_.actions = actions_->space();
    spec_.action_names = names_.actions;
    spec_.choice_names = actions_->labels();
    spec_.observation_names = observations_->names();
    spec_.reward_name = options_.reward;
    spec_.reward_is_input = options_.reward_is_input;
  }

  void rewind() { started_ = false; }

  bool next(Trajectory& chunk) {
    const Index action_size = spec_.actions.size(), observation_size = spec_.observation_size();
    if (chunk.action_size() != action_size || chunk.observation_size() != observation_size) {
      chunk = Trajectory(action_size, observation_size);
    }
    chunk.clear();
    if (!started_) {
      start();
      has_ahead_ = fetch(true);
      started_ = true;
    }
    const Index width = 1 + action_size + observation_size;
    const Index rows = std::min(options_.chunk_rows, std::max<Index>(1, kChunkNumbers / width));
    while (has_ahead_ && chunk.steps() < rows) {
      std::swap(row_, ahead_);
      has_ahead_ = fetch(true);
      const bool cut = has_ahead_ && ahead_.starts && row_.end == EpisodeEnd::none;
      chunk.append(row_.reward, row_.action, row_.observation,
                   cut ? EpisodeEnd::truncated : row_.end);
    }
    passed_ += chunk.steps();
    require(has_ahead_ ? passed_ < rows_ : passed_ == rows_,
            "'{}': the log has changed while it was read: it had {} rows", files_[0].string(),
            rows_);
    return chunk.steps() > 0;
  }

  EnvironmentSpec spec_;
  const std::vector<std::string>& choice_labels() const { return actions_->labels(); }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  Index rows() const { return rows_; }
  Index episodes() const { return episodes_; }
  bool says_episodes() const {
    return columns_.episode || columns_.terminated || columns_.truncated;
  }

 private:
  void start() {
    file_ = 0;
    passed_ = 0;
    open();
  }

  void open() {
    if (table_path_ != files_[file_]) table_ = open_table_(files_[file_]);
    table_path_ = files_[file_];
    columns_ = find_columns(options_, names_, table_->columns(), table_path_.string());
    table_->use(columns_.all());
    rows_in_file_ = 0;
    for (Row* row : {&row_, &ahead_}) {
      row->action.resize(std::ssize(columns_.actions));
      row->observation.resize(std::ssize(observations_->names()));
    }
  }

  /// The first pass: counts, checks every cell, finds the actions' bounds or choices.
  void survey() {
    start();
    double first_reward = 0.0;
    bool varies = false, terminates = false, ended = true;
    while (fetch(false)) {
      if (rows_ == 0) first_reward = ahead_.reward;
      varies = varies || ahead_.reward != first_reward;
      terminates = terminates || ahead_.end == EpisodeEnd::terminated;
      if (ended || ahead_.starts) ++episodes_;
      ended = ahead_.end != EpisodeEnd::none;
      ++rows_;
    }
    const std::string path = files_[0].string();
    require(rows_ >= options_.minimum_rows, "'{}': the log has {} rows, at least {} are needed",
            path, rows_, options_.minimum_rows);
    require(varies || terminates || !options_.reward_must_vary,
            "'{}': the reward {} is {} in every row: there is nothing to learn from it", path,
            shown(options_.reward), first_reward);
    actions_->settle();
    observations_->settle();
  }

  /// Reads the next row into ahead_, or surveys its actions and observations as long as it is not
  /// settled what they are; false after the last.
  bool fetch(bool settled) {
    while (!table_->next()) {
      require(rows_in_file_ > 0, "'{}': the log is empty: it has no rows", table_path_.string());
      if (file_ + 1 == files_.size()) return false;
      ++file_;
      open();
    }
    const Table& table = *table_;
    ahead_.starts = rows_in_file_ == 0;
    ++rows_in_file_;
    ahead_.reward = table.number(columns_.reward);
    if (settled) {
      observations_->read(table, columns_.observations, ahead_.observation);
    } else {
      observations_->survey(table, columns_.observations);
    }
    const bool terminated = columns_.terminated && table.flag(*columns_.terminated);
    const bool truncated = columns_.truncated && table.flag(*columns_.truncated);
    ahead_.end = terminated  ? EpisodeEnd::terminated
                 : truncated ? EpisodeEnd::truncated
                             : EpisodeEnd::none;
    if (columns_.episode) {
      const std::string_view episode = table.text(*columns_.episode);
      if (episode.empty()) table.refuse(*columns_.episode, Table::Cell::Kind::empty);
      if (episode != episode_) {
        ahead_.starts = true;
        episode_ = episode;
      }
    }
    if (settled) {
      actions_->read(table, columns_.actions, terminated, ahead_.action);
    } else if (!terminated) {
      actions_->survey(table, columns_.actions);
    }
    return true;
  }

  LogOptions options_;
  std::vector<std::filesystem::path> files_;
  Open open_table_;
  LogNames names_;
  std::optional<LogActions> actions_;
  std::optional<LogObservations> observations_;
  Index rows_ = 0;
  Index episodes_ = 0;

  std::size_t file_ = 0;
  std::filesystem::path table_path_;
  std::unique_ptr<Table> table_;
  LogColumns columns_;
  Index rows_in_file_ = 0;
  std::string episode_;
  Row row_, ahead_;
  bool has_ahead_ = false;
  bool started_ = false;
  Index passed_ = 0;
};

Log::Log(const std::vector<std::string>& files, const LogOptions& options)
    : reader_(std::make_unique<Reader>(expand_patterns(files), open_table, options)) {}
Log::Log(std::vector<LogColumn> columns, const std::string& name, const LogOptions& options)
    : reader_(std::make_unique<Reader>(
          std::vector<std::filesystem::path>{name},
          [shared = std::make_shared<const std::vector<LogColumn>>(std::move(columns)),
           name](const std::filesystem::path&) { return open_columns(shared, name); },
          options)) {}
Log::Log(const std::string& file, const LogOptions& options)
    : Log(std::vector<std::string>{file}, options) {}
Log::~Log() = default;
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;

const EnvironmentSpec& Log::spec() const { return reader_->spec_; }
const std::vector<std::string>& Log::choice_labels() const { return reader_->choice_labels(); }
const std::vector<std::filesystem::path>& Log::files() const { return reader_->files(); }
Index Log::rows() const { return reader_->rows(); }
Index Log::episodes() const { return reader_->episodes(); }

std::optional<bool> Log::cut_out() const { return !reader_->says_episodes(); }
void Log::rewind() { reader_->rewind(); }
bool Log::next(Trajectory& chunk) { return reader_->next(chunk); }

void Log::for_each_chunk(const std::function<void(const Trajectory&)>& visit) {
  Trajectory chunk(spec().actions.size(), spec().observation_size());
  rewind();
  while (next(chunk)) visit(chunk);
}

LoadedLog read_log(const std::vector<std::string>& files, const LogOptions& options) {
  Log log(files, options);
  LoadedLog loaded{log.spec(), log.choice_labels(),
                   Trajectory(log.spec().actions.size(), log.spec().observation_size())};
  loaded.trajectory.reserve(log.rows());
  log.for_each_chunk([&](const Trajectory& chunk) { loaded.trajectory.append(chunk); });
  return loaded;
}

LoadedLog read_log(const std::string& file, const LogOptions& options) {
  return read_log(std::vector<std::string>{file}, options);
}

}  // namespace waggle
