#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/environment.h>

namespace waggle {

/// Bee World (section "Bee World" of the paper), a game on the circle of circumference 1.
///
///     nectar      n(y,t) = 1 + cos(ω t) sin(2π y)        equation eqn:nectar
///     move        y_{k+1} = y_k + a_k  (mod 1),  |a_k| ≤ c
///     reward      r_k = n(y_k, k)
///
/// The bee tastes the nectar where it is and nothing else: there is no observation beyond r_k.
struct BeeWorldOptions {
  double angular_frequency = 0.1;  ///< ω, in radians per step. The paper does not print it.
  double max_move = 0.1;           ///< c, in (0, ½]
  double start = 0.0;              ///< y_0, any finite number, taken mod 1

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, BeeWorldOptions& o) {
  v("angular_frequency", o.angular_frequency, "how fast the nectar turns, in radians per step");
  v("max_move", o.max_move, "the longest move, in circumferences, at most 0.5");
  v("start", o.start, "position at the start");
}

/// n(y,t) for these options.
double nectar(const BeeWorldOptions& options, double position, double time);

class BeeWorld final : public Environment {
 public:
  explicit BeeWorld(const BeeWorldOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// y_k in [0, 1): hidden from the agent, for figures and references.
  double position() const { return position_; }

 private:
  BeeWorldOptions options_;
  double position_ = 0.0;
  double time_ = 0.0;
};

/// Throws Error for options out of range.
ControlProblem bee_world_problem(const BeeWorldOptions& options = {});

}  // namespace waggle
