#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <gtest/gtest.h>
#include <waggle_paper/reference/bee_world.h>

#include <waggle/base/error.h>

namespace waggle::reference {
namespace {

double sine(double turns) { return std::sin(2 * std::numbers::pi * turns); }

/// The best Σ γ^k n over every sequence of grid moves, by trying them all.
double brute_force(const OptimalFlightOptions& options, int cell, int step, int steps) {
  if (step == steps) return 0.0;
  const int reach = static_cast<int>(std::floor(options.world.max_move * options.grid + 1e-9));
  double best = -std::numeric_limits<double>::infinity();
  for (int move = -reach; move <= reach; ++move) {
    const int next = (cell + move + options.grid) % options.grid;
    best = std::max(best, brute_force(options, next, step + 1, steps));
  }
  const double position = static_cast<double>(cell) / options.grid;
  return nectar(options.world, position, options.start_time + step) + options.discount * best;
}

std::string error_of(const OptimalFlightOptions& options) {
  try {
    optimal_flight(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Origin: a dynamic program written independently of this library, from y = 0 over 100 periods.
TEST(OptimalFlight, AgreesWithAnIndependentDynamicProgram) {
  const OptimalFlight discounted = optimal_flight({.discount = 0.5});
  EXPECT_NEAR(discounted.mean_nectar, 1.63076, 5e-6);
  const OptimalFlight average = optimal_flight({.discount = 1.0});
  EXPECT_NEAR(average.mean_nectar, 1.63262, 5e-6);
  EXPECT_GT(average.mean_nectar, discounted.mean_nectar);
}

TEST(OptimalFlight, IsAFlightTheBeeCanFly) {
  const OptimalFlight flight = optimal_flight({.world = {.start = 0.3}, .steps = 500});
  ASSERT_EQ(flight.positions.size(), 500);
  ASSERT_EQ(flight.moves.size(), 500);
  ASSERT_EQ(flight.nectar.size(), 500);
  EXPECT_EQ(flight.positions[0], 0.3);
  EXPECT_LE(flight.moves.cwiseAbs().maxCoeff(), 0.1);
  for (int k = 0; k < 500; ++k) {
    EXPECT_DOUBLE_EQ(flight.nectar[k], 1 + std::cos(0.1 * k) * sine(flight.positions[k]));
    if (k == 0) continue;
    const double landing = flight.positions[k - 1] + flight.moves[k - 1];
    EXPECT_NEAR(std::remainder(landing - flight.positions[k], 1.0), 0.0, 1e-14);
  }
  EXPECT_DOUBLE_EQ(flight.mean_nectar, flight.nectar.mean());
}

// n = 1 + sin 2πy for ever: climb from 0 to the crest at ¼ by 0.1, 0.1, 0.05, and stay.
TEST(OptimalFlight, ClimbsStaticNectarInClosedForm) {
  for (const double discount : {0.5, 0.9, 1.0}) {
    const OptimalFlight flight = optimal_flight(
        {.world = {.angular_frequency = 0.0}, .discount = discount, .steps = 40, .grid = 200});
    EXPECT_NEAR(flight.mean_nectar, (3 + sine(0.1) + sine(0.2) + 2 * 37) / 40, 1e-14);
    EXPECT_DOUBLE_EQ(flight.moves[0], 0.1);
    EXPECT_DOUBLE_EQ(flight.moves[1], 0.1);
    EXPECT_DOUBLE_EQ(flight.moves[2], 0.05);
    EXPECT_EQ(flight.moves.tail(37).cwiseAbs().maxCoeff(), 0.0);
    const double crest = discount < 1 ? 2 / (1 - discount) : 2 * 37;
    EXPECT_NEAR(flight.value,
                1 + discount * (1 + sine(0.1)) + discount * discount * (1 + sine(0.2)) +
                    std::pow(discount, 3) * crest,
                1e-10);
  }
}

TEST(OptimalFlight, BreaksTiesByTheSmallestMoveThenThePositive) {
  // At the nadir y = ¾ both ways round to the crest are the same.
  const OptimalFlight nadir = optimal_flight(
      {.world = {.angular_frequency = 0.0, .start = 0.75}, .steps = 10, .grid = 200});
  EXPECT_DOUBLE_EQ(nadir.moves.head(5).sum(), 0.5);
  // The last move of an undiscounted flight leads nowhere, so the bee rests.
  const OptimalFlight last = optimal_flight({.discount = 1.0, .steps = 1, .grid = 200});
  EXPECT_EQ(last.moves[0], 0.0);
  EXPECT_EQ(last.value, 1.0);
}

TEST(OptimalFlight, EqualsBruteForceOnTheTotal) {
  for (const double frequency : {0.0, 0.1, 1.0, 2.5}) {
    const OptimalFlightOptions options{
        .world = {.angular_frequency = frequency, .max_move = 0.2, .start = 0.6},
        .discount = 1.0,
        .steps = 6,
        .grid = 10,
        .start_time = 3.0};
    const OptimalFlight flight = optimal_flight(options);
    EXPECT_NEAR(flight.value, brute_force(options, 6, 0, 6), 1e-13);
    EXPECT_NEAR(flight.nectar.sum(), flight.value, 1e-13);
  }
}

TEST(OptimalFlight, EqualsBruteForceOnTheDiscountedSum) {
  for (int cell = 0; cell < 10; ++cell) {
    const OptimalFlightOptions options{.world = {.angular_frequency = 1.3, .start = cell / 10.0},
                                       .discount = 0.05,
                                       .steps = 2,
                                       .grid = 10};
    // 0.05¹⁰ < 1e-13: ten steps are as good as infinitely many.
    EXPECT_NEAR(optimal_flight(options).value, brute_force(options, cell, 0, 10), 1e-12);
  }
}

TEST(OptimalFlight, SatisfiesTheBellmanEquationAlongTheFlight) {
  OptimalFlightOptions options{.discount = 0.9, .steps = 60, .grid = 400};
  const OptimalFlight flight = optimal_flight(options);
  double value = flight.value;
  for (int k = 0; k + 1 < 60; ++k) {
    options.world.start = flight.positions[k + 1];
    options.start_time = k + 1;
    const double next_value = optimal_flight(options).value;
    EXPECT_NEAR(value, flight.nectar[k] + 0.9 * next_value, 1e-11);
    value = next_value;
  }
}

TEST(OptimalFlight, LooksAheadBeyondTheLastStep) {
  const OptimalFlight lengthy = optimal_flight({.discount = 0.9, .steps = 200, .grid = 400});
  const OptimalFlight brief = optimal_flight({.discount = 0.9, .steps = 50, .grid = 400});
  EXPECT_EQ(brief.positions, lengthy.positions.head(50));
  EXPECT_EQ(brief.moves, lengthy.moves.head(50));
  EXPECT_NEAR(brief.value, lengthy.value, 1e-11);
}

TEST(OptimalFlight, WithoutDiscountTakesTheBestNectarWithinReach) {
  const OptimalFlight flight = optimal_flight({.discount = 0.0, .steps = 300, .grid = 200});
  EXPECT_EQ(flight.value, 1.0);
  for (int k = 0; k + 1 < 300; ++k) {
    double best = 0.0;
    for (int move = -20; move <= 20; ++move) {
      best = std::max(best, 1 + std::cos(0.1 * (k + 1)) * sine(flight.positions[k] + move / 200.0));
    }
    EXPECT_NEAR(flight.nectar[k + 1], best, 1e-14);
  }
  // The limit γ → 0, not a case of its own.
  EXPECT_NEAR(optimal_flight({.discount = 1e-6, .steps = 300, .grid = 200}).mean_nectar,
              flight.mean_nectar, 1e-6);
}

TEST(OptimalFlight, HasTheSymmetriesOfTheNectar) {
  // n(½ − y, t) = n(y, t)
  const OptimalFlight left = optimal_flight({.world = {.start = 0.13}, .steps = 200});
  const OptimalFlight right = optimal_flight({.world = {.start = 0.37}, .steps = 200});
  EXPECT_EQ(left.value, right.value);
  EXPECT_NEAR(left.mean_nectar, right.mean_nectar, 1e-14);
  // n(y + ½, t + π/ω) = n(y, t)
  const BeeWorldOptions world{.angular_frequency = std::numbers::pi / 10, .start = 0.2};
  BeeWorldOptions opposite = world;
  opposite.start = 0.7;
  EXPECT_NEAR(optimal_flight({.world = world, .steps = 200}).value,
              optimal_flight({.world = opposite, .steps = 200, .start_time = 10}).value, 1e-12);
}

TEST(OptimalFlight, TakesTheStartModOne) {
  const OptimalFlight flight = optimal_flight({.world = {.start = -1.75}, .steps = 5});
  EXPECT_EQ(flight.positions[0], 0.25);
  EXPECT_EQ(optimal_flight({.world = {.start = 0.99999}, .steps = 5}).positions[0], 0.0);
}

TEST(OptimalFlight, ReachesEverywhereWithTheLargestMove) {
  const OptimalFlight flight = optimal_flight({.world = {.max_move = 0.5}, .steps = 100});
  for (int k = 1; k < 100; ++k) {
    EXPECT_NEAR(flight.nectar[k], 1 + std::abs(std::cos(0.1 * k)), 1e-12);
  }
}

TEST(OptimalFlight, RefusesBadOptions) {
  EXPECT_EQ(error_of({.grid = 3}), "grid = 3: must be at least 10");
  EXPECT_EQ(error_of({.grid = 100000}), "grid = 100000: must be at most 60000");
  EXPECT_EQ(error_of({.world = {.max_move = 0.01}, .grid = 50}),
            "grid = 50, max_move = 0.01: max_move·grid must be at least 1");
  EXPECT_EQ(error_of({.steps = 0}), "steps = 0: must be at least 1");
  EXPECT_EQ(error_of({.steps = 2000000000}),
            "steps = 2000000000, grid = 2000: steps·grid must be at most 10⁹");
  EXPECT_EQ(error_of({.discount = 1.5}), "discount = 1.5: must be in [0, 0.9999], or 1");
  EXPECT_EQ(error_of({.discount = 0.999999}), "discount = 0.999999: must be in [0, 0.9999], or 1");
  EXPECT_NE(error_of({.discount = std::nan("")}), "");
  EXPECT_NE(error_of({.start_time = std::nan("")}), "");
  EXPECT_NE(error_of({.world = {.max_move = 0.0}}), "");
}

TEST(EndlessFlight, IsTheFlightWithoutTheCuts) {
  const OptimalFlight whole = optimal_flight({.world = {.start = 0.3}, .steps = 250, .grid = 500});
  EndlessFlight flight({.world = {.start = 0.3}, .steps = 100, .grid = 500});
  for (int k = 0; k < 250; ++k) {
    const EndlessFlight::Step step = flight.next();
    EXPECT_EQ(step.position, whole.positions[k]) << k;
    EXPECT_EQ(step.move, whole.moves[k]) << k;
    EXPECT_EQ(step.nectar, whole.nectar[k]) << k;
  }
  flight.restart();
  EXPECT_EQ(flight.next().move, whole.moves[0]);
  flight.restart();  // within the first stretch
  EXPECT_EQ(flight.next().move, whole.moves[0]);
}

TEST(EndlessFlight, GoesOnFromWhereItIsWithAnotherDiscount) {
  EndlessFlight flight({.discount = 0.5, .steps = 100, .grid = 500});
  for (int k = 0; k < 29; ++k) flight.next();
  const EndlessFlight::Step last = flight.next();
  flight.set_discount(0.9);
  const OptimalFlight rest = optimal_flight({.world = {.start = last.position + last.move},
                                             .discount = 0.9,
                                             .steps = 150,
                                             .grid = 500,
                                             .start_time = 30});
  for (int k = 0; k < 150; ++k) EXPECT_EQ(flight.next().position, rest.positions[k]) << k;
  EXPECT_THROW(flight.set_discount(1.0), Error);
  EXPECT_THROW(flight.set_discount(0.99999), Error);
  flight.restart();
  EXPECT_EQ(flight.stretch().options.discount, 0.9);
  EXPECT_EQ(flight.next().position, 0.0);
  EXPECT_THROW(EndlessFlight({.discount = 1.0}), Error);
}

}  // namespace
}  // namespace waggle::reference
