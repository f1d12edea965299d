#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/environment.h>

namespace waggle {

/// The tiger (Cassandra, Kaelbling and Littman, AAAI 1994), the classic of partly observed
/// decisions: behind one of two doors is a tiger, behind the other a pot of gold.
///
///     listen      r = −listen_cost; heard on the tiger's side with the chance `accuracy`
///     open        r = −tiger_cost if the tiger is there, else gold; then the tiger is put behind
///                 either door with the chance ½, and what is heard tells nothing: a fair coin
///     heard       o_k = (left, right), one of them 1; both 0 at the start of an episode
///
/// It goes on after a door was opened; the record is truncated after `episode_steps` actions.
struct TigerOptions {
  double accuracy = 0.85;            ///< in [0.5, 1]
  double listen_cost = 1.0;          ///< in [0, 10⁶]
  double tiger_cost = 100.0;         ///< in [0, 10⁶]
  double gold = 10.0;                ///< in [0, 10⁶]
  Eigen::Index episode_steps = 100;  ///< ≥ 0; 0: never truncated

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, TigerOptions& o) {
  v("accuracy", o.accuracy, "chance to hear the tiger where it is, in [0.5, 1]");
  v("listen_cost", o.listen_cost, "of listening once");
  v("tiger_cost", o.tiger_cost, "of opening the tiger's door");
  v("gold", o.gold, "reward behind the other door");
  v("episode_steps", o.episode_steps, "after which an episode is cut off; 0: never");
}

class Tiger final : public Environment {
 public:
  /// The actions, by their numbers.
  enum Choice { listen = 0, open_left = 1, open_right = 2 };

  explicit Tiger(const TigerOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// Whether the tiger is on the left: hidden from the agent, for tests and figures.
  bool tiger_is_left() const { return tiger_is_left_; }

 private:
  TigerOptions options_;
  bool tiger_is_left_ = false;
  Eigen::Index steps_ = 0;
};

/// Throws Error for options out of range.
ControlProblem tiger_problem(const TigerOptions& options = {});

}  // namespace waggle
