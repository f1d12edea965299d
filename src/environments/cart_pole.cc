#include <waggle/environments.h>
#include <waggle/reference/cart_pole.h>

namespace waggle {

using Eigen::Ref;
using Eigen::VectorXd;

namespace {

class RegulatorPolicy final : public Policy {
 public:
  explicit RegulatorPolicy(const CartPoleOptions& options) : regulator_(options) {}

  void begin_episode() override { regulator_.reset(); }
  void act(const Percept& percept, Draws& /*draws*/, Ref<VectorXd> action) override {
    action[0] = regulator_.decide(percept.observation) ? 1.0 : 0.0;
  }
  void applied(const Ref<const VectorXd>& action) override { regulator_.applied(action[0] > 0.5); }

 private:
  reference::CartPoleRegulator regulator_;
};

}  // namespace

ControlProblem cart_pole_problem(const CartPoleOptions& options) {
  ControlProblem problem = problem_of(std::make_unique<CartPole>(options), 0.98,
                                      ControlProblem::Score::episode_return);
  problem.reference = [options] {
    const reference::SimulatedReturn reached = reference::regulated_cart_pole(options);
    return ControlProblem::Reference{"Kalman filter and LQR of the true model", reached.mean,
                                     reached.standard_error};
  };
  problem.reference_policy = [options] { return std::make_unique<RegulatorPolicy>(options); };
  return problem;
}

}  // namespace waggle
