#include <utility>

#include <fmt/format.h>

#include <waggle/environments.h>
#include <waggle/reference/tanks.h>

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

/// The Kalman filter of the true model, and the regulator's gain on its estimate.
class TanksPolicy final : public Policy {
 public:
  explicit TanksPolicy(reference::TanksControl control) : control_(std::move(control)) {
    begin_episode();
  }

  void begin_episode() override {
    predicted_ = estimate_ = VectorXd::Zero(control_.model.transition.rows());
    step_ = 0;
  }
  void act(const Percept& percept, Draws& /*draws*/, Ref<VectorXd> action) override {
    const double innovation =
        percept.observation[0] - (control_.model.observation * predicted_).value();
    estimate_ = predicted_ + control_.filter_gain(step_++) * innovation;
    const Eigen::Array2d bounds(control_.options.max_pump, control_.options.max_valve);
    action = (-control_.gain * estimate_).array().max(-bounds).min(bounds);
    applied(action);
  }
  void applied(const Ref<const VectorXd>& action) override {
    predicted_ = control_.model.transition * estimate_ + control_.model.input * action;
  }

 private:
  reference::TanksControl control_;
  VectorXd predicted_, estimate_;
  Index step_ = 0;
};

}  // namespace

ControlProblem tanks_problem(const TanksOptions& options) {
  constexpr double kDiscount = 0.95;  // what is best for it is within 0.2 % of the least average cost
  ControlProblem problem = problem_of(std::make_unique<Tanks>(options), kDiscount,
                                      ControlProblem::Score::mean_reward);
  problem.initial_name = "random pump and valve";
  problem.episodic = options.episode_steps > 0;
  problem.reference = [options] {
    const reference::TanksControl control = reference::tanks_control(options);
    std::string label = "LQG: Kalman filter and Riccati gain of the true model, exact";
    if (control.room < 4.0) label += " for actions without bounds";
    if (options.episode_steps > 0) {
      label += fmt::format("; {:.4f} if episodes went on after {} steps", -control.average_cost,
                           options.episode_steps);
    }
    return ControlProblem::Reference{.label = label, .score = -control.episode_cost};
  };
  problem.reference_policy = [options] {
    return std::make_unique<TanksPolicy>(reference::tanks_control(options));
  };
  return problem;
}

}  // namespace waggle
