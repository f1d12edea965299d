#include <algorithm>
#include <memory>
#include <utility>

#include <unistd.h>

#include <waggle/detail/table.h>
#include <waggle/detail/text.h>
#include <waggle/log.h>

#include "core/check.h"
#include "files/input_file.h"
#include "logs/columns_table.h"
#include "logs/csv.h"
#include "logs/log_actions.h"
#include "logs/log_clock.h"
#include "logs/log_columns.h"
#include "logs/log_habits.h"
#include "logs/log_observations.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kChunkNumbers = Index{1} << 20;  // 8 MiB, however wide the rows
const std::filesystem::path kStandardInput = "standard input";

/// The files of a log; "-" is the standard input.
std::vector<std::filesystem::path> find_files(const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> files = expand_patterns(names);
  require(std::count(files.begin(), files.end(), "-") <= 1,
          "the standard input '-' can be read only once");
  std::replace(files.begin(), files.end(), std::filesystem::path("-"), kStandardInput);
  return files;
}

/// Opens files by their names. What comes from the standard input is read once, and kept.
std::function<std::unique_ptr<Table>(const std::filesystem::path&)> file_opener() {
  const auto kept = std::make_shared<std::shared_ptr<const InputFile>>();
  return [kept](const std::filesystem::path& path) {
    if (path != kStandardInput) return open_table(path);
    if (*kept == nullptr) {
      *kept = std::make_shared<const InputFile>(STDIN_FILENO, kStandardInput.string());
    }
    return open_csv(*kept);
  };
}

}  // namespace

/// Reads rows of consecutive files one ahead, since the next row tells whether an episode ended.
class Log::Reader {
  struct Row {
    double reward = 0.0;
    VectorXd action;
    VectorXd observation;
    EpisodeEnd end = EpisodeEnd::none;
    bool starts = false;  // an episode, though the row before may not say that it ended one
    bool begins = false;  // an episode, for whichever reason
    bool cut = false;     // out of a process that was running before it
    bool added = false;   // to hold the last reward of an episode
  };

 public:
  using Open = std::function<std::unique_ptr<Table>(const std::filesystem::path&)>;

  Reader(std::vector<std::filesystem::path> files, Open open_table, const LogOptions& options)
      : options_(options), files_(std::move(files)), open_table_(std::move(open_table)) {
    options.validate();
    table_path_ = files_[0];
    table_ = open_table_(table_path_);
    names_ = find_names(options_, table_->columns());
    notes_ = names_.notes;
    actions_.emplace(options_, names_.actions);
    observations_.emplace(options_, names_);
    if (!options_.time.empty()) read_clock();
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
      start(Pass::reading);
      has_ahead_ = fetch();
      started_ = true;
    }
    const Index width = 1 + action_size + observation_size;
    const Index rows =
        std::min(options_.needs.chunk_rows, std::max<Index>(1, kChunkNumbers / width));
    while (has_ahead_ && chunk.steps() < rows) {
      std::swap(row_, ahead_);
      has_ahead_ = fetch();
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

  /// Whether more episodes begin in the middle of a process than at its beginning.
  bool cut_out() const { return !columns_.says_episodes() || 2 * gaps_ > episodes_; }

  /// What the files are read for: the times alone; what there is in them; the rows.
  enum class Pass : std::uint8_t { clock, survey, reading };

  void start(Pass pass) {
    pass_ = pass;
    file_ = 0;
    passed_ = 0;
    ended_ = true;
    owed_ = false;
    clock_.rewind();
    open();
  }

  void open() {
    if (table_path_ != files_[file_]) table_ = open_table_(files_[file_]);
    table_path_ = files_[file_];
    columns_ = find_columns(options_, names_, table_->columns(), table_path_.string());
    table_->use(pass_ == Pass::clock ? columns_.about_time() : columns_.all());
    rows_in_file_ = 0;
    for (Row* row : {&row_, &ahead_}) {
      row->action.resize(std::ssize(columns_.actions));
      row->observation.resize(std::ssize(observations_->names()));
    }
  }

  /// A pass before the first, if there are times: what step is usual.
  void read_clock() {
    start(Pass::clock);
    while (fetch()) continue;
    clock_.settle();
  }

  /// The first pass: counts, checks every cell, finds the actions' bounds or choices.
  void survey() {
    start(Pass::survey);
    LogHabits habits(names_);
    double first_reward = 0.0;
    bool varies = false, terminates = false;
    while (fetch()) {
      if (rows_ == 0) first_reward = ahead_.reward;
      varies = varies || ahead_.reward != first_reward;
      terminates = terminates || ahead_.end == EpisodeEnd::terminated;
      if (ahead_.begins) ++episodes_;
      ++rows_;
      if (!ahead_.added) habits.add(surveyed_);
    }
    const std::string path = files_[0].string();
    require(rows_ >= options_.needs.minimum_rows, "'{}': the log has {}, at least {} are needed",
            path, counted(rows_, "row"), options_.needs.minimum_rows);
    require(varies || terminates || !options_.needs.reward_must_vary,
            "'{}': the reward {} is {} in every row: there is nothing to learn from it", path,
            shown(options_.reward), first_reward);
    actions_->settle();
    observations_->settle();
    add_notes(table_->notes());
    note_time();
    add_notes(habits.notes());
  }

  void add_notes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
    }
  }

  void note_time() {
    if (gaps_ > 0) {
      notes_.push_back(fmt::format(
          "{} gap{} of more than 1.5 usual steps of {:.6g}{}: what follows one is a record by "
          "itself",
          gaps_, gaps_ == 1 ? "" : "s", clock_.usual_step(), clock_.dates() ? " s" : ""));
    }
    if (lost_ > 0 && columns_.says_episodes()) {
      notes_.push_back(
          fmt::format("the last reward of {} episode{} not terminated is left out: "
                      "what was seen with it is not in the log",
                      lost_, lost_ == 1 ? "" : "s"));
    }
  }

  /// Reads the next row into ahead_, or surveys its actions and observations as long as it is not
  /// settled what they are; false after the last.
  bool fetch() {
    if (owed_) {
      add_row();
      return true;
    }
    while (!next_line()) {
      require(rows_in_file_ > 0, "'{}': the log is empty: it has no rows", table_path_.string());
      if (pass_ == Pass::survey) {
        surveyed_files_.push_back({rows_in_file_, bytes_of(table_path_)});
      }
      if (file_ + 1 == files_.size()) return false;
      if (pass_ == Pass::survey) add_notes(table_->notes());
      ++file_;
      open();
    }
    const Table& table = *table_;
    read_ends(table);
    if (pass_ == Pass::clock) return true;
    ahead_.reward = table.number(columns_.reward);
    const bool acts = ahead_.end != EpisodeEnd::terminated || options_.reward_next;
    if (options_.reward_next) move_reward();
    if (pass_ == Pass::reading) {
      observations_->read(table, columns_.observations, ahead_.begins, ahead_.observation);
      actions_->read(table, columns_.actions, !acts, ahead_.action);
      return true;
    }
    observations_->survey(table, columns_.observations, surveyed_.observations);
    surveyed_.actions.setZero(std::ssize(columns_.actions));
    if (acts) actions_->survey(table, columns_.actions, surveyed_.actions);
    surveyed_.reward = ahead_.reward;
    surveyed_.begins = ahead_.begins;
    surveyed_.acts = acts;
    return true;
  }

  /// The table's next line. A file that is being written to ends where it did when it was surveyed;
  /// what comes then may be half a line.
  bool next_line() {
    if (pass_ != Pass::reading || rows_in_file_ < surveyed_files_[file_].lines) {
      return table_->next();
    }
    if (bytes_of(table_path_) > surveyed_files_[file_].bytes) {
      add_notes({fmt::format("'{}': rows were added while it was read: its first {} are used",
                             table_path_.string(), surveyed_files_[file_].lines)});
    }
    return false;
  }

  /// 0 of what is no file.
  static std::uintmax_t bytes_of(const std::filesystem::path& path) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    return error ? 0 : bytes;
  }

  /// Whether the row begins or ends an episode.
  void read_ends(const Table& table) {
    ahead_.starts = rows_in_file_++ == 0;
    ahead_.added = false;
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
    const bool begins = ahead_.starts || ended_;
    const bool gap = read_time(table, begins);
    ahead_.starts = ahead_.starts || gap;
    ahead_.begins = begins || gap;
    ahead_.cut = gap || !columns_.says_episodes();
    ended_ = ahead_.end != EpisodeEnd::none;
  }

  /// Whether rows are missing before this one.
  bool read_time(const Table& table, bool begins) {
    if (!columns_.time) return false;
    if (pass_ == Pass::clock) {
      clock_.survey(table, *columns_.time, begins);
      return false;
    }
    const bool gap = clock_.gap_before(table, *columns_.time, begins);
    if (gap && pass_ == Pass::survey) ++gaps_;
    return gap;
  }

  /// The reward of the action before comes to this row, its own goes to the next one.
  void move_reward() {
    const double before = std::exchange(earned_, ahead_.reward);
    if (!ahead_.begins) {
      ahead_.reward = before;
    } else {
      if (!ahead_.cut) ahead_.reward = 0.0;
      if (pass_ == Pass::survey && rows_ > 0 && !last_terminated_ && before != 0.0) ++lost_;
    }
    last_terminated_ = owed_ = ahead_.end == EpisodeEnd::terminated;
    if (owed_) ahead_.end = EpisodeEnd::none;
  }

  /// The row for the reward of an action that ended the process, with what was seen last.
  void add_row() {
    owed_ = false;
    ahead_.reward = earned_;
    ahead_.action.setZero();
    ahead_.observation = row_.observation;
    ahead_.end = EpisodeEnd::terminated;
    ahead_.starts = ahead_.begins = false;
    ahead_.added = true;
  }

  EnvironmentSpec spec_;
  LogOptions options_;
  std::vector<std::filesystem::path> files_;
  Open open_table_;
  LogNames names_;
  std::optional<LogActions> actions_;
  std::optional<LogObservations> observations_;
  std::vector<std::string> notes_;
  Index rows_ = 0;
  struct SurveyedFile {
    Index lines = 0;  // a row added for a last reward is none
    std::uintmax_t bytes = 0;
  };
  std::vector<SurveyedFile> surveyed_files_;
  Index episodes_ = 0;
  Index gaps_ = 0;  // in time
  Index lost_ = 0;  // rewards that no row is there for

  Pass pass_ = Pass::survey;
  std::size_t file_ = 0;
  std::filesystem::path table_path_;
  std::unique_ptr<Table> table_;
  LogColumns columns_;
  LogClock clock_;
  Index rows_in_file_ = 0;
  std::string episode_;
  bool ended_ = true;    // the row before ended an episode, or there is none
  double earned_ = 0.0;  // by the action of the row before
  bool owed_ = false;    // a row for it
  bool last_terminated_ = false;
  Row row_, ahead_;
  SurveyedRow surveyed_;
  bool has_ahead_ = false;
  bool started_ = false;
  Index passed_ = 0;
};

Log::Log(const std::vector<std::string>& files, const LogOptions& options)
    : reader_(std::make_unique<Reader>(find_files(files), file_opener(), options)) {}
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
const std::vector<std::string>& Log::choice_labels() const { return reader_->actions_->labels(); }
const std::vector<std::filesystem::path>& Log::files() const { return reader_->files_; }
Index Log::rows() const { return reader_->rows_; }
Index Log::episodes() const { return reader_->episodes_; }
const std::vector<std::string>& Log::notes() const { return reader_->notes_; }

std::optional<bool> Log::cut_out() const { return reader_->cut_out(); }
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
