#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "prediction/remembered.h"

namespace waggle {

/// The steps ahead that are predicted.
constexpr Eigen::Index kHorizons[] = {1, 2, 4, 8, 16};
constexpr Eigen::Index kHorizonCount = 5;

/// λ of each horizon's regression, relative to the mean squared feature, > 0.
using PredictionRidges = std::array<double, kHorizonCount>;

/// How the future is regressed on what is remembered.
struct PredictionFitOptions {
  Eigen::Index dimensions = 8;  ///< kept at most
  double smallest = 1e-3;       ///< variance of a kept direction, relative to the largest
  double reward_mean = 0.0;
  double reward_deviation = 1.0;
  Eigen::VectorXd action_mean = {};  ///< of the action's channels; empty: 0
  Eigen::VectorXd action_unit = {};  ///< empty: 1
};

/// The sums of the regressions
///
///     y_{k+h} ≈ C_h x_k + D_h (a_k, …, a_{k+h−1}),     h in kHorizons
///
/// of y, what is seen and the reward, on features x_k of the memory, over rows whose future is
/// known that far; and of y_{k+h} times each channel of a_k, since predictions averaged over the
/// actions do not hold what depends on which one is taken. The state is made of these: the
/// directions P x in which the predictions C_h x vary most, whitened, and what is seen now. Rows
/// are split in two halves, each to judge the fit to the other.
class PredictionSums {
 public:
  /// For features x of this size, the first memory.size() of which are m itself.
  PredictionSums(const HistoryMemory& memory, Eigen::Index features,
                 const PredictionFitOptions& options);

  /// Adds rows; `x` has a column for each of rows.count.
  void add(const RememberedRows& rows, const Eigen::Ref<const Eigen::MatrixXd>& x);

  /// What is summed, and adding what other rows sum up to.
  Arrays arrays();
  void merge(PredictionSums&& later) { add_arrays(later.arrays(), arrays()); }

  /// 1e-3 each until they are set.
  void set_ridges(const PredictionRidges& ridges) { ridges_ = ridges; }
  /// Those that leave the least unexplained of one half, fitted to the other; 1e-3 unless another
  /// leaves a tenth less. `last`: ones that were chosen before, from like data, so that only
  /// they and their neighbours are tried.
  PredictionRidges best_ridges(const std::optional<PredictionRidges>& last = std::nullopt) const;

  /// P, (directions + what is seen) × features; the constant's column makes its mean 0. The
  /// predictions are those of y alone, or also of y times the action.
  Eigen::MatrixXd solve(bool by_action) const;
  /// Whether y times the action is summed, too: not where that would be too many numbers.
  bool has_products() const { return targets_ > outputs_; }
  /// R² by horizon (rows) and number predicted (columns), each half judged by the other's fit; the
  /// last column is the reward, if it is not among what is seen. NaN where nothing varies.
  Eigen::MatrixXd cross_validated() const;
  /// 1 − R² in the mean of all that varies, one step ahead and of all horizons.
  struct Unforeseen {
    double next = 0.0;
    double ever = 0.0;
  };
  Unforeseen unforeseen() const;
  Eigen::Index outputs() const { return outputs_; }

 private:
  struct Half {
    // Rows by the longest horizon that is known of them, so that each is added once. Empty where
    // there are none.
    std::vector<Eigen::MatrixXd> gram;   // (features + actions)²
    std::vector<Eigen::MatrixXd> cross;  // … × outputs, by horizon
    Eigen::MatrixXd squares;             // horizons × outputs
    Eigen::MatrixXd sums;
    Eigen::MatrixXd rows;  // by horizon, one column
  };
  struct System {
    Eigen::MatrixXd gram, cross;
  };
  /// The sums of each half for one horizon.
  struct Systems {
    System of_half[2];
  };
  System system(Eigen::Index horizon, int half) const;  // half < 0: both
  Systems systems(Eigen::Index horizon) const { return {{system(horizon, 0), system(horizon, 1)}}; }
  static Eigen::MatrixXd coefficients(const System& system, double ridge);
  bool is_judged(Eigen::Index horizon) const;
  /// 1 − R² of every output, each half judged by the other's fit; NaN where nothing varies.
  Eigen::VectorXd unexplained(Eigen::Index horizon, const Systems& systems, double ridge) const;
  /// The mean logarithm of these: what is foreseen to a hundredth counts as much as what hardly is.
  double mean_log_error(Eigen::Index horizon, const Systems& systems, double ridge) const;
  Eigen::Index width(Eigen::Index horizon) const;

  const HistoryMemory& memory_;
  Eigen::Index features_;
  PredictionFitOptions options_;
  Eigen::Index outputs_;
  Eigen::Index targets_;  // outputs, and these times each channel
  bool reward_is_output_;
  PredictionRidges ridges_;
  Half halves_[2];
};

}  // namespace waggle
