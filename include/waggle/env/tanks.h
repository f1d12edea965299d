#pragma once

#include <vector>

#include <waggle/env/control_problem.h>
#include <waggle/environment.h>

namespace waggle {

/// Two tanks in series, of which the level of the second is seen, and that through noise. A pump
/// fills the first; water runs from it through a long pipe into the second, more where the valve is
/// opened. All numbers are deviations from the set point, so everything is linear:
///
///     flow          f_k = outflow · x_k + v_k                      out of the first, into the pipe
///     first level   x_{k+1} = x_k + u_k − f_k + disturbance · N_k
///     second level  y_{k+1} = (1 − drain) y_k + f_{k−pipe_delay} + disturbance · N'_k
///     seen          o_k = y_k + noise · N''_k
///     reward        r_{k+1} = −(first_cost x²_{k+1} + second_cost y²_{k+1}
///                               + pump_cost u²_k + valve_cost v²_k)
///
/// with a_k = (u_k, v_k), pump and valve, |u| ≤ max_pump and |v| ≤ max_valve, and independent
/// N ~ N(0, 1). What is charged are the levels after the move. Each actuator has its own part:
/// the valve is quick, but only borrows from the first tank; the pump is slow, but lasts.
///
/// An episode starts with x_0, y_0 ~ N(0, start_spread²) and a pipe at its set point; the record is
/// truncated after `episode_steps` actions. By default the bounds of the actions are beyond
/// four standard deviations of the best controller's, which is therefore linear: reference/tanks.h.
struct TanksOptions {
  double outflow = 0.1;              ///< of the first tank, share of its level a step, in (0, 1]
  double drain = 0.05;               ///< of the second tank, the same, in (0, 1]
  Eigen::Index pipe_delay = 3;       ///< steps the water spends in the pipe, in [0, 50]
  double disturbance = 0.3;          ///< standard deviation a step, of each level, in [0, 10⁶]
  double noise = 0.5;                ///< standard deviation of what is seen, in [0, 10⁶]
  double first_cost = 0.1;           ///< of a squared unit of the first level, in [0, 10⁶]
  double second_cost = 1.0;          ///< of the second level, in (0, 10⁶]
  double pump_cost = 1.0;            ///< of a squared unit pumped, in (0, 10⁶]
  double valve_cost = 1.0;           ///< of a squared unit of the valve's flow, in (0, 10⁶]
  double max_pump = 0.6;             ///< in (0, 10⁶]
  double max_valve = 0.8;            ///< in (0, 10⁶]
  double start_spread = 0.5;         ///< of the levels at the start, in [0, 10⁶]
  Eigen::Index episode_steps = 200;  ///< ≥ 0; 0: never truncated

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, TanksOptions& o) {
  v("outflow", o.outflow, "share of the first tank's level that runs off in a step");
  v("drain", o.drain, "share of the second tank's level that runs off in a step");
  v("pipe_delay", o.pipe_delay, "steps the water spends between the tanks");
  v("disturbance", o.disturbance, "standard deviation of what a step adds to each level");
  v("noise", o.noise, "standard deviation of what is added to the level seen");
  v("first_cost", o.first_cost, "what a squared unit of the first level costs");
  v("second_cost", o.second_cost, "what a squared unit of the second level costs");
  v("pump_cost", o.pump_cost, "what a squared unit pumped costs");
  v("valve_cost", o.valve_cost, "what a squared unit of the valve's flow costs");
  v("max_pump", o.max_pump, "bound of what is pumped in a step");
  v("max_valve", o.max_valve, "bound of the valve's flow in a step");
  v("start_spread", o.start_spread, "standard deviation of the levels at the start");
  v("episode_steps", o.episode_steps, "after which an episode is cut off; 0: never");
}

class Tanks final : public Environment {
 public:
  explicit Tanks(const TanksOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// x_k and y_k: hidden from the agent, for tests and figures.
  double first_level() const { return first_; }
  double second_level() const { return second_; }

 private:
  TanksOptions options_;
  double first_ = 0.0;
  double second_ = 0.0;
  std::vector<double> pipe_;  // the last pipe_delay flows, a ring
  std::size_t oldest_ = 0;
  Eigen::Index steps_ = 0;
};

/// Throws Error for options out of range.
ControlProblem tanks_problem(const TanksOptions& options = {});

}  // namespace waggle
