#include <algorithm>
#include <cmath>
#include <vector>

#include <waggle_paper/reference/known_state.h>
#include <waggle_paper/reference/problems.h>

#include "core/check.h"
#include "reference/grid_program.h"
#include "reference/starts.h"

namespace waggle::reference {

namespace {

constexpr int kClimbHorizon = 1000;  // steps looked ahead, at most
constexpr int kForces = 5;           // to each side, tried in the program
constexpr int kForcesActed = 40;     // and in acting on it
constexpr int kParts = 50;           // of all starts, from each of which two are drawn

struct Climb {
  MountainCarOptions options;

  PlaneStep step(const PlaneState& s, double force) const {
    const MountainCarState next = moved(options, {.position = s[0], .velocity = s[1]}, force);
    const bool over = is_over(next);
    return {.next = {next.position, next.velocity},
            .reward = (over ? kMountainCarGoalReward : 0.0) - 0.1 * force * force,
            .over = over};
  }
};

/// Closer together where they are small: gentle ones are the best, if there is time.
std::vector<double> forces(int count) {
  std::vector<double> all{0.0};
  for (int i = 1; i <= count; ++i) {
    const double force = std::pow(static_cast<double>(i) / count, 1.5);
    all.insert(all.end(), {force, -force});
  }
  return all;
}

}  // namespace

void ClimbOptions::validate() const {
  car.validate();
  require_short(car.episode_steps);
  require(discount > 0.0 && discount <= 1.0, "discount = {}: must be in (0, 1]", discount);
  require(positions >= 10 && positions <= 2000, "positions = {}: must be in [10, 2000]", positions);
  require(velocities >= 10 && velocities <= 2000, "velocities = {}: must be in [10, 2000]",
          velocities);
}

ProgrammedReturn best_climb(const ClimbOptions& options) {
  options.validate();
  const Eigen::Index steps = options.car.episode_steps;
  const int horizon = static_cast<int>(std::min<Eigen::Index>(steps, kClimbHorizon));
  const GridProgram<Climb> program(
      Climb{options.car},
      {.axes = {GridAxis{kMountainCarWall, kMountainCarEnd, options.positions},
                GridAxis{-kMountainCarSpeed, kMountainCarSpeed, options.velocities}},
       .actions = forces(kForces),
       .horizon = horizon,
       .discount = options.discount,
       .dense = 100,
       .stride = 10});

  return program.act(steps, forces(kForcesActed), kParts, [](int part, Draws& draws) {
    return PlaneState{-0.6 + 0.2 * (part + draws.uniform()) / kParts, 0.0};
  });
}

void add_best(ControlProblem& problem, const MountainCarOptions& options) {
  problem.reference = [options] {
    const SimulatedReturn reached = best_climb({.car = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state, in no hurry",
                                     reached.mean, reached.standard_error};
  };
}

}  // namespace waggle::reference
