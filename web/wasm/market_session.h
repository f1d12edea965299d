#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <waggle_paper/reference/market_maker.h>

#include <waggle/env/market_maker.h>
#include <waggle/learner.h>
#include <waggle/rollout.h>

namespace waggle::playground {

/// The market maker three times over, with the same noise: under the initial policy, under what was
/// learnt from it, and under the exact optimum for the reward's timing.
class MarketSession {
 public:
  enum Who { initial, learnt, optimal, who_count };
  /// One row of rows(), for each of the three: `quantity + kQuantities * who`.
  enum Quantity { inventory, trade, cost, kQuantities };
  static constexpr Eigen::Index kMostSteps = 5000;  ///< of one run()

  /// Throws Error for bad options.
  MarketSession(RewardTiming timing, std::uint64_t seed);
  ~MarketSession();

  /// Runs all three for so many steps; rows() holds them afterwards. Throws Error for a number of
  /// steps out of [1, kMostSteps].
  void run(Eigen::Index steps);
  /// Learns, on a market of its own, and starts all three again from the same noise.
  void learn();

  /// kQuantities·who_count × steps, of the last run(). NaN for what is not learnt yet.
  const Eigen::MatrixXd& rows() const { return rows_; }
  bool has_learnt() const { return policies_[learnt] != nullptr; }

  /// The optimum for this timing, and for the other.
  const reference::OptimalControl& optimum() const { return optimum_; }
  const reference::OptimalControl& other_optimum() const { return other_optimum_; }

 private:
  struct Market {
    Market(const MarketMakerOptions& options, std::uint64_t seed)
        : environment(options), simulation(environment, seed) {}
    MarketMaker environment;
    Simulation simulation;
  };
  void restart();

  MarketMakerOptions options_;
  std::uint64_t seed_;
  reference::OptimalControl optimum_, other_optimum_;
  std::array<std::unique_ptr<Market>, who_count> markets_;
  std::array<std::unique_ptr<Policy>, who_count> policies_;
  double divergence_limit_ = 1e8;
  Eigen::MatrixXd rows_;
};

}  // namespace waggle::playground
