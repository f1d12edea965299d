#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <waggle/model.h>
#include <waggle/predictive.h>
#include <waggle/progress.h>

#include "prediction/dynamics_fit.h"
#include "prediction/prediction_fit.h"
#include "prediction/reward_fit.h"
#include "value/fitted_iteration.h"

namespace waggle {

/// How many random features to draw, of which scale, by which random numbers.
struct FeatureDraw {
  Eigen::Index count;
  double scale;
  std::uint64_t seed;
  std::uint64_t stream;
};
/// Directions of standard deviation 1/scale in unit-variance coordinates, and normal offsets: most
/// bend where the data is if the scale is below 1, few if it is large.
RectifiedFeatures draw_features(Eigen::Index inputs, const FeatureDraw& draw);
/// Random features of what is predicted, and of as many numbers of the action as the after-state
/// holds, for a value.
RectifiedFeatures draw_value_features(const InputLayout& layout, Eigen::Index predictions,
                                      Eigen::Index carried, const FeatureDraw& draw);

/// Whether a predictive fit has options that count only for a value on the memory itself is not
/// left unsaid: throws Error, naming the one that is not as usual.
void require_unused(const FitOptions& fit);

/// Names what is seen, in the order of the inputs, then the reward if it is predicted but not seen.
void name_predictions(const EnvironmentSpec& spec, PredictionQuality& predictions);

/// The steps of a fit of predictive states, between the walks along the experience, whoever walks:
///
///     sums of the first layer    → whether the state should hold what depends on the action
///     sums of the second layer   → the state
///     transitions                → the after-state, the reward model and the value
///
/// Fits of the same rows differ by their `number`, which draws their random features.
class PredictiveSteps {
 public:
  /// What is fitted to what. All of it must outlive the steps, which see it as it is by then.
  struct Task {
    const InputLayout& layout;
    const FitOptions& options;  ///< with predictive ones
    const InputScaling& scaling;
    const ExperienceSummary& summary;
    const RewardScale& rewards;
    const ActionSpace& actions;
    bool acts;  ///< what is found is acted on, so that its errors show
  };
  explicit PredictiveSteps(const Task& task) : task_(task) {}

  /// The memory with this network. Throws Error if it would be too large.
  static HistoryMemory memory_of(const EchoStateNetwork& scaled, const InputLayout& layout,
                                 const PredictiveOptions& options, Eigen::Index seen);
  PredictionFitOptions prediction_options() const;

  /// A head to try whether more of the next step is foreseen if the state also holds what depends
  /// on the action: transitions of one without and of one with it tell.
  PredictiveHead trial_head(Eigen::MatrixXd first) const;
  struct Trial {
    const PredictiveHead& head;
    const Transitions& transitions;
  };
  bool depends_on_action(const Trial& without, const Trial& with) const;

  /// A head with its first layer, and what the second is to be fitted on drawn.
  PredictiveHead begin_head(Eigen::MatrixXd first, int number) const;
  /// Adds rows to the sums of the second layer.
  static void add_second(const PredictiveHead& head, const RememberedRows& rows,
                         PredictionSums& sums);
  /// Draws the features of a head whose state is fitted; `seen` numbers of it are what is seen now.
  void draw(PredictiveHead& head, int number, Eigen::Index seen) const;

  /// Numbers of the after-state of a head whose state has q.
  Eigen::Index after_size(Eigen::Index q) const {
    return q + (task_.layout.reward ? 0 : 1) + carried();
  }
  /// Throws Error if there are no transitions.
  void fit_after(const Transitions& transitions, PredictiveHead& head) const;

  struct ValueStart {
    Eigen::VectorXd values;           ///< V' of the last fit along the transitions, or 0
    std::optional<ValueChoice> last;  ///< what it chose
    std::vector<bool> continues = {};
  };
  FittedIteration fit_value(const PredictiveHead& head, const Transitions& transitions,
                            ExpectedRewards rewards, ValueStart start, bool judge,
                            const ProgressCallback& progress) const;

  /// Values as found are in a unit and zero of their own: what is constant of them, in rewards'.
  double lasting() const { return task_.rewards.constant_weight(task_.options.value.discount); }
  /// To the rewards' own unit and zero, but for the next values.
  void to_reward_units(PredictiveHead& head, FittedIteration& found) const;

 private:
  /// Channels of the action that the after-state holds.
  Eigen::Index carried() const {
    return task_.options.limits.any() ? task_.layout.action_channels() : 0;
  }

  const Task task_;
};

/// One of several fits whose values are averaged.
struct PredictiveFitted {
  PredictiveHead head;
  Eigen::VectorXd weights;
};
/// The weights of the network of their heads.
template <typename Fits>
Eigen::VectorXd averaged_weights(const Fits& fits) {
  Eigen::Index features = 1;
  for (const PredictiveFitted& fit : fits) features += fit.weights.size();
  Eigen::VectorXd weights(features);
  weights[0] = 1.0;
  Eigen::Index at = 1;
  for (const PredictiveFitted& fit : fits) {
    weights.segment(at, fit.weights.size()) = fit.weights / static_cast<double>(fits.size());
    at += fit.weights.size();
  }
  return weights;
}

}  // namespace waggle
