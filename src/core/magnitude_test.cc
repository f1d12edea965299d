#include "core/magnitude.h"

#include <limits>

#include <gtest/gtest.h>

namespace waggle {
namespace {

TEST(Magnitude, PowersOfTwo) {
  EXPECT_EQ(power_of_two(1.0), 1.0);
  EXPECT_EQ(power_of_two(-5.0), 4.0);
  EXPECT_EQ(power_of_two(0.3), 0.25);
  EXPECT_EQ(power_of_two(0.0), 1.0);
  EXPECT_EQ(power_of_two(INFINITY), 1.0);
  EXPECT_EQ(power_of_two(NAN), 1.0);
  EXPECT_EQ(power_of_two(std::numeric_limits<double>::max()), 0x1p1000);
  EXPECT_EQ(power_of_two(std::numeric_limits<double>::denorm_min()), 0x1p-1000);
}

TEST(Magnitude, TheRootMeanSquareDoesNotDependOnTheUnit) {
  const double numbers[] = {0.0, 1e-9, 3.0, -4.0, 0.5};
  const double expected = std::sqrt((1e-18 + 9.0 + 16.0 + 0.25) / 5.0);
  for (const double unit : {1.0, 0x1p-600, 0x1p600, 0x1p-1000, 0x1p1000}) {
    RootMeanSquare mean;
    for (const double number : numbers) mean.add(number * unit);
    EXPECT_EQ(mean.value(), expected * unit) << unit;
  }
  EXPECT_EQ(RootMeanSquare().value(), 0.0);
}

TEST(Magnitude, ASmallBeginningMakesRoomForWhatComes) {
  RootMeanSquare mean;
  for (const double number : {1e-300, 1e-200, 3.0, 1e200, 1e-100}) mean.add(number);
  EXPECT_DOUBLE_EQ(mean.value(), 1e200 / std::sqrt(5.0));
  RootMeanSquare falling;
  falling.add(1e200);
  for (int k = 0; k < 3; ++k) falling.add(1e-200);
  EXPECT_DOUBLE_EQ(falling.value(), 5e199);
}

TEST(Magnitude, WhatIsNotFiniteShows) {
  RootMeanSquare mean;
  mean.add(1.0);
  mean.add(NAN);
  EXPECT_TRUE(std::isnan(mean.value()));
}

}  // namespace
}  // namespace waggle
