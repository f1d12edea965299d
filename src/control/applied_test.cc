/// What was really done, told to a policy that wanted something else.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include <waggle/fit/states.h>
#include <waggle/greedy_policy.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Percept percept_at(Index k) {
  Percept percept;
  percept.reward = std::sin(0.4 * static_cast<double>(k));
  percept.observation = VectorXd::Constant(1, std::cos(0.3 * static_cast<double>(k)));
  return percept;
}

Draws draws_at(Index k) { return Random(5).at(Purpose::policy, static_cast<std::uint64_t>(k)); }

struct Setting {
  const char* title;
  ActionSpace space;
  ReservoirOptions reservoir;
  GreedyOptions greedy = {};

  InputLayout layout() const {
    return {.reward = true,
            .action_size = space.size(),
            .choices = space.choices,
            .observation_size = 1};
  }
  std::shared_ptr<const EchoStateNetwork> network() const {
    return std::make_shared<EchoStateNetwork>(reservoir, layout().size());
  }
  Controller controller(double sign = 1.0) const {
    const auto net = network();
    VectorXd weights(net->units());
    for (Index i = 0; i < weights.size(); ++i) weights[i] = sign * std::sin(3.0 * (1.0 + i));
    return {net, layout(), space, weights, greedy};
  }
  GreedyPolicy policy(double sign = 1.0) const { return GreedyPolicy(controller(sign)); }
};

std::vector<Setting> settings() {
  const ActionSpace box = ActionSpace::box(-1, 1);
  const ActionSpace plane = ActionSpace::box(Eigen::Vector2d(-1, 0), Eigen::Vector2d(1, 2));
  return {{"interval", box, plain_reservoir(30)},
          {"leaks, direct inputs", box, {.units = 30, .slowest_leak = 0.2}},
          {"tanh", box, {.units = 30, .activation = Activation::tanh, .leak = 0.6}},
          {"sparse", box, {.units = 10, .orthogonal = false, .density = 0.5}, {.smoothing = 0.2}},
          {"two numbers", plane, plain_reservoir(30), {.candidates = 10}},
          {"choices", ActionSpace::discrete(3), {.units = 30, .leak = 0.9}}};
}

/// Something that the policy did not choose.
VectorXd instead_of(const VectorXd& action, const ActionSpace& space, Index k) {
  if (space.is_discrete()) {
    return VectorXd::Constant(1, std::fmod(action[0] + 1.0 + (k % 2), space.choices));
  }
  return (0.5 * action).array() + 0.1 * static_cast<double>(k % 3);
}

TEST(Applied, WhatWasChosenChangesNoBit) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    GreedyPolicy told = setting.policy(), plain = setting.policy();
    VectorXd one(setting.space.size()), other(one);
    for (Index k = 0; k < 50; ++k) {
      Draws draws = draws_at(k), same = draws_at(k);
      told.act(percept_at(k), draws, one);
      plain.act(percept_at(k), same, other);
      ASSERT_EQ(one, other) << "step " << k;
      told.applied(one);
      ASSERT_EQ(told.state(), plain.state()) << "step " << k;
      ASSERT_EQ(told.value(), plain.value()) << "step " << k;
    }
  }
}

TEST(Applied, TheStateIsThatOfTheLogOfWhatWasDone) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    GreedyPolicy policy = setting.policy();
    Trajectory done(setting.space.size(), 1);
    VectorXd action(setting.space.size());
    double moved = 0.0;
    for (Index k = 0; k < 300; ++k) {
      Draws draws = draws_at(k);
      policy.act(percept_at(k), draws, action);
      if (k % 4 != 0) {
        const VectorXd chosen = policy.state();
        const VectorXd really = instead_of(action, setting.space, k);
        policy.applied(VectorXd::Zero(action.size()));  // only the last word counts
        policy.applied(really);
        moved = std::max(moved, (policy.state() - chosen).norm());
        action = really;
      }
      done.append(percept_at(k).reward, action, percept_at(k).observation);
    }
    EXPECT_GT(moved, 1e-3);
    VectorXd state = VectorXd::Zero(policy.state().size());
    for_each_block(*setting.network(), setting.layout(), done, state, [](const StateBlock&) {});
    EXPECT_LT((policy.state() - state).cwiseAbs().maxCoeff(), 1e-14);
  }
}

TEST(Applied, IsAsIfItHadBeenChosen) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    GreedyPolicy told = setting.policy(), opposite = setting.policy(-1.0);
    VectorXd wanted(setting.space.size()), really(wanted);
    for (Index k = 0; k < 50; ++k) {
      Draws draws = draws_at(k), same = draws_at(k);
      told.act(percept_at(k), draws, wanted);
      opposite.act(percept_at(k), same, really);
      told.applied(really);
      ASSERT_EQ(told.state(), opposite.state()) << "step " << k;
      EXPECT_EQ(told.value(), -opposite.value());
    }
  }
}

TEST(Applied, WorksForAnyReservoirSystem) {
  const auto memory = std::make_shared<toy::LastObservation>(3, 1);
  GreedyPolicy policy({memory, {.reward = false}, ActionSpace::box(-1, 2.9), VectorXd::Ones(3)});
  Draws draws = draws_at(0);
  VectorXd action(1);
  policy.act({}, draws, action);
  policy.applied(VectorXd::Constant(1, 2.0));  // the last channel is the action here
  EXPECT_EQ(policy.state(), Eigen::Vector3d(0, 0, 1));
}

TEST(Applied, RefusesWhatCannotHaveBeenAndChangesNothing) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    GreedyPolicy policy = setting.policy();
    VectorXd action = VectorXd::Zero(setting.space.size());
    expect_error([&] { policy.applied(action); }, "applied", "episode");
    Draws draws = draws_at(0);
    policy.act(percept_at(0), draws, action);
    const VectorXd state = policy.state();
    const double value = policy.value();
    expect_error([&] { policy.applied(VectorXd::Zero(3)); }, "size 3");
    for (const double bad : {std::nan(""), -1e200, 1e308 * 10}) {
      VectorXd wrong = action;
      wrong[0] = bad;
      expect_error([&] { policy.applied(wrong); }, "applied", "must be");
    }
    if (setting.space.is_discrete()) {
      for (const double bad : {-1.0, 0.5, 3.0}) {
        expect_error([&] { policy.applied(VectorXd::Constant(1, bad)); }, "whole number");
      }
    } else {
      policy.applied(VectorXd::Constant(action.size(), 7.0));  // outside the bounds of the search
      EXPECT_NE(policy.state(), state);
      policy.applied(action);
    }
    EXPECT_EQ(policy.state(), state);
    EXPECT_EQ(policy.value(), value);
    policy.begin_episode();
    expect_error([&] { policy.applied(action); }, "episode");
  }
}

TEST(Applied, ADecisionThatFailedDoesNotStandInItsWay) {
  const Setting setting{"", ActionSpace::box(-1, 1), {.units = 20, .operator_norm = 1e90}};
  GreedyPolicy policy = setting.policy(), other = setting.policy();
  Draws draws = draws_at(0);
  VectorXd action(1);
  for (Index k = 0; k < 2; ++k) {
    policy.act(percept_at(k), draws, action);
    other.act(percept_at(k), draws, action);
  }
  const VectorXd state = policy.state();
  expect_error([&] { policy.act(percept_at(2), draws, action); }, "overflows", "operator_norm");
  EXPECT_EQ(policy.state(), state);
  policy.applied(VectorXd::Constant(1, 1e99));
  EXPECT_NE(policy.state(), state);
  other.applied(VectorXd::Constant(1, 1e99));
  EXPECT_EQ(policy.state(), other.state());
  EXPECT_EQ(policy.value(), other.value());
}

/// Copies of a controller, and policies that meet the same alone.
struct Copies {
  GreedyGroup group;
  std::vector<GreedyPolicy> alone;
  std::vector<Percept> percepts;
  std::vector<Draws> draws;
  MatrixXd actions;

  Copies(const Controller& controller, Index count)
      : group(controller, MatrixXd::Zero(controller.reservoir->units(), count)),
        percepts(static_cast<std::size_t>(count)),
        draws(percepts.size(), draws_at(0)),
        actions(MatrixXd::Zero(controller.actions.size(), count)) {
    for (Index i = 0; i < count; ++i) alone.emplace_back(controller);
  }
  void act(Index k, const std::vector<Index>& copies) {
    for (const Index i : copies) {
      const auto at = static_cast<std::size_t>(i);
      percepts[at] = percept_at(k + 7 * i);
      draws[at] = draws_at(k);
    }
    group.act(percepts, copies, draws, actions);
    for (const Index i : copies) {
      const auto at = static_cast<std::size_t>(i);
      VectorXd action(actions.rows());
      Draws own = draws_at(k);
      alone[at].act(percepts[at], own, action);
    }
  }
  void applied(Index copy, const VectorXd& action) {
    group.applied(copy, action);
    alone[static_cast<std::size_t>(copy)].applied(action);
  }
  double apart(Index copy) const {
    return (group.states().col(copy) - alone[static_cast<std::size_t>(copy)].state()).norm();
  }
};

TEST(Applied, AGroupOfOneIsThePolicyBitForBit) {
  for (Setting setting : settings()) {
    SCOPED_TRACE(setting.title);
    Controller controller = setting.controller();
    if (!setting.space.is_discrete()) controller.limits.max_change = {0.02};
    Copies one(controller, 1);
    for (Index k = 0; k < 30; ++k) {
      one.act(k, {0});
      ASSERT_EQ(one.apart(0), 0.0) << "step " << k;
      const VectorXd chosen = one.group.states().col(0);
      if (k % 3 != 0) {
        one.applied(0, VectorXd::Zero(one.actions.rows()));  // only the last word counts
        one.applied(0, instead_of(one.actions.col(0), setting.space, k));
        EXPECT_NE(VectorXd(one.group.states().col(0)), chosen);
      } else {
        one.applied(0, one.actions.col(0));
        ASSERT_EQ(VectorXd(one.group.states().col(0)), chosen) << "step " << k;
        one.applied(0, instead_of(one.actions.col(0), setting.space, k));
        one.applied(0, one.actions.col(0));  // after all
        ASSERT_EQ(VectorXd(one.group.states().col(0)), chosen) << "step " << k;
      }
      ASSERT_EQ(one.apart(0), 0.0) << "step " << k;
    }
  }
}

TEST(Applied, EveryCopyIsToldItsOwn) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    Copies three(setting.controller(), 3);
    for (Index k = 0; k < 20; ++k) {
      three.act(k, {0, 1, 2});
      for (Index i = 0; i < 3; ++i) EXPECT_LT(three.apart(i), 1e-10) << "copy " << i;
      const MatrixXd chosen = three.group.states();
      three.applied(2, instead_of(three.actions.col(2), setting.space, k));
      three.applied(0, instead_of(three.actions.col(0), setting.space, k + 1));
      three.applied(1, three.actions.col(1));
      EXPECT_EQ(VectorXd(three.group.states().col(1)), VectorXd(chosen.col(1)));
      EXPECT_NE(VectorXd(three.group.states().col(2)), VectorXd(chosen.col(2)));
      for (Index i = 0; i < 3; ++i) EXPECT_LT(three.apart(i), 1e-10) << "copy " << i;
    }
    // The others may have acted since.
    const VectorXd really = instead_of(three.actions.col(1), setting.space, 1);
    three.act(20, {0});
    three.applied(1, really);
    EXPECT_LT(three.apart(1), 1e-10);
    three.applied(0, instead_of(three.actions.col(0), setting.space, 1));
    EXPECT_LT(three.apart(0), 1e-10);
    three.group.begin_episode(1);
    expect_error([&] { three.group.applied(1, really); }, "applied", "episode");
  }
}

TEST(Applied, AGroupThatGoesOnCanBeTold) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.title);
    Controller controller = setting.controller();
    controller.limits.hold = 3;
    if (!setting.space.is_discrete()) controller.limits.max_change = {0.02};
    Copies copies(controller, 1);
    for (Index k = 0; k < 20; ++k) {
      const LastStep last{copies.group.states().col(0), percept_at(k), {}};
      copies.act(k, {0});
      ASSERT_EQ(copies.apart(0), 0.0) << "step " << k;
      GreedyGroup other(controller, copies.group.states());
      other.resume(0, {last.state, last.percept, copies.actions.col(0)}, k + 1);
      const VectorXd really = instead_of(copies.actions.col(0), setting.space, k);
      copies.applied(0, really);
      other.applied(0, really);
      ASSERT_EQ(other.states(), copies.group.states()) << "step " << k;
      copies.group = std::move(other);
    }
    GreedyGroup other(controller, copies.group.states());
    expect_error([&] { other.applied(0, copies.actions.col(0)); }, "applied", "episode");
    const auto refused = [&](const LastStep& last, const char* what) {
      expect_error([&] { other.resume(0, last, 1); }, what);
    };
    const VectorXd action = copies.actions.col(0);
    refused({VectorXd::Zero(3), percept_at(0), action}, "size 3");
    refused({copies.group.states().col(0), {}, action}, "observation");
    refused({copies.group.states().col(0), percept_at(0), VectorXd::Zero(5)}, "size 5");
  }
}

}  // namespace
}  // namespace waggle
