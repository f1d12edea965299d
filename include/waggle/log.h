#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/env/series.h>
#include <waggle/environment.h>
#include <waggle/trajectory.h>

namespace waggle {

struct Model;

/// What a log's columns mean.
///
/// Row k of a log is one step: the reward r_k and the observations o_k seen, and the action a_k
/// then chosen (see Trajectory).
struct LogOptions {
  std::string reward = "reward";
  /// The reward of an action, and whether the process ended with it, stand in the action's own row,
  /// as reinforcement learning often writes it: r_k is that of a_k. They are moved to the next row
  /// of the episode; after a terminated one, a row is added for them, with the observations held.
  /// The last reward of an episode that is not terminated is left out: what was seen with it is not
  /// in the log. The first reward of an episode is 0, that of a record that is cut out of a process
  /// the row's own.
  bool reward_next = false;
  /// A name that is no column but has name_0, name_1, … stands for all of these.
  std::vector<std::string> actions = {"action"};
  /// Not given: every column that is nothing else. A column of texts, at most 64 different ones, is
  /// read as one channel for each: column=label, which is 1 or 0. Named one by one, these are the
  /// labels that there are.
  std::optional<std::vector<std::string>> observations = std::nullopt;
  /// Those of them whose numbers are labels, too.
  std::vector<std::string> labelled = {};
  /// Columns to leave out, as if the files did not have them; name_0, name_1, … by their name.
  std::vector<std::string> ignore = {};

  /// What to make of observations that are missing: an empty cell, NaN, NA or null.
  enum class Missing : std::uint8_t {
    refuse,
    /// The last value seen in the episode goes on, at its first row the mean of the column; and one
    /// more channel for each such column, column=missing, is 1 where it was missing. Missing among
    /// labels is a label: column=missing. If observations named are column=missing, these are all.
    hold,
  };
  Missing missing = Missing::refuse;

  /// Optional columns, unless they are given names of their own. A new episode starts where
  /// `episode` changes, after a row that is `terminated` or `truncated` (1 or true), and with every
  /// file. Empty: not looked for. Where the last two have their first names and are not there,
  /// `terminals` or `terminations`, and `timeouts` or `truncations`, are taken for them.
  std::string episode = "episode";
  std::string terminated = "terminated";
  std::string truncated = "truncated";
  /// When a row was written: numbers, or dates and times as 2024-03-31T12:00:00.5+01:00 (ISO 8601),
  /// all growing from row to row of an episode. A step of more than 1.5 times the median one is a
  /// gap, and what follows it a new record, cut out of the process. Empty: there is no such column.
  std::string time = {};

  /// Whether the reward is one of the reservoir's inputs.
  bool reward_is_input = true;

  /// A single action that is text, or a whole number in all rows with at most 64 different ones, is
  /// a choice; any other is a point in a box.
  enum class ActionKind : std::uint8_t { automatic, discrete, continuous };
  ActionKind action_kind = ActionKind::automatic;
  /// The choices in their order, as labels or numbers; implies discrete. Empty: those in the log,
  /// in ascending order.
  std::vector<std::string> choices = {};
  /// Bounds of the continuous actions, one for all or one for each; may be infinite. Empty: the
  /// least and the greatest in the log.
  std::vector<double> lower = {};
  std::vector<double> upper = {};

  /// What the program that reads it asks of a log, whatever its columns mean.
  struct Needs {
    Eigen::Index minimum_rows = 1;  ///< fewer are refused
    /// Refuse a reward that is the same in all rows (unless episodes terminate): nothing can be
    /// learnt from it. Not for logs that are only to be compared with.
    bool reward_must_vary = true;
    Eigen::Index chunk_rows = 4096;  ///< rows read at a time, fewer if they are very wide
  };
  Needs needs = {};

  /// Throws Error, naming the option: names that are empty or used twice, bounds that do not fit.
  void validate() const;

  /// The options that read a log of this environment, as write_log writes it, with the spec's own
  /// bounds and choices. `labels`, if not empty, are those of the discrete actions, rather than the
  /// spec's choice_names.
  static LogOptions of(const EnvironmentSpec& spec, const std::vector<std::string>& labels = {});
  /// The options that read a log as a model needs it: its columns, its choices, any bounds, since
  /// what another policy did may lie outside what this one was learnt from.
  static LogOptions of(const Model& model);
};

template <>
struct Names<LogOptions::Missing> {
  static constexpr NameTable<LogOptions::Missing, 2> all{
      {{"refuse", LogOptions::Missing::refuse}, {"hold", LogOptions::Missing::hold}}};
};

template <>
struct Names<LogOptions::ActionKind> {
  static constexpr NameTable<LogOptions::ActionKind, 3> all{
      {{"automatic", LogOptions::ActionKind::automatic},
       {"discrete", LogOptions::ActionKind::discrete},
       {"continuous", LogOptions::ActionKind::continuous}}};
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, LogOptions& o) {
  v("reward", o.reward, "column of the reward");
  v("reward_next", o.reward_next,
    "the reward of an action, and whether it ended the process, stand in the action's own row, not "
    "in the next one");
  v("actions", o.actions, "column of the action, or several");
  v("observations", o.observations, "columns observed; not given: all that are nothing else");
  v("labelled", o.labelled, "columns observed whose numbers are labels; text always is");
  v("ignore", o.ignore, "columns to leave out");
  v("missing", o.missing,
    "what to make of observations that are missing: refuse, or hold the last value and observe "
    "that it is missing");
  v("episode", o.episode, "column whose change starts an episode");
  v("terminated", o.terminated, "column of rows that end the process; 'terminals' will do, too");
  v("truncated", o.truncated, "column of rows that end the record; 'timeouts' will do, too");
  v("time", o.time,
    "column of times, as numbers or as 2024-03-31T12:00:00Z, which is no observation; a gap in it "
    "starts a record by itself");
  v("reward_is_input", o.reward_is_input, "whether the controller sees the reward while it acts");
  v("action_kind", o.action_kind, "whether the action is a choice or a quantity");
  v("choices", o.choices,
    "the choices of a discrete action in their order; not given: those of the log");
  v("lower", o.lower,
    "bounds of continuous actions, one for all or one for each; not given: those of the log");
  v("upper", o.upper, "the upper bounds, likewise");
}

/// A column of a log that is in memory already: numbers, which are not copied and must outlive the
/// log, or texts.
struct LogColumn {
  std::string name;
  Eigen::Map<const Eigen::VectorXd, Eigen::Unaligned, Eigen::InnerStride<>> numbers = {
      nullptr, 0, Eigen::InnerStride<>(1)};
  std::vector<std::string> texts = {};  ///< if not empty, the column is these

  Eigen::Index rows() const { return texts.empty() ? numbers.size() : std::ssize(texts); }
};

/// A log in one or several files, of any size: opened, checked in one pass, then read as often as
/// wanted as chunks of a trajectory, in memory that does not grow with CSV files.
///
/// Files are CSV (.csv; separated by commas, semicolons or tabs) or NumPy (.npy, .npz; arrays that
/// are used are read into memory); "-" is CSV from the standard input, kept in a temporary file.
/// The action in a terminated row was never taken, unless reward_next: it may be missing, is not
/// held against any bound, and is 0 if it is not to be understood.
///
/// Throws Error, naming file, row and column, if a file cannot be read or is malformed, a column is
/// missing (naming the nearest), a cell is not a finite number within ±1e100, times do not grow,
/// actions mix numbers and text or are outside the bounds or choices given, the action or the
/// reward never changes, rows are too few, or more than 4,096 columns are used.
class Log final : public TrajectorySource {
 public:
  /// Paths or patterns (*, ?, [ ]), whose files follow in alphabetical order.
  explicit Log(const std::vector<std::string>& files, const LogOptions& options = {});
  explicit Log(const std::string& file, const LogOptions& options = {});
  /// A table in memory; `name` stands for it in messages. A number that is NaN is a missing one.
  /// Throws as for files, and if the columns differ in length.
  Log(std::vector<LogColumn> columns, const std::string& name, const LogOptions& options = {});
  ~Log() override;
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;

  /// Names, bounds or choices; the name is that of the first file.
  const EnvironmentSpec& spec() const;
  /// What each choice is called in the log; empty if actions are continuous.
  const std::vector<std::string>& choice_labels() const;
  const std::vector<std::filesystem::path>& files() const;
  Eigen::Index rows() const;
  Eigen::Index episodes() const;
  /// What a person should know of how the log was read and what is odd about it: separators and
  /// columns that were found out; observations that never change, are the same as another, or the
  /// action or the reward that follows; a clock among them; rewards that seem to stand in the row
  /// of their own action.
  const std::vector<std::string>& notes() const;

  void rewind() override;
  /// Throws Error if the files have changed since they were checked.
  bool next(Trajectory& chunk) override;
  /// Whether no column says where episodes begin or end, or more of them begin after a gap in time
  /// than otherwise.
  std::optional<bool> cut_out() const override;
  /// All chunks from the start.
  void for_each_chunk(const std::function<void(const Trajectory&)>& visit);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

/// A log that fits in memory, whole.
struct LoadedLog {
  EnvironmentSpec spec;
  std::vector<std::string> choice_labels;
  Trajectory trajectory;
};
LoadedLog read_log(const std::vector<std::string>& files, const LogOptions& options = {});
LoadedLog read_log(const std::string& file, const LogOptions& options = {});

/// Writes a log as CSV, chunk by chunk: episode, the observations, the reward, the actions,
/// terminated, truncated; every number in the shortest form that reads back as the same bits.
///
/// The file appears whole with finish(), or not at all. Throws Error if names in the spec are empty
/// or clash, or a chunk does not fit it; std::runtime_error if the disk is full.
class LogWriter {
 public:
  /// `labels`, if not empty, name the choices, else the spec's choice_names do. Without `episodes`
  /// the three columns about these are left out, and a row that ends one is refused.
  LogWriter(const std::filesystem::path& path, const EnvironmentSpec& spec, bool episodes = true,
            const std::vector<std::string>& labels = {});
  ~LogWriter();
  LogWriter(LogWriter&&) noexcept;
  LogWriter& operator=(LogWriter&&) noexcept;

  void write(const Trajectory& chunk);
  void finish();

 private:
  class File;
  std::unique_ptr<File> file_;
};

/// A whole trajectory; the columns about episodes only if it has any that end. Read with
/// LogOptions::of(spec, labels), it is the same bit for bit.
void write_log(const std::filesystem::path& path, const EnvironmentSpec& spec,
               const Trajectory& trajectory, const std::vector<std::string>& labels = {});

/// Reads the named columns of a CSV or NumPy file; other columns may hold anything. Throws Error if
/// the file cannot be read, has no such column (naming the nearest ones) or no rows, or a cell
/// asked for is no finite number, naming its row and column.
Series read_series(const std::filesystem::path& path, const std::vector<std::string>& names);

}  // namespace waggle
