#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <waggle_paper/reference/known_state.h>

#include <waggle/base/random.h>

#include "reference/starts.h"

namespace waggle::reference {

/// One coordinate of a grid: `points` of them from `lower` to `upper`, both included; on a circle
/// `upper` is `lower` again and is left out.
struct GridAxis {
  double lower = 0.0;
  double upper = 1.0;
  int points = 2;
  bool circular = false;

  int cells() const { return circular ? points : points - 1; }
  double at(int i) const { return lower + (upper - lower) * i / cells(); }
};

using PlaneState = std::array<double, 2>;

/// What a step does to a state of two numbers.
struct PlaneStep {
  PlaneState next = {};
  double reward = 0.0;
  bool over = false;  ///< nothing has value from there on
};

/// Dynamic programming for a deterministic system with two numbers as its state, a list of actions
/// and a last step:
///
///     V_0 = 0,    V_j(s) = max_a r(s, a) + γ V_{j−1}(s')     j steps before the end
///
/// on a grid, bilinear between its points and constant beyond them. `Model` is called as
/// step(state, action) → PlaneStep. Every V_j of the last steps is kept, and of those before them
/// one in some, between which values are interpolated: they change little there.
template <typename Model>
class GridProgram {
 public:
  struct Options {
    std::array<GridAxis, 2> axes;
    std::vector<double> actions;
    int horizon = 1;        ///< steps
    double discount = 1.0;  ///< γ
    int dense = 100;        ///< V_0 … V_dense are all kept
    int stride = 1;         ///< and then every stride-th
  };

  GridProgram(Model model, Options options) : model_(model), options_(std::move(options)) {
    solve();
  }

  /// V_j(state), 0 ≤ j ≤ horizon.
  double value(int j, const PlaneState& state) const {
    const Place place = place_of(state);
    return read(j, place);
  }

  /// The best of some actions with j ≥ 1 steps to go, by the values of what they lead to. Among
  /// equal ones the first.
  template <typename Actions>
  double best_action(int j, const PlaneState& state, const Actions& actions) const {
    double best = 0.0;
    double best_value = -HUGE_VAL;
    for (const double action : actions) {
      const PlaneStep step = model_.step(state, action);
      const double later = step.over ? 0.0 : read(j - 1, place_of(step.next));
      const double worth = step.reward + options_.discount * later;
      if (worth > best_value) {
        best_value = worth;
        best = action;
      }
    }
    return best;
  }

  /// Acts on the values for so many steps, from two starts drawn from each of some parts of all
  /// starts: start_in(part, draws). As long as more steps are left than the horizon has, as if
  /// that many were.
  template <typename StartIn>
  ProgrammedReturn act(Eigen::Index steps, const std::vector<double>& actions, int parts,
                       StartIn start_in) const {
    ProgrammedReturn result;
    std::vector<double> returns;
    for (int i = 0; i < 2 * parts; ++i) {
      Draws draws = Random(0).at(Purpose::probe, static_cast<std::uint64_t>(i));
      const PlaneState start = start_in(i / 2, draws);
      result.promised += value(options_.horizon, start);
      returns.push_back(return_from(start, steps, actions));
    }
    result.simulated = summarised_pairs(returns);
    result.promised /= static_cast<double>(returns.size());
    return result;
  }

 private:
  double return_from(PlaneState state, Eigen::Index steps,
                     const std::vector<double>& actions) const {
    double sum = 0.0;
    for (Eigen::Index left = steps; left >= 1; --left) {
      const int seen = static_cast<int>(std::min<Eigen::Index>(left, options_.horizon));
      const PlaneStep step = model_.step(state, best_action(seen, state, actions));
      sum += step.reward;
      state = step.next;
      if (step.over) break;
    }
    return sum;
  }

  /// Where a state lies among the grid's points: the corner below it in both coordinates, the steps
  /// from there to the other corners, and how far it is from it, in cells.
  struct Place {
    std::int32_t corner = 0;
    std::int32_t right = 0;
    std::int32_t up = 0;
    float x = 0.0F;
    float y = 0.0F;
  };
  struct Transition {
    Place place;
    float reward = 0.0F;
    bool over = false;
  };

  /// The point below and the fraction of a cell.
  static void locate(const GridAxis& axis, double number, int& below, int& above, float& part) {
    const int cells = axis.cells();
    double cell = (number - axis.lower) / (axis.upper - axis.lower) * cells;
    if (axis.circular) {
      cell -= cells * std::floor(cell / cells);
      below = std::min(static_cast<int>(cell), cells - 1);
      above = below + 1 == cells ? 0 : below + 1;
    } else {
      cell = std::clamp(cell, 0.0, static_cast<double>(cells));
      below = std::min(static_cast<int>(cell), cells - 1);
      above = below + 1;
    }
    part = static_cast<float>(cell - below);
  }

  Place place_of(const PlaneState& state) const {
    int x0 = 0, x1 = 0, y0 = 0, y1 = 0;
    Place place;
    locate(options_.axes[0], state[0], x0, x1, place.x);
    locate(options_.axes[1], state[1], y0, y1, place.y);
    const int row = options_.axes[1].points;
    place.corner = x0 * row + y0;
    place.right = (x1 - x0) * row;
    place.up = y1 - y0;
    return place;
  }

  template <typename Number>
  static double between(const std::vector<Number>& values, const Place& p) {
    const Number* at = values.data() + p.corner;
    const double low = at[0] + p.y * (at[p.up] - at[0]);
    const double high = at[p.right] + p.y * (at[p.right + p.up] - at[p.right]);
    return low + p.x * (high - low);
  }

  double read(int j, const Place& place) const {
    if (j <= options_.dense) return between(kept_[static_cast<std::size_t>(j)], place);
    const int beyond = j - options_.dense;
    const auto below = static_cast<std::size_t>(options_.dense) +
                       static_cast<std::size_t>(beyond / options_.stride);
    const int rest = beyond % options_.stride;
    const double value = between(kept_[below], place);
    if (rest == 0) return value;
    const double part = static_cast<double>(rest) / options_.stride;
    return value + part * (between(kept_[below + 1], place) - value);
  }

  void solve() {
    const auto& [across, along] = options_.axes;
    std::vector<Transition> transitions;
    const std::size_t states = static_cast<std::size_t>(across.points) * along.points;
    transitions.reserve(states * options_.actions.size());
    for (int i = 0; i < across.points; ++i) {
      for (int j = 0; j < along.points; ++j) {
        for (const double action : options_.actions) {
          const PlaneStep step = model_.step({across.at(i), along.at(j)}, action);
          transitions.push_back({place_of(step.next), static_cast<float>(step.reward), step.over});
        }
      }
    }
    std::vector<double> later(states, 0.0);
    std::vector<double> now(states);
    keep(later);
    // A stage past the horizon, so that there is one to interpolate to.
    const int last = options_.horizon + options_.stride;
    for (int j = 1; j <= last; ++j) {
      const Transition* next = transitions.data();
      for (double& value : now) {
        value = -HUGE_VAL;
        for (std::size_t a = 0; a < options_.actions.size(); ++a, ++next) {
          const double then = next->over ? 0.0 : between(later, next->place);
          value = std::max(value, next->reward + options_.discount * then);
        }
      }
      now.swap(later);
      if (j <= options_.dense || (j - options_.dense) % options_.stride == 0) keep(later);
    }
  }

  void keep(const std::vector<double>& values) { kept_.emplace_back(values.begin(), values.end()); }

  Model model_;
  Options options_;
  std::vector<std::vector<float>> kept_;
};

}  // namespace waggle::reference
