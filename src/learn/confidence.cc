#include "learn/confidence.h"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include <waggle/random.h>

#include "control/action_search.h"
#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd deviation_factor(const Learnt& learnt, TrajectorySource& experience) {
  const ReservoirSystem& reservoir = *learnt.reservoir;
  const ValueOptions& options = learnt.value.options;
  const bool residuals = options.method == Method::bellman_residual;
  const bool improved = !learnt.rounds.back().sweeps.empty();
  ActionSearch search(learnt.reservoir, learnt.layout, learnt.actions, learnt.options.greedy);
  search.set_weights(learnt.value.weights);
  const Random random(0);

  const Index n = reservoir.features();
  require_memory(matrix_bytes(7.0, static_cast<double>(n)),
                 fmt::format("the standard error of a value over {} features", n));
  MatrixXd system = MatrixXd::Zero(n, n);
  MatrixXd gram = MatrixXd::Zero(n, n);
  MatrixXd states, nexts, features, next_features;
  VectorXd action(learnt.actions.size());
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, learnt.layout, experience, state, [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    const Index skipped = std::clamp<Index>(options.washout - block.first_in_episode, 0, count);
    if (skipped == count) return;
    states = block.states.middleCols(skipped, count - skipped);
    nexts = block.states.rightCols(count - skipped);
    features.resize(n, states.cols());
    next_features.resize(n, states.cols());
    if (improved) {
      for (Index i = 0; i < states.cols(); ++i) {
        Draws draws =
            random.at(Purpose::policy, static_cast<std::uint64_t>(block.first + skipped + i));
        search.prepare(states.col(i), block.reward(skipped + i),
                       block.chunk.observations().col(block.row + skipped + i));
        search.maximise(draws, action);
        search.apply(action, nexts.col(i));
      }
    }
    reservoir.map_features(states, features);
    reservoir.map_features(nexts, next_features);
    for (Index i = 0; i < states.cols(); ++i) {
      if (block.terminated(skipped + i)) next_features.col(i).setZero();
    }
    next_features = features - options.discount * next_features;
    const MatrixXd& instruments = residuals ? next_features : features;
    linalg::add_outer_product(instruments, next_features, system);
    linalg::add_outer_product(instruments, instruments, gram);
  });

  // With a ridge of 0 a singular system would stay singular, so it is at least of rounding's size.
  const double ridge =
      std::max(learnt.value.diagnostics.ridge, 1e-12 * gram.trace() / static_cast<double>(n));
  system.diagonal().array() += ridge;
  gram.diagonal().array() += ridge;
  const Eigen::LLT<MatrixXd> llt(gram);
  if (llt.info() != Eigen::Success) return {};
  // Cov = FFᵀ with F = σ (G + λI)⁻¹ M, MMᵀ = S + λI; the triangular factor R of Fᵀ has RᵀR = FFᵀ.
  const linalg::LinearSolution solution = linalg::solve(std::move(system), llt.matrixL());
  MatrixXd root = learnt.value.diagnostics.residual * solution.x.transpose();
  if (!(solution.reciprocal_condition > 0.0 && root.allFinite())) return {};
  MatrixXd factor = MatrixXd::Zero(n, n);
  linalg::TriangularUpdate update(n);
  update(factor, root);
  factor.transposeInPlace();
  if (!factor.allFinite()) return {};
  return factor;
}

}  // namespace waggle
