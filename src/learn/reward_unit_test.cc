#include <cmath>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/pendulum.h>
#include <waggle/learner.h>
#include <waggle/presets.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A world in another unit and zero of its reward.
class Recounted final : public Environment {
 public:
  Recounted(Environment& world, double unit, double offset)
      : world_(world), unit_(unit), offset_(offset) {}
  EnvironmentSpec spec() const override { return world_.spec(); }
  void reset(Draws& draws, Percept& percept) override {
    world_.reset(draws, percept);
    recount(percept);
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws& draws, Percept& percept) override {
    world_.step(action, draws, percept);
    recount(percept);
  }

 private:
  void recount(Percept& percept) const { percept.reward = unit_ * percept.reward + offset_; }

  Environment& world_;
  double unit_, offset_;
};

Learnt learn_in(Environment& world, const LearnOptions& options, double unit, double offset) {
  Recounted recounted(world, unit, offset);
  Simulation simulation(recounted, 3, 100);
  UniformPolicy initial(simulation.spec().actions);
  return learn(simulation, initial, options);
}

LearnOptions predictive() {
  LearnOptions options;
  options.fit.reservoir.units = 10;
  options.fit.value.discount = 0.5;
  options.fit.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 8};
  options.collect.steps = 400;
  return options;
}

/// One world in which the reward is all there is to see, and one in which it is not.
void expect_the_same(const LearnOptions& options) {
  BeeWorld bee;
  Pendulum pendulum;
  for (Environment* world :
       {static_cast<Environment*>(&bee), static_cast<Environment*>(&pendulum)}) {
    SCOPED_TRACE(world->spec().name);
    const Learnt plain = learn_in(*world, options, 1.0, 0.0);
    EXPECT_EQ(plain.experience.steps(), 400);
    for (const double unit : {0x1p-80, 0x1p40}) {
      SCOPED_TRACE(unit);
      const Learnt other = learn_in(*world, options, unit, 0.0);
      ASSERT_TRUE(other.usable());
      EXPECT_EQ(MatrixXd(other.experience.actions()), MatrixXd(plain.experience.actions()));
      EXPECT_EQ(other.controller.weights.size(), plain.controller.weights.size());
      EXPECT_EQ(other.warnings, plain.warnings);
    }
    for (const double offset : {-1e9, 1000.0}) {
      SCOPED_TRACE(offset);
      const Learnt other = learn_in(*world, options, 1.0, offset);
      ASSERT_TRUE(other.usable());
      for (const LearnRound& round : other.rounds) EXPECT_FALSE(round.diverged);
      EXPECT_EQ(other.experience.steps(), 400);
      // What is rounded off by an offset of 1000 shows in the end, but not in the first decisions.
      if (offset < 0.0) continue;
      const MatrixXd moves = other.experience.actions().leftCols(110);
      EXPECT_LT((moves - plain.experience.actions().leftCols(110)).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
}

TEST(RewardUnit, OfNoConcernToPredictiveStates) { expect_the_same(predictive()); }

}  // namespace
}  // namespace waggle
