#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <waggle_paper/reference/bee_world.h>

#include <waggle/base/error.h>

namespace waggle::reference {
namespace {

constexpr double kPi = std::numbers::pi;

std::string error_of(const EulerLagrangeOptions& options) {
  try {
    euler_lagrange_flight(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Erratum: the flow as printed flies off at ±c. Reversed, it gives the 1.60 the paper reports.
TEST(EulerLagrange, OnlyTheCorrectedSignReachesThePapersNectar) {
  for (const int steps : {250, 1000}) {
    EulerLagrangeOptions options{.steps = steps};
    EXPECT_NEAR(euler_lagrange_flight(options).mean_nectar, 1.60, 0.005);
    options.sign = EulerLagrangeSign::printed;
    EXPECT_NEAR(euler_lagrange_flight(options).mean_nectar, 1.00, 0.02);
  }
}

// Origin of 1.597: the default integrator at tolerances from 1e-13 to 1e-7 (1.5966 to 1.5975).
TEST(EulerLagrange, IntegratorsAgreeOnTheMeanOfTheDefaultFlow) {
  const double explicit_mean = euler_lagrange_flight({.steps = 250, .tolerance = 1e-8}).mean_nectar;
  const double implicit_mean =
      euler_lagrange_flight({.steps = 250, .tolerance = 1e-8, .integrator = Integrator::rosenbrock})
          .mean_nectar;
  EXPECT_NEAR(explicit_mean, implicit_mean, 0.005);
  EXPECT_NEAR(explicit_mean, 1.597, 0.005);
  EXPECT_NEAR(implicit_mean, 1.597, 0.005);
}

// So close only if the Rosenbrock method keeps its order in a flow that depends on the time.
TEST(EulerLagrange, IntegratorsAgreeOnAMildFlight) {
  for (const double barrier : {0.05, 0.1}) {
    EulerLagrangeOptions options{.barrier = barrier, .steps = 50};
    const EulerLagrangeFlight first = euler_lagrange_flight(options);
    options.integrator = Integrator::rosenbrock;
    const EulerLagrangeFlight second = euler_lagrange_flight(options);
    for (int k = 0; k < 50; ++k) {
      ASSERT_NEAR(std::remainder(first.positions[k] - second.positions[k], 1.0), 0.0, 1e-8);
    }
    EXPECT_LT((first.velocities - second.velocities).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(EulerLagrange, AsPrintedFliesOffAtFullSpeedForEveryFrequency) {
  for (const Integrator integrator : {Integrator::dormand_prince, Integrator::rosenbrock}) {
    for (const double frequency : {0.02, 0.05, 0.1, 0.2, 0.3}) {
      // Past 1024 steps the momentum γ^{-t} would be beyond double precision.
      const EulerLagrangeFlight flight =
          euler_lagrange_flight({.world = {.angular_frequency = frequency},
                                 .sign = EulerLagrangeSign::printed,
                                 .steps = 1500,
                                 .integrator = integrator});
      EXPECT_NEAR(flight.mean_nectar, 1.00, 0.02);
      EXPECT_NEAR(flight.velocities.tail(1400).cwiseAbs().minCoeff(), 0.1, 1e-12);
    }
  }
}

TEST(EulerLagrange, FallsShortOfTheOptimum) {
  const double flow = euler_lagrange_flight({.steps = 1000}).mean_nectar;
  EXPECT_LT(flow, optimal_flight({.steps = 1000}).mean_nectar);
}

/// ω, γ, ε and the sign of a case mild enough for finite differences.
struct Mild {
  double frequency;
  double discount;
  double barrier;
  EulerLagrangeSign sign;
};

class MildFlow : public testing::TestWithParam<std::tuple<Mild, Integrator>> {
 protected:
  EulerLagrangeOptions options() const {
    const auto& [mild, integrator] = GetParam();
    return {.world = {.angular_frequency = mild.frequency, .start = 0.05},
            .discount = mild.discount,
            .barrier = mild.barrier,
            .sign = mild.sign,
            .steps = 20,
            .samples_per_step = 500,
            .tolerance = 1e-12,
            .integrator = integrator};
  }
};

// The defining equation in the paper's own variables (y, v), though the code integrates others.
TEST_P(MildFlow, SatisfiesThePapersEquation) {
  const EulerLagrangeOptions options = this->options();
  const EulerLagrangeFlight flight = euler_lagrange_flight(options);
  const double c = options.world.max_move;
  const double step = 1.0 / options.samples_per_step;
  const double sign = options.sign == EulerLagrangeSign::printed ? -1.0 : 1.0;
  ASSERT_EQ(flight.positions.size(), 20 * 500);
  EXPECT_EQ(flight.positions[0], 0.05);
  EXPECT_EQ(flight.velocities[0], 0.0);
  for (Eigen::Index j = 1; j + 1 < flight.positions.size(); ++j) {
    const double t = j * step;
    const double y = flight.positions[j];
    const double v = flight.velocities[j];
    const double y_dot =
        std::remainder(flight.positions[j + 1] - flight.positions[j - 1], 1.0) / (2 * step);
    const double v_dot = (flight.velocities[j + 1] - flight.velocities[j - 1]) / (2 * step);
    const double cosine = std::cos(kPi * v / (2 * c));
    const double expected = sign * 2 * c * cosine * cosine / kPi *
                            (4 * c * std::cos(options.world.angular_frequency * t) *
                                 std::cos(2 * kPi * y) / options.barrier +
                             std::log(options.discount) * std::tan(kPi * v / (2 * c)));
    ASSERT_NEAR(y_dot, v, 1e-5) << "t = " << t;
    ASSERT_NEAR(v_dot, expected, 1e-4) << "t = " << t;
    ASSERT_NEAR(flight.nectar[j], nectar(options.world, y, t), 1e-12);
  }
  EXPECT_DOUBLE_EQ(flight.mean_nectar, flight.nectar.mean());
}

TEST_P(MildFlow, ConvergesWithTheTolerance) {
  EulerLagrangeOptions options = this->options();
  const EulerLagrangeFlight fine = euler_lagrange_flight(options);
  options.tolerance = 1e-6;
  const EulerLagrangeFlight coarse = euler_lagrange_flight(options);
  EXPECT_NEAR(coarse.mean_nectar, fine.mean_nectar, 1e-4);
  EXPECT_LT((coarse.velocities - fine.velocities).cwiseAbs().maxCoeff(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MildFlow,
    testing::Combine(testing::Values(Mild{0.1, 0.5, 0.1, EulerLagrangeSign::corrected},
                                     Mild{0.1, 0.5, 0.1, EulerLagrangeSign::printed},
                                     Mild{0.7, 0.9, 0.05, EulerLagrangeSign::corrected},
                                     Mild{0.7, 1.0, 0.5, EulerLagrangeSign::printed}),
                     testing::Values(Integrator::dormand_prince, Integrator::rosenbrock)));

// Without discount and season the corrected flow has a Hamiltonian: with κ = 4c/ε, q = tan(θ)/κ,
// H = (2c/π)(q atan(κq) − log(1 + κ²q²)/(2κ)) − sin(2πy)/(2π).
TEST(EulerLagrange, ConservesEnergyWithoutDiscountOrSeason) {
  const EulerLagrangeFlight flight =
      euler_lagrange_flight({.world = {.angular_frequency = 0.0, .start = 0.1},
                             .discount = 1.0,
                             .barrier = 0.1,
                             .steps = 100,
                             .samples_per_step = 10,
                             .tolerance = 1e-12});
  const double c = 0.1;
  const double kappa = 4 * c / 0.1;
  for (Eigen::Index j = 0; j < flight.positions.size(); ++j) {
    const double theta = kPi * flight.velocities[j] / (2 * c);
    const double kinetic = (theta * std::tan(theta) + std::log(std::cos(theta))) / kappa;
    const double energy =
        2 * c / kPi * kinetic - std::sin(2 * kPi * flight.positions[j]) / (2 * kPi);
    ASSERT_NEAR(energy, -std::sin(2 * kPi * 0.1) / (2 * kPi), 1e-9);
  }
}

TEST(EulerLagrange, SamplesOfTheSameFlightAgree) {
  const EulerLagrangeFlight coarse = euler_lagrange_flight({.barrier = 0.1, .steps = 50});
  const EulerLagrangeFlight fine =
      euler_lagrange_flight({.barrier = 0.1, .steps = 50, .samples_per_step = 4});
  for (int k = 0; k < 50; ++k) EXPECT_EQ(coarse.positions[k], fine.positions[4 * k]);
}

TEST(EulerLagrange, RefusesBadOptions) {
  EXPECT_EQ(error_of({.discount = 0.0}), "discount = 0: must be in (0, 1]");
  EXPECT_EQ(error_of({.discount = 1.1}), "discount = 1.1: must be in (0, 1]");
  EXPECT_EQ(error_of({.barrier = 0.0}), "barrier = 0: must be finite and at least 1e-8");
  EXPECT_NE(error_of({.barrier = std::numeric_limits<double>::infinity()}), "");
  EXPECT_EQ(error_of({.steps = 0}), "steps = 0: must be in [1, 1000000]");
  EXPECT_EQ(error_of({.samples_per_step = 0}), "samples_per_step = 0: must be in [1, 1000]");
  EXPECT_EQ(error_of({.tolerance = 1.0}), "tolerance = 1: must be in [1e-13, 1e-2]");
  EXPECT_NE(error_of({.tolerance = std::nan("")}), "");
  EXPECT_NE(error_of({.world = {.max_move = 0.0}}), "");
}

}  // namespace
}  // namespace waggle::reference
