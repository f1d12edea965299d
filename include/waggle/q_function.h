#pragma once

#include <Eigen/Core>

namespace waggle {

/// Where a function of one action is largest, and how large.
struct Maximum {
  double action = 0.0;
  double value = 0.0;
};

/// Q(history, ·) from one history at a time, as a function of the action's channels v: the numbers
/// of a continuous action, or the one-hot code of a choice. The one seam between learning and
/// acting: whatever is learnt is asked through it for what actions are worth.
///
///     prepare(x_k, z_k without the action)  →  at(v), along(i), step(v, x_{k+1})
///
/// What does not depend on the action is computed once, by `prepare`. Nothing allocates after
/// construction. ReservoirSystem::q_function makes one, which must not outlive the system; its
/// weights are 0.
class QFunction {
 public:
  virtual ~QFunction() = default;

  /// W, one for each feature.
  virtual void set_weights(const Eigen::Ref<const Eigen::VectorXd>& weights) = 0;
  /// z is as read at step k, with 0 in place of the action.
  virtual void prepare(const Eigen::Ref<const Eigen::VectorXd>& x,
                       const Eigen::Ref<const Eigen::VectorXd>& z) = 0;
  /// What `prepare` works out, as numbers to be kept; none where that is not worth it.
  virtual Eigen::Index prepared_size() const { return 0; }
  virtual void write_prepared(Eigen::Ref<Eigen::VectorXd> /*prepared*/) const {}
  /// The same as prepare(x, z), with what it worked out then.
  virtual void prepare_from(const Eigen::Ref<const Eigen::VectorXd>& x,
                            const Eigen::Ref<const Eigen::VectorXd>& z,
                            const Eigen::Ref<const Eigen::VectorXd>& /*prepared*/) {
    prepare(x, z);
  }
  /// Prepares a history in every column of x and z, what they can share at once; at(), step() and
  /// the rest then speak of the one last selected.
  virtual void prepare_all(const Eigen::Ref<const Eigen::MatrixXd>& x,
                           const Eigen::Ref<const Eigen::MatrixXd>& z);
  virtual void select(Eigen::Index column);
  /// next = x_{k+1}(v).
  virtual void step(const Eigen::Ref<const Eigen::VectorXd>& channels,
                    Eigen::Ref<Eigen::VectorXd> next) = 0;
  /// Wᵀφ(x) of a state that an action led to …
  virtual double of_state(const Eigen::Ref<const Eigen::VectorXd>& state) = 0;
  /// … and φ(x) of the last state asked for, worked out once for all who want it.
  virtual const Eigen::VectorXd& features() const = 0;
  /// Q of one action …
  virtual double at(const Eigen::Ref<const Eigen::VectorXd>& channels) = 0;
  /// … and of one in every column.
  virtual void at_each(const Eigen::MatrixXd& candidates, Eigen::VectorXd& values);

  /// Whether Q is piecewise linear in every channel, so that `along` may be asked.
  virtual bool is_piecewise_linear() const { return false; }
  /// The greatest Q over one channel in [lower, upper], the others as in `channels`; its mean over
  /// ± half_width if that is > 0.
  virtual Maximum along(Eigen::Index channel, const Eigen::VectorXd& channels, double lower,
                        double upper, double half_width);

 protected:
  Eigen::MatrixXd all_x_, all_z_;  // as prepare_all() was given them
};

}  // namespace waggle
