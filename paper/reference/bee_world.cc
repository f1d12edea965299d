#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include <waggle_paper/optimal_flight_policy.h>
#include <waggle_paper/reference/bee_world.h>
#include <waggle_paper/reference/problems.h>

#include "core/check.h"

namespace waggle::reference {
namespace {

constexpr double kNeglected = 1e-12;

/// sin(2πi/grid). Folded into the first quarter turn, so that cells that mirror each other hold the
/// same bits and moves that are equally good tie exactly.
std::vector<double> sine_table(int grid) {
  std::vector<double> table(grid);
  for (int i = 0; i < grid; ++i) {
    const int half = std::min(i, grid - i);
    const int quarter = std::min(2 * half, grid - 2 * half);  // in units of half a cell
    const double sine = std::sin(std::numbers::pi * quarter / grid);
    table[i] = 2 * i <= grid ? sine : -sine;
  }
  return table;
}

/// The maximum of a sliding window on the circle, in O(1) per cell however wide the window.
class WindowMaximum {
 public:
  WindowMaximum(int grid, int half_width)
      : grid_(grid),
        half_width_(half_width),
        forward_(grid),
        backward_(grid),
        queue_(2 * static_cast<std::size_t>(grid)) {}

  /// For every cell i, the best cell within the half width: fills best[i] with its value and
  /// moves[i] with the signed number of cells to it.
  void operator()(const std::vector<double>& values, std::vector<double>& best,
                  std::int16_t* moves) {
    one_side(values, +1, forward_);
    one_side(values, -1, backward_);
    for (int i = 0; i < grid_; ++i) {
      const Candidate& up = forward_[i];
      const Candidate& down = backward_[i];
      const bool take_up =
          up.value > down.value || (up.value == down.value && up.distance <= down.distance);
      best[i] = take_up ? up.value : down.value;
      moves[i] = static_cast<std::int16_t>(take_up ? up.distance : -down.distance);
    }
  }

 private:
  struct Candidate {
    double value;
    int distance;  ///< inside the queue: when it was pushed
  };

  /// The largest of values[i], values[i + d], …, values[i + half_width·d], and of equals the
  /// nearest. Walks against d with a queue of falling values: each cell pushed removes those that
  /// are no larger and further away, so the front is the maximum.
  void one_side(const std::vector<double>& values, int d, std::vector<Candidate>& result) {
    int front = 0;
    int back = 0;
    int cell = d > 0 ? half_width_ % grid_ : (grid_ - half_width_) % grid_;
    for (int pushed = 0; pushed < grid_ + half_width_; ++pushed) {
      const double value = values[cell];
      while (back > front && queue_[back - 1].value <= value) --back;
      queue_[back++] = {value, pushed};
      if (pushed - queue_[front].distance > half_width_) ++front;
      if (pushed >= half_width_) {
        result[cell] = {queue_[front].value, pushed - queue_[front].distance};
      }
      cell = d > 0 ? (cell == 0 ? grid_ - 1 : cell - 1) : (cell == grid_ - 1 ? 0 : cell + 1);
    }
  }

  int grid_;
  int half_width_;
  std::vector<Candidate> forward_;
  std::vector<Candidate> backward_;
  std::vector<Candidate> queue_;
};

/// How many cells the bee can move in a step: ⌊c·grid⌋. c·grid is often whole but for rounding
/// (0.1·2000), and must not lose a cell to it.
int reach(const BeeWorldOptions& world, int grid) {
  return static_cast<int>(std::floor(world.max_move * grid * (1 + 1e-12)));
}

/// Steps beyond the last after which γ^m max V < kNeglected; at least one, so that the last move
/// is chosen and not left to the tie rule.
int look_ahead(double discount) {
  if (discount == 1.0) return 0;
  if (discount == 0.0) return 1;
  return std::max(1, static_cast<int>(std::ceil(std::log(kNeglected * (1 - discount) / 2) /
                                                std::log(discount))));
}

}  // namespace

void OptimalFlightOptions::validate() const {
  world.validate();
  require(discount == 1.0 || (discount >= 0.0 && discount <= 0.9999),
          "discount = {}: must be in [0, 0.9999], or 1", discount);
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  require(grid >= 10, "grid = {}: must be at least 10", grid);
  require(grid <= 60000, "grid = {}: must be at most 60000", grid);
  require(reach(world, grid) >= 1, "grid = {}, max_move = {}: max_move·grid must be at least 1",
          grid, world.max_move);
  require(static_cast<std::int64_t>(steps) * grid <= 1'000'000'000,
          "steps = {}, grid = {}: steps·grid must be at most 10⁹", steps, grid);
  require(std::isfinite(start_time), "start_time = {}: must be finite", start_time);
}

OptimalFlight optimal_flight(const OptimalFlightOptions& options) {
  options.validate();
  const int grid = options.grid;
  const int steps = options.steps;
  const int half_width = reach(options.world, grid);
  const std::vector<double> sine = sine_table(grid);
  WindowMaximum window_maximum(grid, half_width);

  std::vector<double> value(grid, 0.0);
  std::vector<double> best(grid);
  std::vector<std::int16_t> moves(static_cast<std::size_t>(steps) * grid);
  std::vector<std::int16_t> unrecorded(grid);
  for (int k = steps + look_ahead(options.discount) - 1; k >= 0; --k) {
    window_maximum(
        value, best,
        k < steps ? moves.data() + static_cast<std::size_t>(k) * grid : unrecorded.data());
    const double season = std::cos(options.world.angular_frequency * (options.start_time + k));
    for (int i = 0; i < grid; ++i) {
      value[i] = 1.0 + season * sine[i] + options.discount * best[i];
    }
  }

  OptimalFlight flight{.options = options,
                       .positions = Eigen::VectorXd(steps),
                       .moves = Eigen::VectorXd(steps),
                       .nectar = Eigen::VectorXd(steps)};
  const double start = options.world.start - std::floor(options.world.start);
  int cell = static_cast<int>(std::lround(start * grid)) % grid;
  flight.value = value[cell];
  for (int k = 0; k < steps; ++k) {
    const int move = moves[static_cast<std::size_t>(k) * grid + cell];
    flight.positions[k] = static_cast<double>(cell) / grid;
    // The rounding allowed for in half_width must not take the bee past its limit.
    flight.moves[k] = std::clamp(static_cast<double>(move) / grid, -options.world.max_move,
                                 options.world.max_move);
    flight.nectar[k] = nectar(options.world, flight.positions[k], options.start_time + k);
    cell = (cell + move + grid) % grid;
  }
  flight.mean_nectar = flight.nectar.mean();
  return flight;
}

void add_best(ControlProblem& problem, const BeeWorldOptions& options) {
  problem.optimum = [options](double discount) {
    const auto flight = optimal_flight({.world = options, .discount = discount});
    return ControlProblem::Optimum{"the optimum for the discount, knowing everything",
                                   flight.mean_nectar};
  };
  problem.optimal_policy = [options](double discount) {
    return std::make_unique<OptimalFlightPolicy>(options, discount);
  };
}

}  // namespace waggle::reference
