#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <waggle/base/progress.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>
#include <waggle/learner.h>
#include <waggle/policy.h>
#include <waggle/rollout.h>

namespace waggle::playground {

/// What has to be kept upright.
enum class SwingSystem { pendulum, cart_pole };

/// What the visitor's sliders say of it. Gravity and mass (the rod's or the pole's) are multiples
/// of what they usually are.
struct SwingWorld {
  SwingSystem system = SwingSystem::pendulum;
  SensorOptions sensor = {};
  double gravity = 1.0;
  double mass = 1.0;
};

/// And of the learner.
struct SwingLearner {
  Eigen::Index units = 100;   ///< of the network
  Eigen::Index steps = 9000;  ///< of practice, at most: it ends when it is able to do it
};

/// The options of the library these stand for.
LearnOptions learn_options(SwingSystem system, const SwingLearner& learner, std::uint64_t seed);

/// A pendulum or a cart whose world can change while it runs.
class SwingStage;

/// A pole that is practised with, learnt from and then kept upright, without its velocity being
/// seen. All the work is the library's; this only keeps the parts together for a page to steer.
class SwingSession {
 public:
  /// One row of rows(): a step, before which the system was in this state, this was seen, and after
  /// which came this reward. Of the pendulum positions are 0. The last six are what is expected to
  /// be seen 1, 4 and 16 steps later; NaN before anything was learnt.
  enum Column {
    position,
    angle,  ///< 0 is upright; in [−π, π)
    velocity,
    angular_velocity,
    seen_position,
    seen_angle,
    action,  ///< a torque, or the force of a push
    reward,
    episode_step,  ///< of this step, from 0
    ahead,         ///< position and angle, for each of kAhead
    column_count = ahead + 6
  };
  static constexpr std::array<Eigen::Index, 3> kAhead = {1, 4, 16};
  static constexpr Eigen::Index kMostSteps = 5000;  ///< of one run()
  static constexpr Eigen::Index kJudged = 10;       ///< episodes that what was learnt is judged by

  /// Throws Error for a world or a learner out of range.
  SwingSession(const SwingWorld& world, const SwingLearner& learner, std::uint64_t seed);
  ~SwingSession();
  SwingSession(const SwingSession&) = delete;
  SwingSession& operator=(const SwingSession&) = delete;

  /// Practises and learns, until it has swung up a hanging pendulum and held it, or kept the pole
  /// from falling, several times running, or the steps are used up. `watch` is told from time to
  /// time: rows() and marks() hold what has happened since it was last told. False from it asks for
  /// the end; if there is nothing to go by then, it throws Stopped.
  void learn(const ProgressCallback& watch = {});

  /// Lets what was learnt act for so many steps; rows() holds them afterwards. Throws Error for a
  /// number of steps out of [1, kMostSteps], or if nothing was learnt.
  void run(Eigen::Index steps);

  /// From here on the world is another; what was learnt stays. Throws Error if it is out of range,
  /// or the system another one; then nothing has changed.
  void set_world(const SwingWorld& world);
  /// Holds the cart there and the rod or pole at this angle, at rest, until let_go(); a cart and
  /// its pole within what does not end an episode. Throws Error for a number that is not finite.
  /// These three throw Error as long as nothing runs.
  void hold(double where, double leaning);
  void let_go();
  /// Gives it a push: the rod's or the pole's angular velocity changes by this, within ±100.
  void push(double change);

  /// column_count × steps.
  const Eigen::MatrixXd& rows() const { return shown_; }
  /// 3 × any number: steps of practice before it, its score, and whether it is a fit (1) or an
  /// episode of practice that has ended (0). An episode's score is its return, that of a fit the
  /// mean return of the episodes since the last one.
  const Eigen::MatrixXd& marks() const { return shown_marks_; }
  /// Steps of practice so far.
  Eigen::Index steps_practised() const { return practice_.steps; }
  bool has_learnt() const { return learnt_.has_value(); }
  /// The mean return of kJudged episodes of what was learnt, in the world it was learnt in. Throws
  /// Error if nothing was learnt.
  double score() const;
  double seconds_a_step() const;

 private:
  class Watch;

  struct Mark {
    Eigen::Index steps = 0;
    double score = 0.0;
    bool fit = false;
  };
  /// What is going on while it learns.
  struct Practice {
    ProgressCallback watch = {};
    const Model* model = nullptr;  // what was learnt so far, the learner's own
    bool fitting = false;          // the last thing heard of the learner is that it fits
    Eigen::Index steps = 0;        // so far
    double episode_return = 0.0;   // so far
    double returns = 0.0;          // of episodes that ended since the last fit
    Eigen::Index ended = 0;        // these
    double score = 0.0;            // of the last fit
  };

  /// Whether a model needs no more practice.
  bool is_able(const Model& model) const;
  void practised(const Eigen::Ref<const Eigen::VectorXd>& row);
  void end_practice_episode();
  void mark_fit();
  /// Whether to go on.
  bool tell();
  void record(const Eigen::Ref<const Eigen::VectorXd>& row);
  /// What was recorded can be looked at.
  void show();
  /// Notes what the controller expects to see: it acts on in its mind, from the state it is in,
  /// taking what it predicts for what it sees.
  void foresee();
  /// What a state of the controller says will be seen next, a mean over its fits.
  void expected(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::VectorXd& seen) const;
  /// Throws Error while what was learnt does not act on it.
  SwingStage& stage();

  SwingWorld world_;
  SwingLearner learner_;
  std::uint64_t seed_;
  std::unique_ptr<SwingStage> stage_;
  Practice practice_;
  std::optional<Model> learnt_;
  double score_ = 0.0;

  // Acting on what was learnt, once run() was called.
  std::optional<Simulation> simulation_;
  std::optional<GreedyPolicy> policy_;
  std::optional<GreedyGroup> mind_;
  Eigen::Matrix<double, 6, 1> ahead_;  // what it expects, as a row has it

  std::vector<double> rows_;  // not shown yet
  std::vector<Mark> marks_;
  Eigen::MatrixXd shown_, shown_marks_;
};

}  // namespace waggle::playground
