#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include <waggle/fit/states.h>
#include <waggle/fit/value.h>

namespace waggle {

/// Throws Error if there are none. `of` is how many there are with those of the washout.
void require_rows(Eigen::Index rows, Eigen::Index washout, Eigen::Index of);

/// What there is to say of the values Wᵀφ(x_k) along rows of experience.
class ValuesAlong {
 public:
  /// Throws Error unless the weights fit the reservoir, which must outlive this.
  ValuesAlong(const ReservoirSystem& reservoir, const Eigen::Ref<const Eigen::VectorXd>& weights,
              double discount);

  void add(const StateBlock& block, Eigen::Index washout);

  Eigen::Index rows() const { return rows_; }
  /// The root mean square of r_k + γ Wᵀφ(x_{k+1}) − Wᵀφ(x_k).
  double bellman_error() const;
  ValueRange range() const { return range_; }

 private:
  void take(double value);

  const ReservoirSystem& reservoir_;
  const bool mapped_;  // features are not the states themselves
  const Eigen::VectorXd weights_;
  const double discount_;
  Eigen::MatrixXd features_;
  Eigen::Index rows_ = 0;
  double squares_ = 0.0;  // of the errors
  ValueRange range_;
};

/// The discounted return of every row to its episode's end; NaN where more than `unknown` of its
/// weight lies beyond the record.
std::vector<double> discounted_returns(std::span<const double> rewards,
                                       const std::vector<EpisodeEnd>& ends, double discount,
                                       double unknown);

}  // namespace waggle
