#include "learn/first_look.h"

#include <gtest/gtest.h>

namespace waggle {
namespace {

TEST(FirstLook, WhatIsCutOutLosesItsFirstRowsWhereTheyCanBeSpared) {
  EXPECT_EQ(usual_washout(false, false, 10), 0);
  EXPECT_EQ(usual_washout(true, false, 10), kCutOutWashout);
  EXPECT_EQ(usual_washout(false, true, 10'000), 1);
  EXPECT_EQ(usual_washout(true, true, 10 * kCutOutWashout), kCutOutWashout);
  EXPECT_EQ(usual_washout(true, true, 10 * kCutOutWashout - 1), 1);
}

}  // namespace
}  // namespace waggle
