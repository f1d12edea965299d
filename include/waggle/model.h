#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/actuator.h>
#include <waggle/controller.h>
#include <waggle/environment.h>
#include <waggle/fit/baseline.h>
#include <waggle/fit/policy_iteration.h>
#include <waggle/fit/value.h>
#include <waggle/greedy_policy.h>
#include <waggle/predictive.h>
#include <waggle/reservoir.h>

namespace waggle {

/// How a controller is fitted to experience, wherever that comes from. The defaults serve most
/// problems; waggle/presets.h has others by name.
struct FitOptions {
  ReservoirOptions reservoir = {};
  /// Independent reservoirs whose values are averaged: what one of them is worth depends on how it
  /// happened to be drawn.
  int members = 3;
  /// Scale each input channel by its own mean and spread in the experience before C.
  bool standardise = true;
  ValueOptions value = {};
  /// Predictive states, and a value on them (predictive.h); std::nullopt: a value on the memory
  /// itself. Only for the latter count `members`, `sweeps`, `reweight` and, of `value`, everything
  /// but the discount and the washout.
  std::optional<PredictiveOptions> predictive = PredictiveOptions{};
  /// Of policy iteration, at most; 0: the value is that of the policy that made the experience.
  int sweeps = 20;
  bool reweight = false;  ///< weight rows by inverse variance, from the second sweep on
  /// Take the mean off the rewards before the fit (see RewardScale), so that learning does not
  /// depend on where their zero is. Only where no episode terminates: there it matters.
  bool centre_rewards = true;
  GreedyOptions greedy = {};
  /// Of what carries the actions out: what is learnt is worth what it is under them, and acts
  /// within them.
  ActuatorLimits limits = {};
  /// Bounds ±limit for actions the environment leaves unbounded. If not given, they are taken from
  /// the experience, unless the sampled maximiser needs none.
  std::optional<double> action_limit = std::nullopt;
  /// Find out how sure the value is and the baseline: one more pass through the experience and n²
  /// numbers more.
  bool confidence = true;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, FitOptions& o) {
  v("sweeps", o.sweeps, "of policy iteration, at most; 0 only evaluates");
  v("reweight", o.reweight, "weight rows by inverse variance, from the second sweep on");
  v("standardise", o.standardise, "scale inputs by their mean and spread");
  v("centre_rewards", o.centre_rewards, "take the mean off the rewards where no episode ends");
  v("action_limit", o.action_limit, "bound of unbounded actions; none: taken from the experience");
  v("members", o.members, "independent networks whose values are averaged");
  v("confidence", o.confidence, "find out how sure the value is, which takes one more pass");
  v("reservoir", o.reservoir, "how the network is drawn");
  v("value", o.value, "how the value is fitted");
  v("predictive", o.predictive, "predictive states and a value on them; none: on the memory");
  v("greedy", o.greedy, "how the best action is found");
  v("limits", o.limits, "of what carries the actions out");
}

/// As Exploration, but by itself it does explore.
struct CollectExploration {
  double epsilon = 0.1;
  double noise = 0.0;
  bool held = true;

  operator Exploration() const { return {.epsilon = epsilon, .noise = noise, .held = held}; }
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, CollectExploration& o) {
  describe_held_exploration(v, o);
}

/// What exploration moves to: by itself, none.
struct FinalExploration {
  double epsilon = 0.0;
  double noise = 0.0;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, FinalExploration& o) {
  describe_exploration(v, o);
}

/// How experience is collected by acting, in rounds of acting and fitting.
struct CollectOptions {
  Eigen::Index steps = 10'000;  ///< the whole budget of rows, over all rounds
  /// ≥ 1, of equal length; the first is the initial policy's. Not given: a round ends when the rows
  /// have grown by the share `growth`, after a first one of `first_steps`.
  std::optional<int> rounds = std::nullopt;
  double growth = 0.25;             ///< > 0
  Eigen::Index first_steps = 1000;  ///< ≥ 1; a quarter of all at most
  int final_sweeps = 0;             ///< after the last round; at least FitOptions::sweeps are made
  CollectExploration exploration = {};  ///< from the second round on
  /// If given, exploration moves to this in a straight line, reached in the last exploring round.
  std::optional<FinalExploration> final_exploration = std::nullopt;
  int greedy_rounds = 0;  ///< the last rounds that do not explore at all: they see what it will do

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, CollectOptions& o) {
  v("steps", o.steps, "rows to learn from, over all rounds");
  v("rounds", o.rounds, "of acting and learning, all alike; none: they grow");
  v("growth", o.growth, "learn again when the rows have grown by this share, if they do");
  v("first_steps", o.first_steps, "of the initial policy, where rounds grow");
  v("final_sweeps", o.final_sweeps, "of policy iteration after the last round, if more");
  v("exploration", o.exploration, "how to explore, from round 2 on");
  v("final_exploration", o.final_exploration, "and in the last round that explores, if it changes");
  v("greedy_rounds", o.greedy_rounds, "the last rounds, which do not explore at all");
}

/// Where a model comes from.
struct Provenance {
  std::vector<std::string> sources;  ///< the logs it was learnt from, or the environment
  std::string created;               ///< when, as the caller writes it (ISO 8601)
  std::string waggle_version;        ///< filled in by the learner, as are the next two
  Eigen::Index rows = 0;             ///< learnt from
  Eigen::Index episodes = 0;
  /// Of a model that went on learning at work (adaptation.h): the one it started as, how many steps
  /// it has learnt from since, and how often it went back to its start.
  std::string adapted_from = {};
  Eigen::Index adapted_steps = 0;
  Eigen::Index went_back = 0;
};

/// How policy iteration went, in the last round if there were several.
struct Improvement {
  Eigen::Index sweeps = 0;  ///< made; 0: the value is that of the policy that made the data
  PolicyIterationEnd end = PolicyIterationEnd::stopped;  ///< if there were sweeps
};

/// Where a policy starts from.
enum class Start {
  fresh,           ///< an episode's beginning
  training_ended,  ///< the state after the last row learnt from
};

/// A learnt controller, and everything there is to say of it. A file of it holds the same bits, so
/// that a model acts as it did before it was saved.
struct Model {
  Controller controller;                    ///< with the input scaling folded in
  EnvironmentSpec environment;              ///< what it controls
  FitOptions options;                       ///< how it was fitted, with what was chosen filled in
  std::optional<CollectOptions> collected;  ///< how its experience was made, if it acted for it
  std::optional<InputScaling> scaling;      ///< that scaling, for the record, if there was one
  FitDiagnostics diagnostics;               ///< as ValueFit's
  bool singular = false;                    ///< as ValueFit's
  /// What is predicted and how well, of a controller with predictive states.
  std::optional<PredictionQuality> predictions;
  Eigen::VectorXd state;  ///< where training ended
  /// Lower triangular L with LLᵀ = Cov(W), of all features or, with predictive states, of the last
  /// fit's; empty if not known. By rows, which standard_error() reads it by.
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> deviation_factor;
  std::optional<Improvement> improvement;  ///< not known of files that do not say so
  ChannelRanges ranges;                    ///< what each channel did in the experience
  /// The baseline of its experience; found out with the confidence, and not known of older files.
  std::optional<Baseline> baseline = std::nullopt;
  /// Where a run of the policy has left everything it learnt from far behind: 100 times the largest
  /// |observation| of the experience, or |reward| where nothing is observed. For
  /// RolloutOptions::divergence_limit.
  double divergence_limit = 0.0;
  std::vector<std::string> warnings;  ///< for a person: too little data, no convergence, divergence
  Provenance provenance;
  /// How its environment's observations and actions look to a program in another language, as that
  /// one writes it; kept with the model, and of no meaning here.
  std::string interface;

  /// False if the initial policy diverged: then there is nothing to learn from, and no policy.
  bool usable() const { return controller.reservoir != nullptr; }
  /// The policy. It shares the reservoir; the model need not outlive it. Throws Error if not
  /// usable.
  GreedyPolicy policy(Start start = Start::fresh, const Exploration& exploration = {}) const;

  bool has_confidence() const { return deviation_factor.size() > 0; }
  /// The standard error ‖Lᵀφ‖ of the value Wᵀφ, of features φ(x) (GreedyPolicy::features): how
  /// little the experience says about it. It covers the noise in the fit, not what the features
  /// cannot express; of predictive states it is that of the last fit, a little more than that of
  /// several in the mean. Throws Error if the size differs or has_confidence() is false. O(n²).
  double standard_error(const Eigen::Ref<const Eigen::VectorXd>& features) const;
  /// Baseline::novelty of features φ(x): above 1, 99 % of the experience was nearer to its middle.
  /// Throws Error if the size differs or `baseline` is not known. O(n).
  double novelty(const Eigen::Ref<const Eigen::VectorXd>& features) const;

  /// What is expected to be seen next by a state x after an action: the reward, if it is an input,
  /// and the observation. Throws Error if the size differs or the controller does not say.
  Eigen::VectorXd forecast(const Eigen::Ref<const Eigen::VectorXd>& x) const;

  /// The features that deviation_factor and baseline are of, the last of φ: all, or of predictive
  /// states the last fit's.
  Eigen::Index fitted_size() const;

  /// Throws Error, naming the part, where sizes do not fit each other or a number is not finite.
  void validate() const;
};

/// What the choices of a discrete space are called: by their names, or their numbers.
std::vector<std::string> choice_words(const EnvironmentSpec& spec);

/// In what a model does not fit a machine: everything that could be in its way. Which of these
/// matter, and what to say, depends on who asks.
struct Misfit {
  bool reward = false;            ///< it has another name
  bool reward_input = false;      ///< the model reads it, and the machine does not show it
  bool observations = false;      ///< they have other names, or another order
  bool observation_size = false;  ///< there are more of them, or fewer
  bool actions = false;           ///< they have other names, or another order
  bool action_size = false;       ///< there are more numbers in one, or fewer
  bool choices = false;           ///< there are more of them, or fewer; or the action is none
  bool choice_names = false;      ///< they have other names, or another order
  bool choice_words = false;      ///< as choice_names, but numbers will do for any names
  bool bounds = false;            ///< the model's actions go beyond the machine's
};
Misfit misfit(const Model& model, const EnvironmentSpec& machine);

}  // namespace waggle
