#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/environment.h>
#include <waggle/fit/scaling.h>

namespace waggle {

class Exchange;

/// How a row ends its episode, if it does.
enum class EpisodeEnd : std::uint8_t {
  none,        ///< the next row goes on from here (the last row of a record may be `none` too)
  terminated,  ///< nothing follows: the value after this row is 0; its action was never taken
  truncated,   ///< only the record ends: the value after this row is bootstrapped from x_{k+1}
};

/// What happened: rows (r_k, a_k, o_k) of one or many episodes, in order.
///
/// Row k holds what the agent saw, (r_k, o_k), and the action it then chose. The row after an
/// episode's end starts a new episode, from a fresh reservoir state.
class Trajectory {
 public:
  /// Sizes of one action and of one observation (which may be 0).
  Trajectory(Eigen::Index action_size, Eigen::Index observation_size);

  /// Throws Error, naming the row, if sizes differ or a number is not finite or beyond ±1e100,
  /// where squares begin to overflow.
  void append(double reward, const Eigen::Ref<const Eigen::VectorXd>& action,
              const Eigen::Ref<const Eigen::VectorXd>& observation,
              EpisodeEnd end = EpisodeEnd::none);
  /// Appends all rows of another trajectory of the same sizes.
  void append(const Trajectory& other);
  /// Appends `count` of its rows, from `first` on.
  void append(const Trajectory& other, Eigen::Index first, Eigen::Index count);
  /// Marks the last row as the end of its episode.
  void end_episode(EpisodeEnd end);
  /// Removes all rows; their memory is kept for new ones.
  void clear();
  /// Makes room for this many rows in all.
  void reserve(Eigen::Index rows);

  Eigen::Index steps() const { return static_cast<Eigen::Index>(rewards_.size()); }
  Eigen::Index action_size() const { return action_size_; }
  Eigen::Index observation_size() const { return observation_size_; }
  Eigen::Index episodes() const;

  Eigen::Map<const Eigen::VectorXd> rewards() const;       ///< size steps
  Eigen::Map<const Eigen::MatrixXd> actions() const;       ///< action_size × steps
  Eigen::Map<const Eigen::MatrixXd> observations() const;  ///< observation_size × steps
  EpisodeEnd end(Eigen::Index k) const { return ends_[static_cast<std::size_t>(k)]; }

 private:
  Eigen::Index action_size_;
  Eigen::Index observation_size_;
  std::vector<double> rewards_;
  std::vector<double> actions_;
  std::vector<double> observations_;
  std::vector<EpisodeEnd> ends_;
};

/// A trajectory too long to hold, as consecutive chunks, from the first row as often as wanted. An
/// episode may go on from one chunk to the next.
class TrajectorySource {
 public:
  virtual ~TrajectorySource() = default;
  /// Back to before the first row.
  virtual void rewind() = 0;
  /// Replaces `chunk`, sizes and all, by the next rows, at least one; false, with an empty chunk,
  /// after the last.
  virtual bool next(Trajectory& chunk) = 0;
  /// Whether the rows are cut out of a process that was running before them, so that the first of
  /// them begin no episode. Not known: it is so if no row ends an episode.
  virtual std::optional<bool> cut_out() const { return std::nullopt; }
  /// Where other processes have other rows of the same record: who adds them all up. Null: all rows
  /// are here.
  virtual Exchange* exchange() const { return nullptr; }
};

/// The first rows of a source, so many at most; none if it is empty.
Trajectory first_rows(TrajectorySource& source, Eigen::Index most);

/// A trajectory in memory as a source. It must outlive this.
class TrajectoryChunks final : public TrajectorySource {
 public:
  /// Throws Error unless chunk_rows ≥ 1.
  explicit TrajectoryChunks(const Trajectory& trajectory, Eigen::Index chunk_rows = 4096,
                            std::optional<bool> cut_out = std::nullopt,
                            Exchange* exchange = nullptr);

  void rewind() override { row_ = 0; }
  bool next(Trajectory& chunk) override;
  std::optional<bool> cut_out() const override { return cut_out_; }
  Exchange* exchange() const override { return exchange_; }

 private:
  const Trajectory* trajectory_;
  Eigen::Index chunk_rows_;
  std::optional<bool> cut_out_;
  Exchange* exchange_;
  Eigen::Index row_ = 0;
};

/// Rows to walk along, wherever they are: of a source, or of a trajectory in memory. Either must
/// outlive it.
class Experience {
 public:
  Experience(TrajectorySource& source) : source_(&source) {}
  Experience(const Trajectory& trajectory) : chunks_(trajectory), source_(&*chunks_) {}
  Experience(const Experience&) = delete;
  Experience& operator=(const Experience&) = delete;

  TrajectorySource& source() const { return *source_; }

 private:
  std::optional<TrajectoryChunks> chunks_;
  TrajectorySource* source_;
};

/// Which numbers of (r_k, a_k, o_k) are the reservoir's input z_k, in this order: the reward if it
/// is an input, the action (one-hot if discrete), the observation.
struct InputLayout {
  bool reward = true;
  Eigen::Index action_size = 1;  ///< numbers in an action
  int choices = 0;               ///< > 0: the action is a whole number below, one-hot here
  Eigen::Index observation_size = 0;

  static InputLayout of(const EnvironmentSpec& spec);

  /// d, the number of channels.
  Eigen::Index size() const { return action_offset() + action_channels() + observation_size; }
  Eigen::Index action_offset() const { return reward ? 1 : 0; }
  Eigen::Index action_channels() const { return choices > 0 ? choices : action_size; }

  /// z = (r, a, o). Sizes must fit; z has size().
  void write(double reward_value, const Eigen::Ref<const Eigen::VectorXd>& action,
             const Eigen::Ref<const Eigen::VectorXd>& observation,
             Eigen::Ref<Eigen::VectorXd> z) const;
};

/// Throws Error unless the trajectory is not empty, has the layout's sizes and, if the actions are
/// discrete, only whole numbers among the choices.
void require_fit(const InputLayout& layout, const Trajectory& trajectory);

/// What each channel did: the reward, every number of an action, every observation, in this order.
/// Actions that were never taken are left out.
struct ChannelRanges {
  Eigen::VectorXd minimum;
  Eigen::VectorXd maximum;
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;  ///< standard deviation
};

/// What can be said of an experience after one pass.
struct ExperienceSummary {
  Eigen::Index rows = 0;
  Eigen::Index episodes = 0;
  Eigen::Index terminated = 0;  ///< rows that terminated one
  bool cut_out = false;         ///< as TrajectorySource::cut_out
  ChannelRanges ranges;
};

// Everything below reads the rows from the first on, in memory that does not grow with them, and
// throws Error if there are none or they do not fit.

/// Throws Error, too, if the largest reward is so small or large that its square is nothing.
ExperienceSummary summarise(const Experience& rows);

/// Mean and standard deviation of every input channel, terminated rows apart (their action was
/// never taken). A channel that never changes gets spread 1, since there is nothing to scale it by.
InputScaling measure_inputs(const InputLayout& layout, const Experience& rows);

/// ProcedureOne::input_bound: the largest norm of T₀+1 consecutive inputs of one episode, each
/// scaled.
double measure_input_bound(const InputLayout& layout, const Experience& rows,
                           const InputScaling& scaling, Eigen::Index delay);

}  // namespace waggle
