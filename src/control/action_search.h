#pragma once

#include <memory>

#include <Eigen/Core>

#include <waggle/policy.h>

#include "control/piecewise_linear.h"

namespace waggle {

/// Looks for the action whose next state has the greatest value, from one state and percept:
///
///     prepare(x_k, r_k, o_k)  →  maximise()  →  apply(a, x_{k+1})
///
/// For an echo state network `prepare` forms A x + ζ + C (r, o) once; the other two then cost O(n)
/// an action. Any other reservoir system takes a whole step for each action it looks at. Nothing
/// allocates after construction.
class ActionSearch {
 public:
  /// Throws Error if the sizes differ or the options do not suit the space.
  ActionSearch(std::shared_ptr<const ReservoirSystem> reservoir, const InputLayout& layout,
               ActionSpace space, const GreedyOptions& options);

  /// W, one for each feature. Throws Error if it does not fit or is not finite.
  void set_weights(const Eigen::Ref<const Eigen::VectorXd>& weights);
  const Eigen::VectorXd& weights() const { return weights_; }

  void prepare(const Eigen::Ref<const Eigen::VectorXd>& x, double reward,
               const Eigen::Ref<const Eigen::VectorXd>& observation);
  /// Writes the best action, in the environment's terms, and returns its value.
  double maximise(Draws& draws, Eigen::Ref<Eigen::VectorXd> action);
  /// next = x_{k+1}(action).
  void apply(const Eigen::Ref<const Eigen::VectorXd>& action, Eigen::Ref<Eigen::VectorXd> next);

  const ReservoirSystem& reservoir() const { return *reservoir_; }
  const InputLayout& layout() const { return layout_; }
  const ActionSpace& space() const { return space_; }

  /// Draws one candidate action, in the environment's terms: any choice, or a point of the box.
  void draw(Draws& draws, Eigen::Ref<Eigen::VectorXd> action) const;
  /// Deviates from an action as asked for: replaces it by a random one, or adds noise to it.
  void explore(const Exploration& exploration, Draws& draws,
               Eigen::Ref<Eigen::VectorXd> action) const;
  /// Wᵀφ(x).
  double value_of(const Eigen::Ref<const Eigen::VectorXd>& state);

 private:
  void encode(const Eigen::Ref<const Eigen::VectorXd>& action,
              Eigen::Ref<Eigen::VectorXd> channels) const;
  void apply_channels(const Eigen::Ref<const Eigen::VectorXd>& channels,
                      Eigen::Ref<Eigen::VectorXd> next);
  double value_of_channels(const Eigen::Ref<const Eigen::VectorXd>& channels);
  double best_candidate(Draws& draws);
  double sweep_coordinates(double value);

  std::shared_ptr<const ReservoirSystem> reservoir_;
  const EchoStateNetwork* network_;  // reservoir_ if it is one, else null
  InputLayout layout_;
  ActionSpace space_;
  GreedyOptions options_;
  bool exact_;         // the value is piecewise linear in each action and the space is a box
  double half_width_;  // over which the value is averaged; 0 for none
  Eigen::VectorXd weights_;
  Eigen::VectorXd scaled_weights_;  // of the nonlinear units, each times its leak

  Eigen::VectorXd state_;       // x, as prepared
  Eigen::VectorXd z_;           // (r, 0, o), as prepared
  Eigen::VectorXd base_;        // A x + C z + ζ without the action
  double remembered_ = 0.0;     // what the leak keeps of the value of x
  Eigen::MatrixXd candidates_;  // action channels × candidates
  Eigen::VectorXd values_;      // one for each candidate
  Eigen::VectorXd best_;        // channels of the best action found
  Eigen::VectorXd shifted_;     // base_ with all but one channel applied
  Eigen::VectorXd next_;
  Eigen::MatrixXd features_;
  PiecewiseLinearMaximiser maximiser_;
};

}  // namespace waggle
