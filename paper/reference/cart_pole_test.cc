#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <waggle_paper/reference/cart_pole.h>
#include <waggle_paper/reference/riccati.h>

#include "expect_error.h"

namespace waggle::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Vector4d;
using Eigen::VectorXd;

Vector4d numbers(const CartPoleState& s) {
  return {s.position, s.velocity, s.angle, s.angular_velocity};
}
CartPoleState state(const Vector4d& x) { return {x[0], x[1], x[2], x[3]}; }

TEST(CartPoleReference, TheModelIsTheStepLinearised) {
  for (const CartPoleOptions& options :
       {CartPoleOptions{}, CartPoleOptions{.gravity = 3.0, .half_length = 1.2},
        CartPoleOptions{.cart_mass = 0.2, .pole_mass = 2.0}}) {
    const CartPoleModel model = cart_pole_model(options);
    const double h = 1e-5;
    for (Index i = 0; i < 4; ++i) {
      const Vector4d push = h * Vector4d::Unit(i);
      const Vector4d slope =
          (numbers(moved(options, state(push), 0.0)) - numbers(moved(options, state(-push), 0.0))) /
          (2.0 * h);
      EXPECT_LT((model.a.col(i) - slope).norm(), 1e-8) << i;
    }
    const Vector4d by_force =
        (numbers(moved(options, {}, h)) - numbers(moved(options, {}, -h))) / (2.0 * h);
    EXPECT_LT((model.b - by_force).norm(), 1e-8);
    EXPECT_GT(model.a.eigenvalues().cwiseAbs().maxCoeff(), 1.0);
    EXPECT_LT((model.a - model.b * model.gain).eigenvalues().cwiseAbs().maxCoeff(), 1.0);
  }
}

/// Regulated episodes; visit(environment, regulator, step) after each decision.
template <typename Visit>
void regulate(const CartPoleOptions& options, int episodes, Visit&& visit) {
  CartPole cart(options);
  CartPoleRegulator regulator(options);
  Percept percept;
  percept.observation.setZero(cart.spec().observation_size());
  VectorXd action(1);
  std::uint64_t clock = 0;
  for (int episode = 0; episode < episodes; ++episode) {
    Draws start = Random(7).at(Purpose::environment, clock++);
    cart.reset(start, percept);
    regulator.reset();
    for (int step = 0; !percept.terminated && !percept.truncated; ++step) {
      action[0] = regulator.decide(percept.observation) ? 1.0 : 0.0;
      visit(cart, regulator, step);
      Draws draws = Random(7).at(Purpose::environment, clock++);
      cart.step(action, draws, percept);
    }
  }
}

TEST(CartPoleReference, TheFiltersInnovationsAreWhite) {
  // What the filter takes for unmodelled makes it expect a little more than there is.
  for (const Index delay : {0, 3}) {
    double count = 0.0;
    Eigen::Array2d sum(0, 0), squares(0, 0), lagged(0, 0), last(0, 0);
    double crossed = 0.0;
    regulate({.sensor = {.noise = 0.03, .delay = delay}, .episode_steps = 400}, 50,
             [&](const CartPole&, const CartPoleRegulator& regulator, int step) {
               const Eigen::Array2d now = regulator.filter().innovations();
               if (step > 100) {
                 count += 1.0;
                 sum += now;
                 squares += now.square();
                 lagged += now * last;
                 crossed += now[0] * now[1];
               }
               last = now;
             });
    ASSERT_GT(count, 10'000.0);
    for (Index i = 0; i < 2; ++i) {
      EXPECT_NEAR(sum[i] / count, 0.0, 0.05) << delay << ", " << i;
      EXPECT_NEAR(squares[i] / count, 0.95, 0.1) << delay << ", " << i;
      EXPECT_NEAR(lagged[i] / count, 0.0, 0.1) << delay << ", " << i;
    }
    EXPECT_NEAR(crossed / count, 0.0, 0.05) << delay;
  }
}

TEST(CartPoleReference, TheFiltersCovarianceIsTheRiccatiEquations) {
  const CartPoleOptions options{.sensor = {.noise = 0.1}};
  const CartPoleModel model = cart_pole_model(options);
  MatrixXd c = MatrixXd::Zero(2, 4);
  c(0, 0) = c(1, 2) = 1.0;
  MatrixXd w = MatrixXd::Zero(4, 4);
  w(1, 1) = w(3, 3) = kCartPoleUnmodelled * kCartPoleUnmodelled;
  const MatrixXd v = 0.01 * MatrixXd::Identity(2, 2);
  const RiccatiSolution dual = solve_riccati(model.a.transpose(), c.transpose(), w, v);
  ASSERT_TRUE(dual.converged);
  EXPECT_LT(dual.residual, 1e-9);
  const MatrixXd gain = kalman_gain(dual.cost, c, v);
  const MatrixXd steady = dual.cost - gain * c * dual.cost;

  CartPoleFilter filter(options);
  for (int k = 0; k < 3000; ++k) {
    filter.see(Eigen::Vector2d::Zero());
    filter.push(0.0);
  }
  EXPECT_LT((filter.covariance() - steady).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(CartPoleReference, KnowsTheStateFromAPerfectSensorHoweverLate) {
  for (const Index delay : {0, 2, 10}) {
    double largest = 0.0;
    regulate({.sensor = {.delay = delay}, .episode_steps = 100}, 3,
             [&](const CartPole& cart, const CartPoleRegulator& regulator, int step) {
               if (step < delay + 5) return;
               const Vector4d error =
                   numbers(cart.state()) - numbers(regulator.filter().estimate());
               largest = std::max(largest, error.cwiseAbs().maxCoeff());
             });
    EXPECT_LT(largest, 1e-3) << delay;
  }
}

TEST(CartPoleReference, KeepsThePoleUp) {
  const auto share = [](const CartPoleOptions& options) {
    return regulated_cart_pole(options, 200).mean / static_cast<double>(options.episode_steps);
  };
  EXPECT_EQ(share({}), 1.0);
  EXPECT_EQ(share({.episode_steps = 5000}), 1.0);
  EXPECT_GT(share({.sensor = {.noise = 0.1}, .episode_steps = 200}), 0.97);
  EXPECT_GT(share({.sensor = {.noise = 0.02, .delay = 5}}), 0.99);
  EXPECT_GT(share({.velocities = true, .sensor = {.noise = 0.1}}), 0.99);
  EXPECT_EQ(share({.gravity = 0.0}), 1.0);
  // Nobody can do much here, but what is done is finite.
  EXPECT_GT(share({.sensor = {.noise = 100.0, .delay = 1000}}), 0.01);
  EXPECT_GT(share({.episode_steps = 50, .gravity = 1000.0, .half_length = 0.01}), 0.01);
}

TEST(CartPoleReference, HeedsWhatWasDoneInstead) {
  const CartPoleOptions options;
  CartPole cart(options);
  CartPoleRegulator regulator(options);
  Percept percept;
  percept.observation.setZero(2);
  Draws draws = Random(1).at(Purpose::environment);
  cart.reset(draws, percept);
  for (int k = 0; k < 12; ++k) {
    regulator.decide(percept.observation);
    regulator.applied(k % 2 == 0);
    cart.step(VectorXd::Constant(1, k % 2 == 0 ? 1.0 : 0.0), draws, percept);
  }
  regulator.decide(percept.observation);
  EXPECT_LT((numbers(cart.state()) - numbers(regulator.filter().estimate())).norm(), 1e-3);
}

TEST(CartPoleReference, BadInputIsNamed) {
  CartPoleRegulator regulator((CartPoleOptions()));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { regulator.decide(Eigen::Vector2d(0.0, nan)); }, "nan", "finite");
  expect_error([&] { regulator.decide(VectorXd::Zero(4)); }, "4 numbers", "must be 2");
  regulator.decide(Eigen::Vector2d(0.1, 0.0));
  EXPECT_TRUE(regulator.filter().innovations().allFinite());
  expect_error([] { regulated_cart_pole({}, 1); }, "episodes = 1", "at least 2");
  expect_error([] { regulated_cart_pole({.episode_steps = 1'000'000}); }, "episode_steps = 1000000",
               "10000");
  expect_error([] { cart_pole_model({.cart_mass = -1.0}); }, "cart_mass = -1");
}

}  // namespace
}  // namespace waggle::reference
