#include "bee_session.h"

#include <algorithm>
#include <limits>

#include <waggle_paper/presets.h>

#include <waggle/detail/require.h>
#include <waggle/fit/states.h>

namespace waggle::playground {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr int kGhostSteps = 2000;     // of the ghost's flight at a time
constexpr int kGhostGrid = 1000;      // c in steps of 0.001 is then a whole number of cells
constexpr Index kRecentSteps = 1000;  // at leak 0.1 what is older weighs 1e-45

/// Throws Error unless the learner is one the page may ask for.
const BeeLearner& validated(const BeeLearner& learner) {
  require(learner.units >= 1 && learner.units <= 1000, "units = {}: must be in [1, 1000]",
          learner.units);
  require(learner.experience >= 100 && learner.experience <= BeeSession::kMostSteps,
          "experience = {}: must be in [100, {}]", learner.experience, BeeSession::kMostSteps);
  fit_options(learner, 0).validate();
  return learner;
}

reference::OptimalFlightOptions ghost_options(const BeeWorldOptions& world, double discount) {
  return {.world = world, .discount = discount, .steps = kGhostSteps, .grid = kGhostGrid};
}

}  // namespace

FitOptions fit_options(const BeeLearner& learner, std::uint64_t seed) {
  FitOptions options = presets::iterated().fit;
  options.sweeps = 0;  // one solve
  options.reservoir.units = learner.units;
  options.reservoir.input_scaling = 1.5;
  options.reservoir.operator_norm = learner.memory;
  options.reservoir.seed = seed;
  options.value.discount = learner.discount;
  options.value.solve.ridge = learner.ridge;
  return options;
}

/// Lets a policy act and writes down what a page wants to see of each step.
class BeeSession::Watch final : public Policy {
 public:
  Watch(BeeSession& session, Policy& policy) : session_(session), policy_(policy) {}

  void begin_episode() override { policy_.begin_episode(); }

  void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
    policy_.act(percept, draws, action);
    const reference::EndlessFlight::Step ghost = session_.ghost_.next();
    auto row = session_.rows_.col(column_);
    row[position] = session_.world_.position();
    row[nectar] = percept.reward;
    row[move] = action[0];
    row[value] =
        session_.policy_ ? session_.policy_->value() : std::numeric_limits<double>::quiet_NaN();
    row[ghost_position] = ghost.position;
    row[ghost_nectar] = ghost.nectar;
    for (Index i = 0; i < kCells; ++i) {
      session_.field_(i, column_) =
          waggle::nectar(session_.world_options_, (static_cast<double>(i) + 0.5) / kCells,
                         static_cast<double>(session_.time_));
    }
    ++column_;
    ++session_.time_;
  }

 private:
  BeeSession& session_;
  Policy& policy_;
  Index column_ = 0;  // of this step
};

BeeSession::BeeSession(const BeeWorldOptions& world, const BeeLearner& learner, std::uint64_t seed)
    : world_options_(world),
      learner_(validated(learner)),
      seed_(seed),
      world_(world),
      simulation_(world_, seed),
      random_(simulation_.spec().actions),
      experience_(1, 0),
      recent_(1, 0),
      ghost_(ghost_options(world, learner.discount)),
      optimum_(ghost_.stretch().mean_nectar) {}

BeeSession::~BeeSession() = default;

void BeeSession::set_learner(const BeeLearner& learner) {
  const bool new_discount = validated(learner).discount != learner_.discount;
  learner_ = learner;
  if (!new_discount) return;
  optimum_ = reference::optimal_flight(ghost_options(world_options_, learner.discount)).mean_nectar;
  ghost_.set_discount(learner.discount);
}

void BeeSession::fly(Flight flight, Index steps) {
  require(steps >= 1 && steps <= kMostSteps, "steps = {}: must be in [1, {}]", steps, kMostSteps);
  require(flight == Flight::random || learnt_,
          "the bee has learnt nothing yet: fly at random, then learn");
  rows_.resize(column_count, steps);
  field_.resize(kCells, steps);
  if (policy_ && flight != flying_) take_over(flight, policy_->state());
  Watch watch(*this, policy_ ? static_cast<Policy&>(*policy_) : random_);
  remember(flight, simulation_.run(watch, {.steps = steps}).trajectory);
}

void BeeSession::remember(Flight flight, const Trajectory& flown) {
  const auto append = [&](Trajectory& to, Index keep) {
    to.append(flown);
    if (to.steps() <= 2 * keep) return;
    Trajectory kept(1, 0);
    kept.append(to, to.steps() - keep, keep);
    to = std::move(kept);
  };
  append(recent_, kRecentSteps);
  if (flight == Flight::greedy) {
    contiguous_ = false;
    return;
  }
  // Steps were flown in between: what comes next is another episode.
  if (!contiguous_ && experience_.steps() > 0) experience_.end_episode(EpisodeEnd::truncated);
  contiguous_ = true;
  append(experience_, kMostSteps);
}

void BeeSession::take_over(Flight flight, VectorXd state) {
  const Exploration exploration = {.epsilon = flight == Flight::random      ? 1.0
                                              : flight == Flight::exploring ? 0.1
                                                                            : 0.0};
  policy_.emplace(learnt_->controller, exploration, std::move(state));
  flying_ = flight;
}

void BeeSession::learn() {
  require(experience_.steps() > 0, "there is no experience to learn from: fly at random first");
  const Index count = std::min(learner_.experience, experience_.steps());
  Trajectory log(1, 0);
  log.append(experience_, experience_.steps() - count, count);
  learnt_ = learn_from_log(simulation_.spec(), log, fit_options(learner_, seed_));
  // The new network has to remember what the bee has just seen.
  VectorXd state = VectorXd::Zero(learnt_->controller.reservoir->units());
  for_each_block(*learnt_->controller.reservoir, learnt_->controller.layout, recent_, state,
                 [](const StateBlock&) {});
  take_over(flying_, std::move(state));
}

void BeeSession::copy_memory(VectorXd& memory) const {
  if (policy_) {
    const auto& network = *as<EchoStateNetwork>(*learnt_->controller.reservoir);
    memory = policy_->state().head(network.nonlinear_units());
  } else {
    memory.resize(0);
  }
}

double BeeSession::residual() const {
  require(has_learnt(), "nothing was learnt yet");
  return learnt_->diagnostics.residual;
}

}  // namespace waggle::playground
