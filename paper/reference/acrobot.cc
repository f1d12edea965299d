#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <waggle_paper/reference/known_state.h>
#include <waggle_paper/reference/problems.h>

#include "core/check.h"
#include "reference/starts.h"

namespace waggle::reference {

namespace {

constexpr std::array<double, 3> kJointTorques = {-1.0, 0.0, 1.0};
// What a grid need cover: a swing that just reaches the line is not faster.
constexpr double kShoulderSpeed = 6.0;
constexpr double kElbowSpeed = 10.0;
constexpr int kSweeps = 500;
constexpr float kStepTolerance = 1e-3F;  // steps

/// About how many steps it takes from a state, by value iteration on a grid of its four numbers,
/// linear between its points and constant beyond them.
class StepsToGo {
 public:
  StepsToGo(int angles, int velocities) : angles_(angles), velocities_(velocities) {
    const std::int32_t states = angles * angles * velocities * velocities;
    steps_.assign(static_cast<std::size_t>(states), 0.0F);
    std::vector<Move> moves;
    moves.reserve(kJointTorques.size() * steps_.size());
    for (std::int32_t i = 0; i < states; ++i) {
      for (const double torque : kJointTorques) {
        const AcrobotState next = moved(state_at(i), torque);
        moves.push_back({place_of(next), is_over(next)});
      }
    }
    // There and back again, since what changes spreads in either direction.
    float change = 1.0F;
    for (int sweep = 0; sweep < kSweeps && change > kStepTolerance; ++sweep) {
      change = 0.0F;
      for (std::int32_t k = 0; k < states; ++k) {
        const std::int32_t i = sweep % 2 == 0 ? k : states - 1 - k;
        float best = HUGE_VALF;
        for (std::size_t a = 0; a < kJointTorques.size(); ++a) {
          const Move& move = moves[kJointTorques.size() * static_cast<std::size_t>(i) + a];
          best = std::min(best, move.over ? 0.0F : 1.0F + at(move.place));
        }
        float& steps = steps_[static_cast<std::size_t>(i)];
        change = std::max(change, std::abs(best - steps));
        steps = best;
      }
    }
  }

  float operator()(const AcrobotState& state) const { return at(place_of(state)); }

 private:
  struct Place {
    std::array<std::int32_t, 4> below = {};
    std::array<float, 4> part = {};
  };
  struct Move {
    Place place;
    bool over = false;
  };

  AcrobotState state_at(std::int32_t i) const {
    const auto angle = [&](std::int32_t k) { return std::numbers::pi * (2.0 * k / angles_ - 1.0); };
    const auto speed = [&](std::int32_t k) { return 2.0 * k / (velocities_ - 1) - 1.0; };
    const std::int32_t turning = i % (velocities_ * velocities_);
    const std::int32_t turned = i / (velocities_ * velocities_);
    return {.shoulder = angle(turned / angles_),
            .elbow = angle(turned % angles_),
            .shoulder_velocity = kShoulderSpeed * speed(turning / velocities_),
            .elbow_velocity = kElbowSpeed * speed(turning % velocities_)};
  }

  Place place_of(const AcrobotState& s) const {
    Place place;
    const auto locate = [&](std::size_t i, double cell, std::int32_t last) {
      place.below[i] = std::min(static_cast<std::int32_t>(cell), last);
      place.part[i] = static_cast<float>(cell - place.below[i]);
    };
    const auto circle = [&](double angle) {
      return (angle / std::numbers::pi + 1.0) / 2.0 * angles_;
    };
    const auto line = [&](double speed, double limit) {
      return (std::clamp(speed / limit, -1.0, 1.0) + 1.0) / 2.0 * (velocities_ - 1);
    };
    locate(0, circle(s.shoulder), angles_ - 1);
    locate(1, circle(s.elbow), angles_ - 1);
    locate(2, line(s.shoulder_velocity, kShoulderSpeed), velocities_ - 2);
    locate(3, line(s.elbow_velocity, kElbowSpeed), velocities_ - 2);
    return place;
  }

  float at(const Place& place) const {
    const auto next = [&](std::int32_t angle) { return angle + 1 == angles_ ? 0 : angle + 1; };
    const std::int32_t shoulder = place.below[0];
    const std::int32_t elbow = place.below[1];
    const std::int32_t first = place.below[2];
    const std::int32_t second = place.below[3];
    const auto& part = place.part;
    const auto turning = [&](std::int32_t one, std::int32_t two) {
      const auto row =
          static_cast<std::size_t>(one * angles_ + two) * static_cast<std::size_t>(velocities_) +
          static_cast<std::size_t>(first);
      const float* low =
          &steps_[row * static_cast<std::size_t>(velocities_) + static_cast<std::size_t>(second)];
      const float* high = low + velocities_;
      const float slow = low[0] + part[3] * (low[1] - low[0]);
      const float fast = high[0] + part[3] * (high[1] - high[0]);
      return slow + part[2] * (fast - slow);
    };
    const auto both = [&](std::int32_t one) {
      const float low = turning(one, elbow);
      return low + part[1] * (turning(one, next(elbow)) - low);
    };
    const float low = both(shoulder);
    return low + part[0] * (both(next(shoulder)) - low);
  }

  std::int32_t angles_;
  std::int32_t velocities_;
  std::vector<float> steps_;
};

/// Steps before the one that ends it, of the best plan found; `most` if none is shorter.
Eigen::Index planned_steps(const StepsToGo& to_go, const AcrobotState& start, std::size_t beam,
                           Eigen::Index most) {
  struct Candidate {
    float to_go = 0.0F;
    AcrobotState state = {};
  };
  std::vector<AcrobotState> kept{start};
  std::vector<Candidate> candidates;
  for (Eigen::Index step = 0; step < most; ++step) {
    candidates.clear();
    for (const AcrobotState& state : kept) {
      for (const double torque : kJointTorques) {
        const AcrobotState next = moved(state, torque);
        if (is_over(next)) return step;
        candidates.push_back({to_go(next), next});
      }
    }
    const std::size_t count = std::min(beam, candidates.size());
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end - 1, candidates.end(),
                     [](const auto& a, const auto& b) { return a.to_go < b.to_go; });
    kept.clear();
    for (auto it = candidates.begin(); it != end; ++it) kept.push_back(it->state);
  }
  return most;
}

}  // namespace

void AcrobotPlanOptions::validate() const {
  acrobot.validate();
  require_short(acrobot.episode_steps);
  require(angles >= 4 && angles <= 40, "angles = {}: must be in [4, 40]", angles);
  require(velocities >= 4 && velocities <= 40, "velocities = {}: must be in [4, 40]", velocities);
  require(beam >= 1 && beam <= 100'000, "beam = {}: must be in [1, 100000]", beam);
  require(episodes >= 2 && episodes <= 100'000, "episodes = {}: must be in [2, 100000]", episodes);
}

ProgrammedReturn best_acrobot_plan(const AcrobotPlanOptions& options) {
  options.validate();
  const StepsToGo to_go(options.angles, options.velocities);
  Acrobot acrobot(options.acrobot);
  Percept percept;
  percept.observation.setZero(acrobot.spec().observation_size());
  ProgrammedReturn result;
  Eigen::VectorXd returns(options.episodes);
  for (Eigen::Index i = 0; i < returns.size(); ++i) {
    Draws draws = Random(0).at(Purpose::probe, static_cast<std::uint64_t>(i));
    acrobot.reset(draws, percept);
    result.promised -= to_go(acrobot.state());
    returns[i] = -static_cast<double>(planned_steps(to_go, acrobot.state(),
                                                    static_cast<std::size_t>(options.beam),
                                                    options.acrobot.episode_steps));
  }
  result.simulated = summarised(returns);
  result.promised /= static_cast<double>(options.episodes);
  return result;
}

void add_best(ControlProblem& problem, const AcrobotOptions& options) {
  problem.reference = [options] {
    const SimulatedReturn reached = best_acrobot_plan({.acrobot = options}).simulated;
    return ControlProblem::Reference{"beam search over plans from the whole state", reached.mean,
                                     reached.standard_error};
  };
}

}  // namespace waggle::reference
