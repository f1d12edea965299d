#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <waggle_paper/reference/problems.h>
#include <waggle_paper/reference/tiger.h>

#include "core/check.h"

namespace waggle::reference {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

/// What the next step may bring at each difference.
struct Lattice {
  VectorXd hear_left;              ///< p(n)
  VectorXd open_left, open_right;  ///< their rewards
  Index reach = 0;

  Lattice(const TigerOptions& options, Index size) : reach(size) {
    const Index count = 2 * reach + 1;
    hear_left.resize(count);
    open_left.resize(count);
    open_right.resize(count);
    for (Index i = 0; i < count; ++i) {
      const double left = tiger_belief(options, i - reach);
      const double right = tiger_belief(options, reach - i);  // 1 − left, but not rounded to 0
      hear_left[i] = options.accuracy * left + (1.0 - options.accuracy) * right;
      open_left[i] = options.gold * right - options.tiger_cost * left;
      open_right[i] = options.gold * left - options.tiger_cost * right;
    }
  }

  /// E[next(n')] after listening at place i; at its ends the lattice holds.
  double listened(const VectorXd& next, Index i) const {
    const double more = next[std::min(i + 1, next.size() - 1)];
    const double less = next[std::max<Index>(i - 1, 0)];
    return hear_left[i] * more + (1.0 - hear_left[i]) * less;
  }
};

/// Steps after which γ makes everything less than rounding.
Index horizon(double discount) {
  constexpr double kNothing = 1e-17;
  return discount > 0.0 ? static_cast<Index>(std::ceil(std::log(kNothing) / std::log(discount)))
                        : 1;
}

/// Differences after which b is 0 or 1 to the last digit.
Index certainty(double accuracy) {
  constexpr double kCertain = 40.0;                           // e^-40 is below half of 2^-53
  const double odds = std::log(accuracy / (1.0 - accuracy));  // of one sound; ∞ if it is certain
  const double steps = std::ceil(kCertain / odds);            // ∞ if it tells nothing
  return static_cast<Index>(std::clamp(steps, 1.0, 1e9));
}

}  // namespace

double tiger_belief(const TigerOptions& options, Index difference) {
  const double odds = (1.0 - options.accuracy) / options.accuracy;
  return 1.0 / (1.0 + std::pow(odds, static_cast<double>(difference)));
}

Tiger::Choice TigerSolution::choice(Index difference) const {
  return choices[static_cast<std::size_t>(std::clamp(difference, -reach, reach) + reach)];
}

TigerSolution solve_tiger(const TigerOptions& options, double discount) {
  options.validate();
  require(discount >= 0.0 && discount <= 0.99, "discount = {}: must be in [0, 0.99]", discount);
  const Index steps = horizon(discount);
  TigerSolution solution{.options = options, .discount = discount};
  solution.reach = std::min(certainty(options.accuracy), steps);
  const Lattice lattice(options, solution.reach);
  const Index count = 2 * solution.reach + 1;
  const Index middle = solution.reach;

  VectorXd values = VectorXd::Zero(count);
  VectorXd better(count);
  solution.choices.assign(static_cast<std::size_t>(count), Tiger::listen);
  for (Index step = 0; step < steps; ++step) {
    const double opened = discount * values[middle];
    for (Index i = 0; i < count; ++i) {
      const double listen = discount * lattice.listened(values, i) - options.listen_cost;
      const double left = lattice.open_left[i] + opened;
      const double right = lattice.open_right[i] + opened;
      Tiger::Choice& choice = solution.choices[static_cast<std::size_t>(i)];
      choice = Tiger::listen;
      better[i] = listen;
      if (left > better[i]) {
        choice = Tiger::open_left;
        better[i] = left;
      }
      if (right > better[i]) {
        choice = Tiger::open_right;
        better[i] = right;
      }
    }
    values.swap(better);
  }
  solution.values = values;

  const bool cut = options.episode_steps > 0 && options.episode_steps < steps;
  VectorXd earned = VectorXd::Zero(count);
  for (Index step = 0; step < (cut ? options.episode_steps : steps); ++step) {
    const double opened = discount * earned[middle];
    for (Index i = 0; i < count; ++i) {
      const Tiger::Choice choice = solution.choices[static_cast<std::size_t>(i)];
      better[i] = choice == Tiger::listen
                      ? discount * lattice.listened(earned, i) - options.listen_cost
                      : opened + (choice == Tiger::open_left ? lattice.open_left[i]
                                                             : lattice.open_right[i]);
    }
    earned.swap(better);
  }
  solution.episode_value = earned[middle];
  return solution;
}

using Eigen::Ref;

namespace {

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

void add_best(ControlProblem& problem, const TigerOptions& options) {
  problem.reference = [options, discount = problem.discount] {
    const TigerSolution solution = solve_tiger(options, discount);
    std::string label = "the optimum, exact, by dynamic programming over beliefs";
    if (options.episode_steps > 0) {
      label += fmt::format("; {:.4f} if episodes went on after {} steps", solution.value(),
                           options.episode_steps);
    }
    return ControlProblem::Reference{.label = label, .score = solution.episode_value};
  };
  problem.reference_policy = [options, discount = problem.discount] {
    return std::make_unique<TigerPolicy>(solve_tiger(options, discount));
  };
}

}  // namespace waggle::reference
