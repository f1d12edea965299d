#pragma once

#include <cstdint>
#include <deque>

#include <Eigen/Core>
#include <waggle_paper/reference/simulated_return.h>

#include <waggle/env/cart_pole.h>

/// What somebody reaches on the cart-pole who knows its equations and sees what a learner sees: a
/// Kalman filter and a linear-quadratic regulator. Nothing here sees a learner.
namespace waggle::reference {

/// s_{k+1} = A s_k + B f_k, the cart-pole's step linearised where it stands upright, with
/// s = (x, ẋ, θ, θ̇), and the regulator f = −K s of that.
struct CartPoleModel {
  Eigen::MatrixXd a;     ///< 4 × 4
  Eigen::MatrixXd b;     ///< 4 × 1
  Eigen::MatrixXd gain;  ///< K, 1 × 4
};

/// K minimises Σ 0.999ᵏ (x² + 500 θ² + f²/2). Of the force that it asks for only the direction
/// is to be had. Throws Error for options out of range.
CartPoleModel cart_pole_model(const CartPoleOptions& options);

/// What the filter's linearised step leaves out, as if it were noise: the standard deviation that a
/// step adds to ẋ and θ̇.
constexpr double kCartPoleUnmodelled = 0.02;

/// Estimates the state from what the sensor shows, by the true equations: the mean moves by them,
/// the covariance by their linearisation. What a late sensor shows is taken in at the time it was
/// true, and the pushes since then are made up for.
class CartPoleFilter {
 public:
  /// Throws Error for options out of range.
  explicit CartPoleFilter(const CartPoleOptions& options);

  /// A new episode starts.
  void reset();
  /// What is seen now. Once a step, before push().
  void see(const Eigen::Ref<const Eigen::VectorXd>& observation);
  /// The force from now to the next step.
  void push(double force);

  /// Of the state now.
  CartPoleState estimate() const;
  /// Of the state that the last observation was of: its covariance.
  Eigen::MatrixXd covariance() const { return covariance_; }
  /// What was new in the last observation, number by number, each in standard deviations of what
  /// was expected of it and of those before it. White and N(0, 1) if the model is right.
  const Eigen::VectorXd& innovations() const { return innovations_; }

 private:
  // Not aligned, so that it is laid out alike whatever a program is compiled for.
  using Vector4 = Eigen::Matrix<double, 4, 1, Eigen::DontAlign>;
  using Matrix4 = Eigen::Matrix<double, 4, 4, Eigen::DontAlign>;

  CartPoleOptions options_;
  Matrix4 step_;               // A
  Vector4 mean_;               // at the time of the last observation
  Matrix4 covariance_;         //
  std::deque<double> pushes_;  // since then
  Eigen::Index age_ = 0;       // steps of the episode so far
  Eigen::VectorXd innovations_;
};

/// Filter and regulator: decides from what is seen.
class CartPoleRegulator {
 public:
  /// Throws Error for options out of range.
  explicit CartPoleRegulator(const CartPoleOptions& options);

  /// A new episode starts.
  void reset();
  /// Whether to push to the right, given what is seen now. Once a step. Throws Error, and remembers
  /// nothing of it, if that has another size or a number of it is not finite or beyond ±10⁶.
  bool decide(const Eigen::Ref<const Eigen::VectorXd>& observation);
  /// What was done instead of what was last decided.
  void applied(bool right) { right_ = right; }

  const CartPoleFilter& filter() const { return filter_; }

 private:
  CartPoleFilter filter_;
  Eigen::RowVectorXd gain_;
  bool decided_ = false;  // in this episode
  bool right_ = false;    // the last decision
};

/// What that reaches on simulated episodes. Throws Error for options out of range, for episodes
/// longer than 10000 steps, and unless episodes ≥ 2.
SimulatedReturn regulated_cart_pole(const CartPoleOptions& options, int episodes = 5000,
                                    std::uint64_t seed = 0);

}  // namespace waggle::reference
