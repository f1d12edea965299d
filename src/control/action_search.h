#pragma once

#include <memory>

#include <Eigen/Core>

#include <waggle/controller.h>
#include <waggle/environment.h>
#include <waggle/greedy_policy.h>
#include <waggle/q_function.h>

namespace waggle {

constexpr int kCoordinateRounds = 3;  ///< sweeps over all coordinates of a vector action

/// Throws Error if an entry of the percept that is read is not finite, since it would live on in
/// the state and make every later action arbitrary, or if the observation has another size.
void require_percept(const InputLayout& layout, const Percept& percept);
/// Throws Error unless this can have been done with the action just chosen, if one was: any finite
/// action can, as the bounds are those of the search, not of the world.
void require_applied(const ActionSpace& space, const Eigen::Ref<const Eigen::VectorXd>& action,
                     bool acted);

/// Looks for the action that is worth most, from one state and percept:
///
///     prepare(x_k, r_k, o_k)  →  maximise()  →  apply(a, x_{k+1})
///
/// Nothing allocates after construction.
class ActionSearch {
 public:
  /// Throws Error if the controller is not valid.
  explicit ActionSearch(Controller controller);

  /// W, one for each feature. Throws Error if it does not fit or is not finite.
  void set_weights(const Eigen::Ref<const Eigen::VectorXd>& weights);
  const Eigen::VectorXd& weights() const { return controller_.weights; }

  void prepare(const Eigen::Ref<const Eigen::VectorXd>& x, double reward,
               const Eigen::Ref<const Eigen::VectorXd>& observation);
  /// The same from an input that is formed already: z = (r, 0, o), 0 in place of the action.
  void prepare(const Eigen::Ref<const Eigen::VectorXd>& x,
               const Eigen::Ref<const Eigen::VectorXd>& input) {
    z_ = input;
    value_->prepare(x, z_);
  }
  /// What was prepared, to be kept: (r, 0, o), and what the value works out from it.
  const Eigen::VectorXd& prepared_input() const { return z_; }
  Eigen::Index prepared_size() const { return value_->prepared_size(); }
  void write_prepared(Eigen::Ref<Eigen::VectorXd> prepared) const {
    value_->write_prepared(prepared);
  }
  /// The same as `prepare`, from what was kept.
  void prepare_from(const Eigen::Ref<const Eigen::VectorXd>& x,
                    const Eigen::Ref<const Eigen::VectorXd>& input,
                    const Eigen::Ref<const Eigen::VectorXd>& prepared) {
    z_ = input;
    value_->prepare_from(x, input, prepared);
  }
  /// The same for several histories, a state and an observation in each column; the search is then
  /// at the one selected. Allocates only where there are more of them than before.
  void prepare_all(const Eigen::Ref<const Eigen::MatrixXd>& x,
                   const Eigen::Ref<const Eigen::VectorXd>& rewards,
                   const Eigen::Ref<const Eigen::MatrixXd>& observations);
  void select(Eigen::Index column) { value_->select(column); }
  /// What can be done at this step; everything within the bounds until it is told otherwise.
  void set_reach(const Reach& reach) { reach_ = reach; }
  const Reach& reach() const { return reach_; }
  /// Writes the best action within reach, in the environment's terms, and returns its value.
  double maximise(Draws& draws, Eigen::Ref<Eigen::VectorXd> action);
  /// next = x_{k+1}(action).
  void apply(const Eigen::Ref<const Eigen::VectorXd>& action, Eigen::Ref<Eigen::VectorXd> next);

  const Controller& controller() const { return controller_; }
  const ReservoirSystem& reservoir() const { return *controller_.reservoir; }
  const InputLayout& layout() const { return controller_.layout; }
  const ActionSpace& space() const { return controller_.actions; }

  /// Draws one candidate action within reach, in the environment's terms: a choice, or a point of
  /// the box …
  void draw(Draws& draws, Eigen::Ref<Eigen::VectorXd> action) const;
  /// … or one that may be beyond it, as if there were no limit.
  void draw_from_all(Draws& draws, Eigen::Ref<Eigen::VectorXd> action) const;
  /// Deviates from an action as asked for: replaces it by a random one, or adds noise to it.
  /// Returns whether it was replaced.
  bool explore(const Exploration& exploration, Draws& draws,
               Eigen::Ref<Eigen::VectorXd> action) const;
  /// Adds noise to an action, within reach.
  void jitter(double noise, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) const;
  /// Wᵀφ(x).
  double value_of(const Eigen::Ref<const Eigen::VectorXd>& state) {
    return value_->of_state(state);
  }
  /// φ(x) of the last state that was asked for.
  const Eigen::VectorXd& features() const { return value_->features(); }

 private:
  void encode(const Eigen::Ref<const Eigen::VectorXd>& action,
              Eigen::Ref<Eigen::VectorXd> channels) const;
  void draw_between(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper, bool normal,
                    Draws& draws, Eigen::Ref<Eigen::VectorXd> action) const;
  double best_candidate(Draws& draws);
  double sweep_coordinates(double value);

  Controller controller_;
  std::unique_ptr<QFunction> value_;
  bool exact_;         // the value is piecewise linear in each action and the space is a box
  double half_width_;  // over which the value is averaged; 0 for none

  Reach reach_;
  Eigen::VectorXd z_;           // (r, 0, o), as prepared
  Eigen::MatrixXd all_z_;       // the same for several histories
  Eigen::MatrixXd candidates_;  // action channels × candidates
  Eigen::VectorXd values_;      // one for each candidate
  Eigen::VectorXd best_;        // channels of the best action found
};

}  // namespace waggle
