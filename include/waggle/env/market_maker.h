#pragma once

#include <waggle/base/names.h>
#include <waggle/env/control_problem.h>
#include <waggle/environment.h>

namespace waggle {

/// When the cost of an inventory is charged. The paper uses both, and they are different problems.
enum class RewardTiming {
  arrival,    ///< r_k = ε(r − α a_{k-1}² − β y_k²): what the paper's network is trained on
  departure,  ///< r_k = ε(r − α a_{k-1}² − β y_{k-1}²): what the paper's closed form solves
};
template <>
struct Names<RewardTiming> {
  static constexpr NameTable<RewardTiming, 2> all{
      {{"arrival", RewardTiming::arrival}, {"departure", RewardTiming::departure}}};
};

/// The market maker (section "Discretised problem" of the paper).
///
///     y_{k+1} = y_k + ε a_k + σ √ε N_k,      N_k ~ N(0, 1)
///
/// The agent observes the inventory y_k; the reward of step k is charged by `timing`. At reset
/// there is no earlier action or inventory and both count as 0.
struct MarketMakerOptions {
  double control_cost = 1.0;    ///< α > 0
  double inventory_cost = 1.0;  ///< β > 0
  double volatility = 1.0;      ///< σ ≥ 0
  double profit_rate = 0.0;     ///< r
  double time_step = 1.0;       ///< ε > 0
  RewardTiming timing = RewardTiming::arrival;
  double start = 0.0;  ///< y_0

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, MarketMakerOptions& o) {
  v("control_cost", o.control_cost, "what a squared unit of drift costs");
  v("inventory_cost", o.inventory_cost, "what a squared unit of inventory costs");
  v("volatility", o.volatility, "standard deviation of the inventory's noise per unit of time");
  v("profit_rate", o.profit_rate, "what is earned per unit of time");
  v("time_step", o.time_step, "time between two steps");
  v("timing", o.timing, "whether the inventory after or before a move is charged");
  v("start", o.start, "inventory at the start");
}

class MarketMaker final : public Environment {
 public:
  explicit MarketMaker(const MarketMakerOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

 private:
  MarketMakerOptions options_;
  double inventory_ = 0.0;
};

/// Throws Error for options out of range.
ControlProblem market_maker_problem(const MarketMakerOptions& options = {});

}  // namespace waggle
