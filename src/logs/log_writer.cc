#include <unordered_set>
#include <utility>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/text.h>
#include <waggle/log.h>

#include "core/check.h"
#include "core/number_text.h"
#include "logs/csv.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr std::size_t kWriteBuffer = std::size_t{1} << 16;

}  // namespace

class LogWriter::File {
 public:
  File(const std::filesystem::path& path, const EnvironmentSpec& spec, bool episodes,
       const std::vector<std::string>& labels)
      : file_(path),
        spec_(spec),
        episodes_(episodes),
        labels_(labels.empty() ? spec.choice_names : labels) {
    spec_.actions.validate();
    require(static_cast<Index>(spec.action_names.size()) == spec.actions.size(),
            "{} action names for actions of size {}", spec.action_names.size(),
            spec.actions.size());
    require(labels_.empty() || static_cast<int>(labels_.size()) == spec.actions.choices,
            "{} labels for {} choices", labels_.size(), spec.actions.choices);
    std::vector<std::string> names = spec.observation_names;
    names.push_back(spec.reward_name);
    names.insert(names.end(), spec.action_names.begin(), spec.action_names.end());
    if (episodes_) {
      names.insert(names.begin(), "episode");
      names.insert(names.end(), {"terminated", "truncated"});
    }
    std::unordered_set<std::string> seen;
    for (const std::string& name : names) {
      require(!name.empty() && seen.insert(name).second,
              "'{}': the column name {} is empty or used twice", path.string(), shown(name));
      if (seen.size() > 1) buffer_ += ',';
      buffer_ += csv_cell(name);
    }
    buffer_ += '\n';
  }

  void write(const Trajectory& chunk) {
    require(chunk.action_size() == spec_.actions.size() &&
                chunk.observation_size() == spec_.observation_size(),
            "cannot write actions of size {} and observations of size {} to a log of {} and {}",
            chunk.action_size(), chunk.observation_size(), spec_.actions.size(),
            spec_.observation_size());
    for (Index k = 0; k < chunk.steps(); ++k) {
      write_row(chunk, k);
      ++row_;
      if (buffer_.size() >= kWriteBuffer) flush();
    }
  }

  void finish() {
    flush();
    file_.commit();
  }

 private:
  void write_row(const Trajectory& chunk, Index k) {
    const EpisodeEnd end = chunk.end(k);
    require(episodes_ || end == EpisodeEnd::none,
            "log row {}: an episode ends, but the log is without episodes", row_);
    if (episodes_) buffer_ += fmt::format("{},", episode_);
    for (Index i = 0; i < chunk.observation_size(); ++i) {
      append_number(chunk.observations()(i, k), buffer_);
      buffer_ += ',';
    }
    append_number(chunk.rewards()[k], buffer_);
    for (Index i = 0; i < chunk.action_size(); ++i) {
      buffer_ += ',';
      append_action(chunk.actions()(i, k));
    }
    if (episodes_) {
      buffer_ += end == EpisodeEnd::terminated  ? ",1,0"
                 : end == EpisodeEnd::truncated ? ",0,1"
                                                : ",0,0";
      if (end != EpisodeEnd::none) ++episode_;
    }
    buffer_ += '\n';
  }

  void append_action(double action) {
    if (spec_.actions.is_discrete()) {
      const double choice = action;
      require(choice >= 0.0 && choice < spec_.actions.choices &&
                  choice == static_cast<double>(static_cast<int>(choice)),
              "log row {}: action = {}, must be a whole number from 0 to {}", row_, choice,
              spec_.actions.choices - 1);
    }
    if (labels_.empty()) {
      append_number(action, buffer_);
    } else {
      buffer_ += csv_cell(labels_[static_cast<std::size_t>(action)]);
    }
  }

  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  AtomicFile file_;
  EnvironmentSpec spec_;
  bool episodes_;
  std::vector<std::string> labels_;
  std::string buffer_;
  Index row_ = 0;
  Index episode_ = 0;
};

LogWriter::LogWriter(const std::filesystem::path& path, const EnvironmentSpec& spec, bool episodes,
                     const std::vector<std::string>& labels)
    : file_(std::make_unique<File>(path, spec, episodes, labels)) {}
LogWriter::~LogWriter() = default;
LogWriter::LogWriter(LogWriter&&) noexcept = default;
LogWriter& LogWriter::operator=(LogWriter&&) noexcept = default;

void LogWriter::write(const Trajectory& chunk) {
  require(file_ != nullptr, "the log is finished: no more can be written");
  file_->write(chunk);
}

void LogWriter::finish() {
  require(file_ != nullptr, "the log is finished already");
  file_->finish();
  file_.reset();
}

void write_log(const std::filesystem::path& path, const EnvironmentSpec& spec,
               const Trajectory& trajectory, const std::vector<std::string>& labels) {
  bool episodes = false;
  for (Index k = 0; k < trajectory.steps(); ++k) {
    episodes = episodes || trajectory.end(k) != EpisodeEnd::none;
  }
  LogWriter writer(path, spec, episodes, labels);
  writer.write(trajectory);
  writer.finish();
}

}  // namespace waggle
