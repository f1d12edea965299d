#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include <waggle/learner.h>
#include <waggle/log.h>
#include <waggle/model.h>
#include <waggle/policy_iteration.h>
#include <waggle/predictive.h>
#include <waggle/temporal_difference.h>

/// One fit of a log that is in parts, by as many processes or machines as there are.
///
///     plan        what a fit takes from all of the data, found in one pass and then fixed
///     statistics  of every part, by whoever has it: sums, of a size that does not grow with rows
///     merge       adds them, in any order of arrival, in the plan's order: the same bits
///     solve       weights, as learn_from_log finds them in the whole
///
/// Learning takes rounds of statistics → merge → solve: what is solved goes out, sums come back. A
/// value on the memory itself by LSTD (the preset direct) takes one for every sweep of policy
/// iteration; predictive states take one for each of their solves, however many fits are averaged.
namespace waggle {

/// Sums over rows of what some channels did; they add up.
struct ChannelSums {
  double count = 0.0;
  std::vector<double> mean;
  /// u, powers of two by how far the numbers are apart, so that squares neither vanish nor
  /// overflow.
  std::vector<double> unit;
  std::vector<double> squares;  ///< Σ ((z − mean) / u)²
  std::vector<double> minimum, maximum;

  /// Throws Error, by its name, unless all of it is of as many channels, and finite.
  void validate(const char* name) const;
  /// A column for every row.
  void add(const Eigen::Ref<const Eigen::MatrixXd>& columns);
  void merge(const ChannelSums& other);
};

/// What a plan has to know of a part, or of many.
struct ShardMeasure {
  Eigen::Index rows = 0;
  Eigen::Index counted = 0;  ///< of these, left after the washout
  Eigen::Index episodes = 0;
  Eigen::Index terminated = 0;
  ChannelSums percepts;   ///< reward and observations
  ChannelSums actions;    ///< of rows that did not terminate, as are
  ChannelSums inputs;     ///< the reservoir's
  Eigen::Index lead = 0;  ///< rows of the part before that it was driven through
  // Where the episode is that its last row is of, for parts that go on.
  bool began = false;           ///< whether one began or ended here
  Eigen::Index open = 0;        ///< rows of it here; 0: the last row ended it
  std::vector<double> opening;  ///< reward and observations of its first row, if it is here

  /// Throws Error where a field is out of its range.
  void validate() const;
  void merge(const ShardMeasure& other);
};

/// Everything that is fixed before any part is fitted.
struct ShardPlan {
  std::string waggle_version;
  std::vector<std::string> parts;  ///< the names of all, in the order in which they are added up
  /// Rows of each part that are fitted; empty if the plan was made of a sample. Known, a row is in
  /// the same fold as in a fit of the whole; else, folds are counted from the first row of a part.
  std::vector<Eigen::Index> counted;
  std::vector<Eigen::Index> rows;  ///< of each part, or as many as one of the sample has on average
  /// Parts go on where the ones before ended, and begin with so many of their last rows, which are
  /// driven through and not counted; 0: every part begins an episode.
  Eigen::Index overlap = 0;
  /// If they do, of predictive states: how many rows into an episode each part begins, and the
  /// reward and observations that the episode began with, of all parts one after the other.
  std::vector<Eigen::Index> in_episode;
  std::vector<double> openings;
  Eigen::Index block = 256;  ///< rows that are in one fold
  LogOptions reading;        ///< of every part
  bool cut_out = false;      ///< as TrajectorySource::cut_out
  FitOptions fit;            ///< with what learn_from_log would find out filled in
  EnvironmentSpec environment;
  std::vector<double> lower, upper;  ///< between which a continuous action is looked for
  std::vector<double> input_mean, input_spread;
  RewardScale rewards;
  ShardMeasure measured;  ///< of all parts, or of the sample

  /// Throws Error where something does not fit.
  void validate() const;
  /// The place of a part, by its name, or by that of its file if no other has the same. Throws
  /// Error, naming the nearest.
  Eigen::Index index_of(const std::string& part) const;
  /// 16 digits that differ if anything in the plan does.
  std::string fingerprint() const;
};

/// How parts are cut.
struct ShardCuts {
  std::vector<std::string> parts;  ///< their names, in order
  bool continued = false;          ///< they go on where the ones before ended
  /// As ShardPlan::overlap, if they do; not given: until the memory has forgotten to 1e-12 where it
  /// started.
  std::optional<Eigen::Index> overlap = std::nullopt;
};

/// Throws Error for options that parts cannot be fitted by, naming what to use; as begin_plan does,
/// but before there is any work.
void require_summable(const LogOptions& reading, const FitOptions& fit, const ShardCuts& cuts);

/// Begins a plan: what columns, choices and bounds there are is taken from `log`, which is all
/// parts or some. Throws as require_summable.
ShardPlan begin_plan(const Log& log, const LogOptions& reading, const FitOptions& fit,
                     const ShardCuts& cuts);
/// Rows that the memory is chosen by, at most.
constexpr Eigen::Index kFirstRows = 30'000;

/// The first rows of a log in parts.
class FirstRows {
 public:
  explicit FirstRows(const ShardPlan& plan);
  /// Whether there is room for rows of one more part.
  bool wants_more() const;
  /// The parts in order, each with the rows of its own alone.
  void add(TrajectorySource& part);
  const Trajectory& rows() const { return rows_; }

 private:
  bool continued_;
  Trajectory rows_;
};

/// Where a plan that is begun is for predictive states: what the memory is to hold, chosen as
/// learn_from_log does, by the first rows. `fit` is what the plan was begun with.
void choose_for_plan(ShardPlan& plan, const FitOptions& fit, const FirstRows& first,
                     const LearnWith& with = {});

/// The rows of a part, but for the first `lead`, which are of the part before.
ShardMeasure measure_part(const ShardPlan& plan, TrajectorySource& rows, Eigen::Index lead = 0);
/// Ends a plan. `parts` are of all parts in order, or of some, then `sampled`.
void finish_plan(ShardPlan& plan, const std::vector<ShardMeasure>& parts, bool sampled = false);

/// About what the statistics of a part take as a file: of the first round, or of the largest of the
/// others. Of predictive states that is the one with the second layers of all fits. The plan must
/// be finished.
std::size_t statistics_bytes(const ShardPlan& plan, bool first);

/// What has been solved so far: where the rounds are.
struct ShardFit {
  /// What the next round's statistics are of.
  enum class Stage {
    value,    ///< the policy that made the data
    sweep,    ///< the greedy policy of the last weights
    predict,  ///< what the memory predicts
    action,   ///< whether that depends on the action
    layer,    ///< what features of the predictions predict beside them
    follow,   ///< what follows what
    reward,   ///< what is rewarded, beyond what a state tells
    recall,   ///< what follows what again, with the rewards to expect
    judge,    ///< how sure the last weights are, and the baseline
    done,
  };

  Stage stage = Stage::value;
  Eigen::MatrixXd weights;  ///< after each solve, a column each
  FitDiagnostics diagnostics;
  bool singular = false;
  Eigen::VectorXd state;
  std::vector<PolicyIterationSweep> sweeps;
  PolicyIterationEnd end = PolicyIterationEnd::stopped;
  std::vector<std::string> warnings;
  Eigen::MatrixXd deviation_factor;

  // Of predictive states, as far as they are fitted; of the round `action`, the two that are tried.
  std::vector<PredictiveHead> heads;
  bool by_action = false;
  /// What functions of a head's after-state tell of the reward (RewardByState).
  std::vector<double> reward_mean, reward_total, reward_error;
  std::vector<Eigen::VectorXd> reward_weights;
  PredictionQuality predictions;
  int searches = 0;  ///< for the best actions, in the last fit
  std::optional<Baseline> baseline;

  /// Differs from that of any other round of the same plan.
  std::string fingerprint() const;
};

/// Before the first round of a plan.
ShardFit start_of(const ShardPlan& plan);

/// The sums of one part, or of as many consecutive ones as a node of the tree has.
struct ShardSums {
  std::vector<std::vector<TdMoments>> moments;  ///< of each member, of each fold
  double squares = 0.0;                         ///< of Bellman errors
  ValueRange values{std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};  ///< of the rows
  Eigen::VectorXd state;                                        ///< after the last row
  /// By name: other sums, what is largest, and rows that are kept, a column each.
  std::map<std::string, Eigen::MatrixXd> added, largest, listed;

  Eigen::Index rows() const;
  void merge(const ShardSums& next);
};

/// The sums of any parts of a plan. Those of neighbours are added where they are the two halves of
/// a node of the binary tree over all parts, and only there: the bits of a sum do not depend on who
/// added what when.
class ShardStatistics {
 public:
  ShardStatistics(const ShardPlan& plan, const ShardFit& fit);

  /// Throws Error if the part is there already.
  void add(Eigen::Index part, ShardSums sums);
  /// Throws Error if the other is of another plan or round, or a part is in both.
  void merge(ShardStatistics other);

  Eigen::Index parts() const { return parts_; }  ///< of the plan
  Eigen::Index present() const;
  /// The first part that is missing, or −1.
  Eigen::Index missing() const;
  /// The sum over all parts. Throws Error, naming the first, if one is missing.
  const ShardSums& total();

  const std::string& plan() const { return plan_; }    ///< its fingerprint
  const std::string& round() const { return round_; }  ///< that of the weights it started from
  /// By the first part; the number of parts, a power of two but for the sum over all, and the sum.
  struct Node {
    Eigen::Index count = 1;
    ShardSums sums;
  };
  const std::map<Eigen::Index, Node>& nodes() const { return nodes_; }

  /// As a safetensors file. What is symmetric travels as a half; where λ is known already, as it is
  /// from the second round on, only the diagonal of Σ φφᵀ does: 8 n² bytes for every member.
  std::string serialise() const;
  /// Nothing in the bytes is trusted: throws Error, naming `name`, if they are damaged.
  static ShardStatistics parse(std::string_view bytes, const std::string& name);

 private:
  ShardStatistics() = default;
  void insert(Eigen::Index first, Node node);
  void settle();

  std::string plan_, round_;
  Eigen::Index parts_ = 0;
  std::map<Eigen::Index, Node> nodes_;
};

/// The sums of one part for the round that `fit` is at. Throws Error, naming the part, if the rows
/// do not fit the plan, and if there is no round left.
ShardSums sum_part(const ShardPlan& plan, const ShardFit& fit, Eigen::Index part,
                   TrajectorySource& rows, Eigen::Index lead = 0);

/// Solves a round, and says by `stage` what comes next. Throws Error if the statistics are of
/// another plan or round or not complete.
ShardFit solve_round(const ShardPlan& plan, const ShardFit& fit, ShardStatistics& statistics);

/// The controller as it is after the last round that was solved. Throws Error if there was none.
Model model_of(const ShardPlan& plan, const ShardFit& fit);

/// A part's rows, as the plan reads them, of a file that is there.
class ShardLog final : public TrajectorySource {
 public:
  /// `file` is where the part is, `before` the one before it, if the plan's parts overlap and it is
  /// not the first. Throws as Log, naming the file.
  ShardLog(const ShardPlan& plan, const std::string& file, const std::string& before = "");
  /// A table in memory, whose first `lead` rows are of the part before.
  ShardLog(const ShardPlan& plan, std::vector<LogColumn> columns, const std::string& name,
           Eigen::Index lead = 0);

  void rewind() override;
  bool next(Trajectory& chunk) override;
  std::optional<bool> cut_out() const override { return log_.cut_out(); }
  Eigen::Index lead() const { return lead_; }
  const Log& log() const { return log_; }

 private:
  Log log_;
  Eigen::Index skip_ = 0;  // rows that are not even driven through
  Eigen::Index lead_ = 0;
  Eigen::Index skipped_ = 0;
};

/// The plan as JSON, which is what a TOML file of it says too, and back. Throws Error if another
/// version of waggle made it: sums of one are those of no other. One that is not `finished`
/// can be measured by, and no more.
std::string to_json_text(const ShardPlan& plan);
ShardPlan parse_plan(std::string_view json, const std::string& name, bool finished = true);

/// The state of the rounds as a safetensors file, and back. `plan` is the one it must be of.
std::string serialise(const ShardPlan& plan, const ShardFit& fit);
ShardFit parse_fit(std::string_view bytes, const ShardPlan& plan, const std::string& name);

/// Measures of a part as JSON, and back: what a worker sends to whoever makes the plan.
std::string to_json_text(const ShardMeasure& measure);
ShardMeasure parse_measure(std::string_view json, const std::string& name);

}  // namespace waggle
