#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <waggle/model.h>
#include <waggle/predictive.h>
#include <waggle/progress.h>

#include "learn/predictive_steps.h"
#include "prediction/remembered.h"

namespace waggle {

/// Fits predictive states and a value on them, again and again as experience grows. What is
/// remembered of old rows is kept, the values last found are where the next fit starts, and the
/// last few fits are averaged.
class PredictiveFitter {
 public:
  /// `acts`: what is found is acted on, so that its errors will show. Throws Error for bad options.
  PredictiveFitter(const InputLayout& layout, const FitOptions& options, bool acts);

  /// What there is to fit to.
  struct Experience {
    TrajectorySource& rows;  ///< begin with those of the last call
    const ExperienceSummary& summary;
    const ActionSpace& actions;
    Eigen::Index washout;  ///< as ValueOptions::washout
  };
  /// Fits to all there is. `random_rows` says whose actions were random, rows beyond it count as
  /// such. `last`: no more rows will come, and the last of the fits to average is also judged.
  /// False from `progress` asks for the end; what was found so far is then kept if there is
  /// anything.
  void fit(const Experience& experience, const std::vector<bool>& random_rows, bool last,
           const ProgressCallback& progress);
  /// How many fits are averaged so far.
  int fits() const { return static_cast<int>(fits_.size()); }

  /// Forgets which rows there were: those of the next call need not begin with the last one's.
  void forget_rows();

  /// What was found, for a model: the network, the weights, the state after the last row, the
  /// scaling, the diagnostics and, if it was judged, how well the future is predicted; what that
  /// is called is for the caller to say.
  void fill(Model& model) const;

 private:
  /// Sets what depends on the experience as a whole.
  void prepare(const Experience& experience);
  PredictiveSteps steps_for(const Experience& experience) const;
  void remember(const Experience& experience, const PredictiveSteps& steps);
  std::unique_ptr<RememberedExperience> remembered_with(Eigen::Index seen) const;
  /// Whether a memory with so many units beside those asked for, and that much of what was seen,
  /// would not be too large.
  bool has_room(Eigen::Index extra_units, Eigen::Index seen) const;
  /// Draws the network with this many units beside those asked for.
  void draw_network(Eigen::Index extra_units);
  /// What of the future is not foreseen by the memory as it is.
  PredictionSums::Unforeseen unforeseen_in(TrajectorySource& experience,
                                           const PredictiveSteps& steps) const;
  /// The share of the reward's variance that a reward model on such a memory explains.
  double reward_told_by(Eigen::Index seen, const Experience& experience,
                        const PredictiveSteps& steps) const;
  /// The sums of the first layer's predictions.
  PredictionSums sums_over(RememberedExperience& remembered, TrajectorySource& experience,
                           const PredictiveSteps& steps) const;
  /// Those of a layer: as given or chosen.
  void set_ridges(PredictionSums& sums, int layer);
  /// Whether more of the next step is foreseen if the state also holds what depends on the action.
  bool depends_on_action(const PredictiveSteps& steps, const PredictionSums& sums,
                         TrajectorySource& experience, Eigen::Index rows);
  PredictiveHead draw_head(const PredictiveSteps& steps, TrajectorySource& experience,
                           Eigen::Index rows, bool judge);

  /// V' of the last fit along the transitions, in this one's units, to start from; 0 at first.
  Eigen::VectorXd last_values(const Transitions& transitions) const;
  void keep(const PredictiveSteps& steps, PredictiveHead head, const Transitions& transitions,
            Eigen::Index rows, FittedIteration found);

  InputLayout layout_;
  FitOptions options_;
  bool acts_;
  std::optional<EchoStateNetwork> drawn_;
  InputScaling scaling_;
  RewardScale rewards_;             // of the fit that is made
  Eigen::Index washout_ = 0;        // and the rows at an episode's start that it leaves out
  Eigen::Index first_rows_ = 0;     // at the first fit
  Eigen::Index measured_rows_ = 0;  // when the scaling was last measured
  Eigen::Index seen_ = 0;           // as chosen
  Eigen::Index extra_units_ = 0;    // of the network as drawn
  bool settled_ = false;            // the scaling is not measured again
  std::unique_ptr<RememberedExperience> remembered_;
  std::deque<PredictiveFitted> fits_;
  // Of the two layers' predictions, chosen anew whenever there are twice as many rows.
  std::optional<PredictionRidges> ridges_[2];
  Eigen::Index chosen_rows_ = 0;
  bool chooses_ = true;  // in the fit that is made

  ValueChoice choice_;  // of the last fit

  int count_ = 0;          // of fits made, for the draws
  Eigen::VectorXd value_;  // V at every row, as last found
  Eigen::VectorXd state_;  // after the last row: memory and the action's channels
  FitDiagnostics diagnostics_;
  Eigen::MatrixXd deviation_;  // of the last fit's weights, if it was judged
  PredictionQuality quality_;
  int sweeps_ = 0;
  bool converged_ = false;
};

}  // namespace waggle
