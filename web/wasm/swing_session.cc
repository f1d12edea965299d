#include "swing_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <variant>

#include <waggle/cart_pole.h>
#include <waggle/evaluation.h>
#include <waggle/pendulum.h>
#include <waggle/presets.h>

#include "core/check.h"
#include "quick_fit.h"

namespace waggle::playground {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kDiscount = 0.98;  // as pendulum_problem's and cart_pole_problem's
constexpr double kShownSeconds = 20.0;
constexpr Index kToldRows = 200;  // of practice, after which the page is told at the latest
constexpr double kWithin = 0.9;   // of what ends an episode, to which the cart may be dragged
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

double wrapped(double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  return angle - kTurn * std::floor(angle / kTurn + 0.5);
}

double time_step(SwingSystem system) {
  return system == SwingSystem::pendulum ? kPendulumTimeStep : kCartPoleTimeStep;
}

}  // namespace

LearnOptions learn_options(const SwingLearner& learner, std::uint64_t seed) {
  LearnOptions options = presets::predictive();
  options.fit = quick_fit(learner.units, kDiscount, seed);
  options.collect.steps = learner.steps;
  return options;
}

class SwingStage final : public Environment {
 public:
  using Row = Eigen::Matrix<double, SwingSession::ahead, 1>;
  using Record = std::function<void(const Row& row)>;

  /// As it is practised with and judged, or in longer episodes that begin with a hanging rod, as it
  /// is shown.
  SwingStage(const SwingWorld& world, bool shown)
      : shown_(shown), world_(world), system_(made(world)), sensor_(world.sensor) {
    seen_.setZero(2);
  }

  Record record = {};  ///< told of every step

  EnvironmentSpec spec() const override {
    return std::visit([](const auto& system) { return system.spec(); }, system_);
  }

  void reset(Draws& draws, Percept& percept) override {
    std::visit([&](auto& system) { system.reset(draws, percept); }, system_);
    if (auto* pendulum = std::get_if<Pendulum>(&system_); pendulum && shown_) {
      const PendulumState start = pendulum->state();
      pendulum->set_state({.angle = std::numbers::pi + 0.1 * start.angle,
                           .angular_velocity = start.angular_velocity});
    }
    steps_ = 0;
    write_output(percept.observation);
    sensor_.reset(draws, percept.observation);
    seen_ = percept.observation;
  }

  void step(const Ref<const VectorXd>& action, Draws& draws, Percept& percept) override {
    if (held_) set_state(*held_);
    Row row;
    write_state(row);
    row[SwingSession::episode_step] = static_cast<double>(steps_);
    std::visit([&](auto& system) { system.step(action, draws, percept); }, system_);
    row[SwingSession::action] = is_pendulum()     ? action[0]
                                : action[0] > 0.5 ? kCartPoleForce
                                                  : -kCartPoleForce;
    row[SwingSession::reward] = percept.reward;
    ++steps_;
    if (new_sensor_) {
      sensor_.reset(draws, percept.observation);
      new_sensor_ = false;
    } else {
      sensor_.see(draws, percept.observation);
    }
    seen_ = percept.observation;
    if (record) record(row);
  }

  void set_world(const SwingWorld& world) {
    const CartPoleState state = this->state();
    if (world.sensor.noise != world_.sensor.noise || world.sensor.delay != world_.sensor.delay) {
      sensor_ = Sensor(world.sensor);
      new_sensor_ = true;
    }
    world_ = world;
    system_ = made(world);
    set_state(state);
  }

  void hold(double position, double angle) {
    require(std::abs(position) <= 1e6 && std::abs(angle) <= 1e6,
            "hold: {} and {} must be finite and within ±1e6", position, angle);
    if (is_pendulum()) {
      held_ = CartPoleState{.angle = angle};
      return;
    }
    constexpr double kTrack = kWithin * kCartPoleHalfTrack;
    constexpr double kLean = kWithin * kCartPoleLargestAngle;
    held_ = CartPoleState{.position = std::clamp(position, -kTrack, kTrack),
                          .angle = std::clamp(angle, -kLean, kLean)};
  }
  void let_go() { held_.reset(); }

  void push(double angular_velocity) {
    CartPoleState pushed = state();
    pushed.angular_velocity += angular_velocity;
    if (is_pendulum()) {
      pushed.angular_velocity =
          std::clamp(pushed.angular_velocity, -kPendulumSpeed, kPendulumSpeed);
    }
    set_state(pushed);
  }

 private:
  using System = std::variant<Pendulum, CartPole>;

  System made(const SwingWorld& world) const {
    if (world.system == SwingSystem::pendulum) {
      PendulumOptions options;
      if (shown_) options.episode_steps = std::lround(kShownSeconds / kPendulumTimeStep);
      options.gravity *= world.gravity;
      options.mass *= world.mass;
      return System(std::in_place_type<Pendulum>, options);
    }
    CartPoleOptions options;
    if (shown_) options.episode_steps = std::lround(kShownSeconds / kCartPoleTimeStep);
    options.gravity *= world.gravity;
    options.pole_mass *= world.mass;
    return System(std::in_place_type<CartPole>, options);
  }

  bool is_pendulum() const { return std::holds_alternative<Pendulum>(system_); }

  /// Of the pendulum, which has no cart, position and velocity are 0.
  CartPoleState state() const {
    if (const auto* cart = std::get_if<CartPole>(&system_)) return cart->state();
    const PendulumState& rod = std::get<Pendulum>(system_).state();
    return {.angle = rod.angle, .angular_velocity = rod.angular_velocity};
  }
  void set_state(const CartPoleState& state) {
    if (auto* cart = std::get_if<CartPole>(&system_)) {
      cart->set_state(state);
    } else {
      std::get<Pendulum>(system_).set_state({wrapped(state.angle), state.angular_velocity});
    }
  }

  void write_output(Ref<VectorXd> y) const {
    const CartPoleState now = state();
    if (is_pendulum()) {
      y << std::cos(now.angle), std::sin(now.angle);
    } else {
      y << now.position, now.angle;
    }
  }
  void write_state(Row& row) const {
    const CartPoleState now = state();
    row[SwingSession::position] = now.position;
    row[SwingSession::angle] = wrapped(now.angle);
    row[SwingSession::velocity] = now.velocity;
    row[SwingSession::angular_velocity] = now.angular_velocity;
    row[SwingSession::seen_position] = is_pendulum() ? 0.0 : seen_[0];
    row[SwingSession::seen_angle] = is_pendulum() ? std::atan2(seen_[1], seen_[0]) : seen_[1];
  }

  bool shown_;
  SwingWorld world_;
  System system_;
  Sensor sensor_;
  bool new_sensor_ = false;  // that has seen nothing yet
  Index steps_ = 0;          // of this episode
  VectorXd seen_;            // last
  std::optional<CartPoleState> held_;
};

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
  learn_options(learner, seed).validate();
  ahead_.setConstant(kNone);
}

SwingSession::~SwingSession() = default;

void SwingSession::learn(const std::function<bool()>& watch) {
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
  const LearnOptions options = learn_options(learner_, seed_);
  Learnt learnt = waggle::learn(simulation, initial, options,
                                {.progress = [this](const Progress& /*progress*/) {
                                  practice_.fitting = true;
                                  return tell();
                                }});
  require(learnt.usable(), "nothing could be learnt");
  mark_fit();
  SwingStage judged(world_, false);
  GreedyPolicy policy = learnt.policy();
  score_ = score_episodes(judged, policy, {.episodes = kJudged, .seed = seed_ + 1}).mean_return;
  learnt_ = std::move(learnt);
  tell();
  practice_.watch = {};
}

void SwingSession::practised(const Eigen::Ref<const VectorXd>& row) {
  if (practice_.fitting) mark_fit();
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
  return !practice_.watch || practice_.watch();
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
  const PredictiveNetwork& network = *learnt_->controller.predictive();
  const HistoryMemory& memory = network.memory();
  seen.setZero(memory.seen_size());
  Index at = memory.size() + network.channels();
  for (const PredictiveHead& head : network.heads()) {
    // What is seen comes last in a predictive state.
    seen += state.segment(at + head.size() - seen.size(), seen.size());
    at += head.after();
  }
  seen /= static_cast<double>(network.heads().size());
  for (Index i = 0; i < seen.size(); ++i) {
    const Index channel = memory.seen_channel(i);
    seen[i] = learnt_->scaling->mean[channel] + learnt_->scaling->spread[channel] * seen[i];
  }
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
