#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <waggle/environments.h>
#include <waggle/reference/tiger.h>

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kDiscount = 0.95;  // of the published values

/// Keeps the belief, which is the difference of the sounds since a door was last opened, and makes
/// the best choice at it.
class TigerPolicy final : public Policy {
 public:
  explicit TigerPolicy(reference::TigerSolution solution) : solution_(std::move(solution)) {}

  void begin_episode() override {
    difference_ = 0;
    last_ = Tiger::open_left;  // nothing that is heard at first tells anything
  }
  void act(const Percept& percept, Draws& /*draws*/, Ref<VectorXd> action) override {
    if (last_ == Tiger::listen) {
      difference_ += percept.observation[0] > percept.observation[1] ? 1 : -1;
    } else {
      difference_ = 0;
    }
    last_ = solution_.choice(difference_);
    action[0] = last_;
  }
  void applied(const Ref<const VectorXd>& action) override {
    last_ = static_cast<Tiger::Choice>(std::lround(action[0]));
  }

 private:
  reference::TigerSolution solution_;
  Index difference_ = 0;
  Tiger::Choice last_ = Tiger::open_left;
};

}  // namespace

ControlProblem tiger_problem(const TigerOptions& options) {
  ControlProblem problem = problem_of(std::make_unique<Tiger>(options), kDiscount,
                                      ControlProblem::Score::discounted_return);
  problem.initial_name = "random choices";
  problem.episodic = options.episode_steps > 0;
  problem.reference = [options] {
    const reference::TigerSolution solution = reference::solve_tiger(options, kDiscount);
    std::string label = "the optimum, exact, by dynamic programming over beliefs";
    if (options.episode_steps > 0) {
      label += fmt::format("; {:.4f} if episodes went on after {} steps", solution.value(),
                           options.episode_steps);
    }
    return ControlProblem::Reference{.label = label, .score = solution.episode_value};
  };
  problem.reference_policy = [options] {
    return std::make_unique<TigerPolicy>(reference::solve_tiger(options, kDiscount));
  };
  return problem;
}

}  // namespace waggle
