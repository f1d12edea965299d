#include <cmath>

#include <fmt/format.h>

#include <waggle/environments.h>
#include <waggle/reference/market_maker.h>

namespace waggle {

using Eigen::MatrixXd;

ControlProblem market_maker_problem(const MarketMakerOptions& options) {
  const reference::NoisyLinearPolicy initial;
  ControlProblem problem;
  problem.environment = std::make_unique<MarketMaker>(options);
  problem.initial =
      std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, initial.gain), initial.noise);
  problem.initial_name =
      fmt::format("initial policy π_0 = N(−{} y, {}²)", initial.gain, initial.noise);
  problem.episodic = false;
  problem.discount = std::exp(-1.0);
  problem.optimum = [options](double discount) {
    const auto optimal = reference::optimal_control(options, discount);
    return ControlProblem::Optimum{"the optimum for the discount", -optimal.control.average_cost};
  };
  problem.optimal_policy = [options](double discount) {
    const double gain = reference::optimal_control(options, discount).control.gain;
    return std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, gain));
  };
  return problem;
}

}  // namespace waggle
