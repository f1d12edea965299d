#pragma once

#include <memory>

#include <Eigen/Core>

#include <waggle/controller.h>

#include "control/piecewise_linear.h"

namespace waggle {

/// Q(history, ·) from one history at a time, as a function of the action's channels v: the numbers
/// of a continuous action, or the one-hot code of a choice.
///
///     prepare(x_k, z_k without the action)  →  at(v), step(v, x_{k+1})
///
/// What does not depend on the action is computed once, by `prepare`. Nothing allocates after
/// construction. Each kind of reservoir that can do better than a whole step for each action has
/// its own; `action_value_of` knows them.
class ActionValue {
 public:
  virtual ~ActionValue() = default;

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
  /// Wᵀφ(x).
  virtual double of_state(const Eigen::Ref<const Eigen::VectorXd>& state) = 0;
  /// Q of one action …
  virtual double at(const Eigen::Ref<const Eigen::VectorXd>& channels) = 0;
  /// … and of one in every column.
  virtual void at_each(const Eigen::MatrixXd& candidates, Eigen::VectorXd& values);

  /// Whether Q is piecewise linear in every channel, so that `maximise_along` may be asked.
  virtual bool is_piecewise_linear() const { return false; }
  /// The greatest Q over one channel in [lower, upper], the others as in `channels`; its mean over
  /// ± half_width if that is > 0.
  virtual Maximum maximise_along(Eigen::Index channel, const Eigen::VectorXd& channels,
                                 double lower, double upper, double half_width);

 protected:
  Eigen::MatrixXd all_x_, all_z_;  // as prepare_all() was given them
};

/// For the controller's reservoir and layout; its weights are 0.
std::unique_ptr<ActionValue> action_value_of(const Controller& controller);

}  // namespace waggle
