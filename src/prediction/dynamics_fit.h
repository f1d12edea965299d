#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/fit/scaling.h>
#include <waggle/predictive.h>

#include "prediction/remembered.h"

namespace waggle {

/// Steps of an experience in terms of a head's predictive state, as many as are kept.
struct Transitions {
  Eigen::MatrixXd state;                 ///< s_k, q × count
  Eigen::MatrixXd next;                  ///< s_{k+1}
  Eigen::MatrixXd channels;              ///< of a_k
  Eigen::VectorXd reward;                ///< r_{k+1}
  std::vector<bool> terminated;          ///< whether row k+1 terminated its episode
  std::vector<Eigen::Index> rows;        ///< k
  std::vector<Eigen::Index> in_episode;  ///< the same, counted from the episode's start

  Eigen::Index count() const { return static_cast<Eigen::Index>(rows.size()); }
};

/// Gathers transitions along a walk, at most about `most` of `rows` in all: where there are more,
/// evenly spread stretches of them.
class TransitionGatherer {
 public:
  /// The head must outlive this.
  TransitionGatherer(const PredictiveHead& head, Eigen::Index rows, Eigen::Index most);

  void add(const RememberedRows& window);
  /// With those of other processes.
  Transitions take(Exchange* exchange);

 private:
  bool is_kept(Eigen::Index row) const;

  const PredictiveHead& head_;
  Eigen::Index stretches_, wanted_;
  Eigen::Index count_ = 0;
  Eigen::MatrixXd columns_;  // a transition in each: s_k, s_{k+1}, channels, and what else there is
};

/// The same of a whole experience.
Transitions gather(RememberedExperience& experience, TrajectorySource& source,
                   const PredictiveHead& head, Eigen::Index rows, Eigen::Index most);

/// Fills in base and drift of a head, whose dynamics are drawn: ridge regression of s_{k+1}, and of
/// r_{k+1} where that is not seen, on dynamics(s_k) and (1, s_k) times the action's channels.
void fit_after_state(const Transitions& transitions, const InputLayout& layout,
                     const InputScaling& scaling, double ridge, PredictiveHead& head);

/// Lets the after-state of a head that is fitted also hold the action itself, in units of its mean
/// and spread, as its last numbers: what can be done next depends on it where an actuator has
/// limits.
void carry_action(const InputLayout& layout, const InputScaling& scaling, PredictiveHead& head);

/// How much of what is seen next, the last `seen` numbers of s_{k+1}, and of the reward cannot be
/// told from s_k and the action in that way: the shares of their variances, added up; each half of
/// the rows is judged by the other's fit.
double unforeseen(const Transitions& transitions, const InputLayout& layout,
                  const InputScaling& scaling, Eigen::Index seen, double ridge,
                  const PredictiveHead& head);

/// u of every transition, at the action taken.
Eigen::MatrixXd after_states(const PredictiveHead& head, const Transitions& transitions);
/// u at s_{k+1} as an affine function of the action: every column holds after() × (1 + c) numbers.
Eigen::MatrixXd next_after_states(const PredictiveHead& head, const Transitions& transitions);

}  // namespace waggle
