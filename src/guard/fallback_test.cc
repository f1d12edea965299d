#include <gtest/gtest.h>

#include <waggle/base/names.h>
#include <waggle/guard.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::VectorXd;

VectorXd action_of(Policy& policy, double before) {
  Percept percept;
  Draws draws = Random(0).at(Purpose::policy, 0);
  VectorXd action = VectorXd::Constant(1, before);
  policy.act(percept, draws, action);
  return action;
}

TEST(Fallback, IsMadeByItsName) {
  const ActionSpace actions = ActionSpace::box(-1.0, 2.0);
  EXPECT_EQ(make_fallback(*value_named<Fallback>("none"), actions), nullptr);
  const auto zero = make_fallback(*value_named<Fallback>("zero"), actions);
  EXPECT_EQ(action_of(*zero, 0.5)[0], 0.0);
  const auto hold = make_fallback(*value_named<Fallback>("hold"), actions);
  EXPECT_EQ(action_of(*hold, 0.5)[0], 0.5);  // there is nothing to repeat yet
  hold->applied(VectorXd::Constant(1, 0.25));
  EXPECT_EQ(action_of(*hold, 0.5)[0], 0.25);
  EXPECT_FALSE(value_named<Fallback>("stop"));
}

TEST(Fallback, ZeroHasToBeAnAction) {
  const ActionSpace choices = ActionSpace::discrete(2), above = ActionSpace::box(0.5, 1.0);
  for (const Fallback other : {Fallback::none, Fallback::hold}) {
    EXPECT_EQ(fault_in(other, choices), "");
    EXPECT_EQ(fault_in(other, above), "");
  }
  EXPECT_EQ(fault_in(Fallback::zero, ActionSpace::box(0.0, 1.0)), "");
  EXPECT_EQ(fault_in(Fallback::zero, choices),
            "the actions are choices among labels, none of which is 0");
  EXPECT_EQ(fault_in(Fallback::zero, above), "0 is outside the bounds of the actions");
  expect_error([&] { make_fallback(Fallback::zero, above); }, "fallback = zero", "bounds",
               "say hold");
}

}  // namespace
}  // namespace waggle
