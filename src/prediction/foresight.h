#pragma once

#include <Eigen/Core>

#include <waggle/predictive.h>

/// From what is remembered to what it predicts.
namespace waggle {

/// s of a head, for every column of m.
Eigen::MatrixXd predictive_state(const PredictiveHead& head,
                                 const Eigen::Ref<const Eigen::MatrixXd>& m);

/// Fills in u of every head and r̂ of a state whose memory and channels of the action are given.
void complete(const PredictiveNetwork& network, Eigen::Ref<Eigen::VectorXd> x);

/// One head's way from a memory to its after-state. Holds its work space, so that nothing allocates
/// after construction.
class Foresight {
 public:
  explicit Foresight(const PredictiveHead& head);

  /// u as an affine function of the action: columns u_0, u_1 … u_c with u = u_0 + Σ v_i u_i.
  void after_memory(const Eigen::Ref<const Eigen::VectorXd>& m, Eigen::Ref<Eigen::MatrixXd> out);
  /// The same for every column of m: u_0 of all in the first columns, then u_1 of all, … Allocates
  /// only where there are more of them than before.
  void after_memories(const Eigen::Ref<const Eigen::MatrixXd>& m, Eigen::Ref<Eigen::MatrixXd> out);
  /// The same from s.
  void after_state(const Eigen::Ref<const Eigen::VectorXd>& s, Eigen::Ref<Eigen::MatrixXd> out);

 private:
  const PredictiveHead& head_;
  Eigen::VectorXd first_, layer_, state_, dynamics_;
  Eigen::MatrixXd firsts_, layers_, states_, all_dynamics_;
};

}  // namespace waggle
