#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <waggle_paper/online_value.h>

#include <waggle/base/names.h>
#include <waggle/greedy_policy.h>
#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {

enum class OnlineTarget {
  next,    ///< TD: the action that was taken next
  greedy,  ///< max_a, as in Algorithm online_algorithm: Q-learning
};

/// As Exploration, but by itself it does explore: whoever learns while acting must see more than
/// what it thinks best.
struct OnlineExploration {
  double epsilon = 0.1;  ///< chance of a random action instead, in [0, 1]
  double noise = 0.0;    ///< standard deviation of what is added to a continuous action, clipped

  operator Exploration() const { return {.epsilon = epsilon, .noise = noise}; }
};

struct OnlineOptions {
  ReservoirOptions reservoir;
  bool standardise = true;     ///< scale each input by its mean and spread in the burn-in
  Eigen::Index burn_in = 200;  ///< first steps, by the initial policy, which set Σ and the scales
  OnlineTarget target = OnlineTarget::greedy;
  OnlineValueOptions value;
  GreedyOptions greedy;
  OnlineExploration exploration;
  Eigen::Index washout = 0;  ///< steps at each episode's start that are not learnt from

  /// Throws Error where a field is out of its range for these actions.
  void validate(const ActionSpace& actions) const;
};

/// Acts while it learns, on any environment, as a policy of its own. For the first `burn_in` steps
/// the initial policy acts; then the scales and Σ are set, those steps are learnt from in order,
/// and from there on every step is both a greedy, exploring action and an update, which is made
/// when the step is over, since until then it may be told what was applied. Memory is steady: O(n²)
/// and the burn-in.
class OnlineLearner final : public Policy {
 public:
  /// `initial` must outlive the burn-in. Unbounded actions take their bounds from the burn-in.
  /// Throws Error for options that do not fit the environment.
  OnlineLearner(const EnvironmentSpec& spec, Policy& initial, const OnlineOptions& options);
  ~OnlineLearner() override;

  void begin_episode() override;
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;
  void applied(const Eigen::Ref<const Eigen::VectorXd>& action) override;
  void end_episode(const Percept& percept) override;

  bool burning_in() const { return value_ == nullptr; }
  /// What is learnt. Throws Error during the burn-in.
  const OnlineValue& value() const;
  /// What it decides by, with the weights of now: to judge, or to act on and learn no more. Throws
  /// Error during the burn-in.
  Controller controller() const;
  /// Step sizes that break a condition, or features the Lemma does not hold for.
  std::vector<std::string> warnings() const;

 private:
  void finish_row();
  void start();
  void update(double reward, bool terminated, const Eigen::VectorXd& followed);
  void learn(double reward, bool terminated);

  EnvironmentSpec spec_;
  Policy& initial_;
  OnlineOptions options_;
  Controller controller_;  // without weights, which value_ has
  Trajectory burn_in_;
  std::unique_ptr<OnlineValue> value_;
  std::unique_ptr<ActionSearch> search_;
  Eigen::Index in_episode_ = 0;
  Eigen::VectorXd state_, next_, target_;  // x_k, x_{k+1}, x_{k+1} of the best action
  Eigen::VectorXd other_;                  // x_{k+1} of what is said to have been applied
  Eigen::VectorXd nothing_;                // what follows a terminated row
  // Of the row that is going on, if there is one; the action during the burn-in only.
  bool acted_ = false;
  double reward_ = 0.0;
  Eigen::VectorXd action_, observation_;
};

}  // namespace waggle
