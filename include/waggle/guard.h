#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/greedy_policy.h>
#include <waggle/model.h>
#include <waggle/work/adaptation.h>
#include <waggle/work/error_watch.h>

/// A learnt controller at work on a machine: what it reads is kept within what it has learnt from,
/// how unlike that a situation is is told and may hand over to another policy, and its errors
/// are watched.
///
///     percept ──InputGuard──▶ held percept ──▶ controller ──novelty──▶ its action,
///                                                   │                  or the fallback's
///                                                   └────ErrorWatch──▶ alarm
namespace waggle {

struct GuardOptions {
  /// Whether numbers are held; else they are counted all the same, but read as they are.
  bool hold = true;
  /// ≥ 0: how far beyond its range in the experience, in widths of that, a channel is still taken
  /// as it is.
  double margin = 0.1;
  /// ≥ 2: a value that stays the same for so many steps, and for twice as many as it ever did in
  /// the experience, is stuck.
  Eigen::Index stuck_steps = 10;
  /// > 0: the novelty above which the fallback acts, if there is one.
  double novelty_limit = 2.0;
  /// ≥ 1: how many steps, one after the other, novelty has to stay below that limit before the
  /// controller acts again.
  Eigen::Index calm_steps = 10;
  ErrorWatchOptions watch = {};

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, GuardOptions& o) {
  v("hold", o.hold, "hold numbers beyond what was learnt from at its ends, and what is no number");
  v("margin", o.margin,
    "how far beyond what was learnt from, in widths of that, a number is read as it is");
  v("stuck_steps", o.stuck_steps,
    "steps of the same value after which it is stuck, if they are twice as many as ever before");
  v("novelty_limit", o.novelty_limit, "above which the fallback acts");
  v("calm_steps", o.calm_steps, "below it in a row before the controller acts again");
}

/// What can be wrong with a number that is read.
enum class InputFault {
  beyond,   ///< outside the range learnt from: held at its end
  missing,  ///< NaN: the last value is held, or the experience's mean before there was one
  stuck,    ///< the same for longer than it ever was: taken as it is
};
inline constexpr int kInputFaults = 3;

/// Keeps what a controller reads within the range of its experience, so that one wild number of a
/// sensor does not live on in its memory; and counts. Channels are 0, the reward, and 1 + i,
/// observation i; a reward that is no input is not looked at. A channel that never changed in the
/// experience is held at that value, and is never stuck. No allocation in `hold`.
class InputGuard {
 public:
  /// Throws Error for bad options.
  explicit InputGuard(const Model& model, const GuardOptions& options = {});

  /// What came before is neither a value to hold nor one to be stuck at.
  void begin_episode();
  /// Replaces what is not to be read. The observation must have the model's size.
  void hold(Percept& percept);

  Eigen::Index channels() const { return low_.size(); }
  /// Whether the last percept had it.
  bool now(InputFault fault, Eigen::Index channel) const { return now_[at(fault, channel)]; }
  /// Whether a number of the last percept was replaced.
  bool held() const;
  /// Steps that had it. Of `stuck`: how often a channel began to be.
  Eigen::Index count(InputFault fault, Eigen::Index channel) const {
    return counts_[at(fault, channel)];
  }
  /// How many of the last numbers of a channel were the same.
  Eigen::Index run(Eigen::Index channel) const { return run_[static_cast<std::size_t>(channel)]; }
  /// What a channel is held within.
  double low(Eigen::Index channel) const { return low_[channel]; }
  double high(Eigen::Index channel) const { return high_[channel]; }
  /// What is read of it while there was no number yet.
  double mean(Eigen::Index channel) const { return mean_[channel]; }
  /// After how many equal values a channel is stuck; 0: never.
  Eigen::Index stuck_after(Eigen::Index channel) const {
    return stuck_after_[static_cast<std::size_t>(channel)];
  }

 private:
  static std::size_t at(InputFault fault, Eigen::Index channel) {
    return static_cast<std::size_t>(channel * kInputFaults + static_cast<int>(fault));
  }
  double held_value(Eigen::Index channel, double value);
  void note(InputFault fault, Eigen::Index channel, bool there);

  bool reads_reward_;
  bool holds_;
  Eigen::VectorXd low_, high_, mean_;
  std::vector<Eigen::Index> stuck_after_;
  Eigen::VectorXd seen_;   // the last numbers, as they came
  Eigen::VectorXd taken_;  // and as they were read; NaN: none yet
  std::vector<Eigen::Index> run_;
  std::vector<bool> now_;
  std::vector<Eigen::Index> counts_;
};

/// Observations of which the last value is read while they are missing, or the experience's mean
/// where an episode begins without one. They are those that have another one beside them, called
/// NAME=missing, which is then 1: LogOptions::Missing::hold makes them of a log.
class MissingObservations {
 public:
  explicit MissingObservations(const Model& model);

  /// How many observations may be missing.
  Eigen::Index size() const { return static_cast<Eigen::Index>(pairs_.size()); }
  /// The one that says that observation i is missing; −1 if that must not be.
  Eigen::Index flag(Eigen::Index i) const { return flags_[static_cast<std::size_t>(i)]; }

  /// What is held when an episode begins, a number for each that may be missing.
  const Eigen::VectorXd& means() const { return means_; }
  /// NaN in an observation that may be missing becomes what is held of it, and its flag 1.
  void fill(Eigen::Ref<Eigen::VectorXd> observation,
            const Eigen::Ref<const Eigen::VectorXd>& held) const;
  /// What is to be held from now on, of an observation that was filled in.
  void keep(const Eigen::Ref<const Eigen::VectorXd>& observation,
            Eigen::Ref<Eigen::VectorXd> held) const;

 private:
  struct Pair {
    Eigen::Index observation, flag;
  };
  std::vector<Pair> pairs_;
  std::vector<Eigen::Index> flags_;  // of each observation
  Eigen::VectorXd means_;
};

/// Repeats the last action that was applied; before there is one, it leaves the action as it is.
class HoldPolicy final : public Policy {
 public:
  void begin_episode() override { last_.resize(0); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;
  void applied(const Eigen::Ref<const Eigen::VectorXd>& action) override { last_ = action; }

 private:
  Eigen::VectorXd last_;
};

/// Always the same action.
class ConstantPolicy final : public Policy {
 public:
  explicit ConstantPolicy(Eigen::VectorXd action) : action_(std::move(action)) {}
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

 private:
  Eigen::VectorXd action_;
};

/// What acts in the controller's place where a guard says so.
enum class Fallback {
  none,  ///< nothing: the controller always acts
  hold,  ///< the last action that was applied, again (HoldPolicy)
  zero,  ///< 0
};
template <>
struct Names<Fallback> {
  static constexpr NameTable<Fallback, 3> all{
      {{"none", Fallback::none}, {"hold", Fallback::hold}, {"zero", Fallback::zero}}};
};

/// What stands against a fallback for such actions, as half a sentence; empty if nothing does.
std::string fault_in(Fallback fallback, const ActionSpace& actions);
/// The policy, or null for none. Throws Error for one that the actions do not allow.
std::unique_ptr<Policy> make_fallback(Fallback fallback, const ActionSpace& actions);

/// A model's greedy policy between an InputGuard and what else there is to do where the experience
/// says little.
///
/// Where the novelty of what the controller decided for exceeds the limit, the fallback's action is
/// taken instead, until the novelty has stayed below for `calm_steps`. Either way both see every
/// step and are told what was done, so each goes on from what really happened.
///
/// With options for it, the controller goes on learning (adaptation.h), but for steps in which a
/// number was held or stuck, and the next one, and those in which the fallback acted. The watch
/// then looks at the errors of the value as it was at the start.
class GuardedPolicy final : public Policy {
 public:
  /// The model must outlive it. Throws Error for bad options, and for a fallback where the model
  /// has no baseline.
  explicit GuardedPolicy(const Model& model, const GuardOptions& options = {},
                         Start start = Start::fresh, std::unique_ptr<Policy> fallback = nullptr,
                         const std::optional<AdaptationOptions>& learning = std::nullopt);

  void begin_episode() override;
  /// Throws Error as GreedyPolicy::act, and is then as before. A number that is NaN or beyond its
  /// range is no error. A reward that is no input counts for the watch alone; NaN if not known.
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;
  void applied(const Eigen::Ref<const Eigen::VectorXd>& action) override;
  void end_episode(const Percept& percept) override;

  const InputGuard& inputs() const { return inputs_; }
  /// As the controller's: value and memory go with what was done.
  double value() const { return policy_.value(); }
  const Eigen::VectorXd& state() const { return policy_.state(); }
  /// GreedyPolicy::features.
  const Eigen::VectorXd& features() const { return policy_.features(); }
  /// Of what the controller decided for in the last step; none if the model does not know.
  std::optional<double> novelty() const { return novelty_; }
  /// Whether the last action was the fallback's.
  bool fell_back() const { return falling_back_; }
  Eigen::Index take_overs() const { return take_overs_; }          ///< how often it began to act
  Eigen::Index fallback_steps() const { return fallback_steps_; }  ///< in how many steps it did
  const ErrorWatch& watch() const { return watch_; }
  /// The step, counted from 1, with which the alarm began that is on.
  std::optional<Eigen::Index> alarm() const { return alarm_; }
  bool knows_novelty() const { return model_.baseline.has_value(); }
  const GuardOptions& options() const { return options_; }
  /// What is learnt; null if nothing is to be.
  const Adaptation* adaptation() const { return adaptation_ ? &*adaptation_ : nullptr; }
  /// Whether the last action was that of what was learnt, not of the start.
  bool acted_adapted() const { return acted_adapted_; }
  /// The model as it has become, with the state it is in as the one where training ended.
  Model adapted() const;
  Eigen::Index steps() const { return steps_; }

 private:
  bool sound() const;
  void judge();
  void adapt(bool acts);
  void fall_back(Draws draws, Eigen::Ref<Eigen::VectorXd> action);

  const Model& model_;
  GuardOptions options_;
  GreedyPolicy policy_;
  std::unique_ptr<Policy> fallback_;
  InputGuard inputs_;
  InputGuard before_;  // as it was, should a step fail
  ErrorWatch watch_;
  std::optional<Adaptation> adaptation_;
  bool acted_adapted_ = false;
  Percept percept_;
  Eigen::VectorXd other_;  // the fallback's action
  std::optional<double> novelty_;
  bool falling_back_ = false;
  Eigen::Index calm_ = 0;  // steps below the limit, one after the other
  Eigen::Index take_overs_ = 0;
  Eigen::Index fallback_steps_ = 0;
  std::optional<Eigen::Index> alarm_;
  Eigen::Index steps_ = 0;
  Eigen::Index in_episode_ = 0;
};

}  // namespace waggle
