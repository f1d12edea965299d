#include "swing_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <waggle/detail/require.h>
#include <waggle/env/cart_pole.h>
#include <waggle/env/pendulum.h>
#include <waggle/evaluation.h>
#include <waggle/presets.h>

#include "quick_fit.h"
#include "swing_stage.h"

namespace waggle::playground {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kToldRows = 200;  // of practice, after which the page is told at the latest
constexpr Index kSoonest = 3000;  // steps of practice, before which it is not tried
constexpr Index kSwings = 8;      // trials with the pendulum that end practice if all go well,
constexpr Index kSwingSteps = 200;
constexpr Index kHeldSteps = 20;      // at the end of which it must have been upright for so many
constexpr double kUpright = 0.95;     // or more, cos θ
constexpr Index kBalances = 4;        // and with the cart,
constexpr Index kBalanceSteps = 999;  // in which the pole must not fall
constexpr std::uint64_t kTrialSeed = 1'000'000;  // added to the seed, and the trial's number
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const SwingWorld& validated(const SwingWorld& world) {
  world.sensor.validate();
  require(world.sensor.noise <= 10.0, "noise = {}: must be at most 10", world.sensor.noise);
  require(world.gravity >= 0.0 && world.gravity <= 10.0, "gravity = {}: must be in [0, 10]",
          world.gravity);
  require(world.mass >= 0.1 && world.mass <= 10.0, "mass = {}: must be in [0.1, 10]", world.mass);
  return world;
}

const SwingLearner& validated(const SwingLearner& learner) {
  require(learner.units >= 1 && learner.units <= 500, "units = {}: must be in [1, 500]",
          learner.units);
  require(learner.steps >= 100 && learner.steps <= 50'000, "steps = {}: must be in [100, 50000]",
          learner.steps);
  return learner;
}

/// Ends practice from within: what was learnt is good enough.
struct Enough {};

double discount(SwingSystem system) {
  return system == SwingSystem::pendulum ? pendulum_problem().discount
                                         : cart_pole_problem().discount;
}

double time_step(SwingSystem system) {
  return system == SwingSystem::pendulum ? kPendulumTimeStep : kCartPoleTimeStep;
}

}  // namespace

LearnOptions learn_options(SwingSystem system, const SwingLearner& learner, std::uint64_t seed) {
  LearnOptions options = presets::predictive();
  options.fit = quick_fit(learner.units, discount(system), seed);
  options.collect.steps = learner.steps;
  return options;
}

/// Lets what was learnt act, and notes what it expects.
class SwingSession::Watch final : public Policy {
 public:
  explicit Watch(SwingSession& session) : session_(session) {}
  void begin_episode() override { session_.policy_->begin_episode(); }
  void act(const Percept& percept, Draws& draws, Ref<VectorXd> action) override {
    session_.policy_->act(percept, draws, action);
    session_.foresee();
  }
  void end_episode(const Percept& percept) override { session_.policy_->end_episode(percept); }

 private:
  SwingSession& session_;
};

SwingSession::SwingSession(const SwingWorld& world, const SwingLearner& learner, std::uint64_t seed)
    : world_(validated(world)), learner_(validated(learner)), seed_(seed) {
  learn_options(world.system, learner, seed).validate();
  ahead_.setConstant(kNone);
}

SwingSession::~SwingSession() = default;

void SwingSession::learn(const ProgressCallback& watch) {
  simulation_.reset();
  learnt_.reset();
  practice_ = Practice{.watch = watch};
  rows_.clear();
  marks_.clear();
  ahead_.setConstant(kNone);
  stage_ = std::make_unique<SwingStage>(world_, false);
  stage_->record = [this](const SwingStage::Row& row) { practised(row); };
  Simulation simulation(*stage_, seed_);
  HeldUniformPolicy initial(simulation.spec().actions);
  const LearnOptions options = learn_options(world_.system, learner_, seed_);
  try {
    learnt_ =
        waggle::learn(simulation, initial, options, {.progress = [this](const Progress& progress) {
                        if (progress.model != nullptr) practice_.model = progress.model;
                        practice_.fitting = true;
                        return tell();
                      }});
    require(learnt_->usable(), "nothing could be learnt");
    mark_fit();
  } catch (const Enough&) {
    // learnt_ is what was good enough.
  } catch (...) {
    learnt_.reset();
    throw;
  }
  SwingStage judged(world_, false);
  GreedyPolicy policy = learnt_->policy();
  score_ = score_episodes(judged, policy, {.episodes = kJudged, .seed = seed_ + 1}).mean_return;
  tell();
  practice_.watch = {};
  practice_.model = nullptr;
}

bool SwingSession::is_able(const Model& model) const {
  if (!model.usable()) return false;
  const bool cart = world_.system == SwingSystem::cart_pole;
  for (Index trial = 0; trial < (cart ? kBalances : kSwings); ++trial) {
    SwingStage stage(world_, true);
    Index taken = 0, held = 0;  // the last steps of one episode, all of them upright
    stage.record = [&](const SwingStage::Row& row) {
      const bool up = cart || std::cos(row[angle]) > kUpright;
      held = !up ? 0 : row[episode_step] == 0.0 ? 1 : held + 1;
      ++taken;
    };
    Simulation simulation(stage, seed_ + kTrialSeed + static_cast<std::uint64_t>(trial));
    GreedyPolicy policy = model.policy();
    simulation.run(policy, {.steps = cart ? kBalanceSteps : kSwingSteps});
    if (held < (cart ? taken : kHeldSteps)) return false;
  }
  return true;
}

void SwingSession::practised(const Eigen::Ref<const VectorXd>& row) {
  if (practice_.fitting) {
    // What it has just learnt is about to act for the first time.
    mark_fit();
    const Model* model = practice_.model;
    if (practice_.steps >= kSoonest && model != nullptr && is_able(*model)) {
      learnt_ = *model;
      throw Enough();
    }
  }
  if (row[episode_step] == 0.0 && practice_.steps > 0) end_practice_episode();
  ++practice_.steps;
  practice_.episode_return += row[reward];
  record(row);
  if (std::ssize(rows_) >= kToldRows * column_count) tell();
}

void SwingSession::end_practice_episode() {
  marks_.push_back({.steps = practice_.steps, .score = practice_.episode_return});
  practice_.returns += practice_.episode_return;
  ++practice_.ended;
  practice_.episode_return = 0.0;
}

void SwingSession::mark_fit() {
  practice_.fitting = false;
  if (practice_.ended > 0) {
    practice_.score = practice_.returns / static_cast<double>(practice_.ended);
    practice_.returns = 0.0;
    practice_.ended = 0;
  }
  marks_.push_back({.steps = practice_.steps, .score = practice_.score, .fit = true});
}

bool SwingSession::tell() {
  show();
  return !practice_.watch || practice_.watch({.what = "practice",
                                              .done = static_cast<double>(practice_.steps),
                                              .total = static_cast<double>(learner_.steps)});
}

void SwingSession::record(const Eigen::Ref<const VectorXd>& row) {
  rows_.insert(rows_.end(), row.begin(), row.end());
  rows_.insert(rows_.end(), ahead_.begin(), ahead_.end());
}

void SwingSession::show() {
  shown_ = Eigen::Map<const Eigen::MatrixXd>(rows_.data(), column_count,
                                             std::ssize(rows_) / column_count);
  rows_.clear();
  shown_marks_.resize(3, std::ssize(marks_));
  for (Index i = 0; i < shown_marks_.cols(); ++i) {
    const Mark& mark = marks_[static_cast<std::size_t>(i)];
    shown_marks_.col(i) << static_cast<double>(mark.steps), mark.score, mark.fit ? 1.0 : 0.0;
  }
  marks_.clear();
}

void SwingSession::run(Index steps) {
  require(steps >= 1 && steps <= kMostSteps, "steps = {}: must be in [1, {}]", steps, kMostSteps);
  require(learnt_.has_value(), "nothing was learnt yet: learn first");
  if (!simulation_) {
    stage_ = std::make_unique<SwingStage>(world_, true);
    stage_->record = [this](const SwingStage::Row& row) { record(row); };
    simulation_.emplace(*stage_, seed_ + 2);
    policy_.emplace(learnt_->policy());
    mind_.emplace(learnt_->controller, policy_->state());
  }
  Watch watch(*this);
  simulation_->run(watch, {.steps = steps});
  show();
}

void SwingSession::foresee() {
  const SwingSystem system = world_.system;
  mind_->set_states(policy_->state());
  Percept imagined;
  imagined.observation.resize(2);
  Draws draws(seed_, Purpose::user, 0);  // none is drawn
  Eigen::MatrixXd chosen(1, 1);
  const Index only = 0;
  Index at = 0;
  for (Index step = 1;; ++step) {
    expected(mind_->states().col(0), imagined.observation);
    const VectorXd& seen = imagined.observation;
    if (step == kAhead[static_cast<std::size_t>(at)]) {
      ahead_[2 * at] = system == SwingSystem::pendulum ? 0.0 : seen[0];
      ahead_[2 * at + 1] = system == SwingSystem::pendulum ? std::atan2(seen[1], seen[0]) : seen[1];
      if (++at == std::ssize(kAhead)) return;
    }
    mind_->act({&imagined, 1}, {&only, 1}, {&draws, 1}, chosen);
  }
}

void SwingSession::expected(const Eigen::Ref<const VectorXd>& state, VectorXd& seen) const {
  seen = learnt_->forecast(state);
}

void SwingSession::set_world(const SwingWorld& world) {
  require(validated(world).system == world_.system, "another system is another session: open one");
  world_ = world;
  if (stage_) stage_->set_world(world);
}

SwingStage& SwingSession::stage() {
  require(simulation_.has_value(), "nothing runs yet: learn and run first");
  return *stage_;
}

void SwingSession::hold(double where, double leaning) { stage().hold(where, leaning); }
void SwingSession::let_go() { stage().let_go(); }
void SwingSession::push(double change) {
  require(std::abs(change) <= 100.0, "push: {} must be finite and within ±100", change);
  stage().push(change);
}

double SwingSession::seconds_a_step() const { return time_step(world_.system); }

double SwingSession::score() const {
  require(has_learnt(), "nothing was learnt yet");
  return score_;
}

}  // namespace waggle::playground
