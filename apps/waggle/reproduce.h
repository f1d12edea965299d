#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results.h"

namespace waggle::app {

struct ReproduceOptions {
  std::string experiment = "all";  ///< …, or all: bee-world and market-maker
  std::string learner = "paper";   ///< a table under [learners] of the experiment's file
  int seeds = 100;
  std::uint64_t first_seed = 0;
  int threads = 0;  ///< 0: as many as the machine has

  /// Throws Error where a field is out of its range or names nothing.
  void validate() const;
};

/// Told how many runs of how many are done; called from several threads, one at a time.
using Progress = std::function<void(const std::string& what, int done, int total)>;

std::vector<ExperimentResult> reproduce(const ReproduceOptions& options, const Progress& progress);

/// An empty result of these seeds.
ExperimentResult start_result(const ReproduceOptions& options, const std::string& experiment,
                              const std::string& learner);

/// Calls run(i, seed) for every seed, on the options' threads, and reports progress. Returns how
/// many of them, from the first on, were done: fewer if interrupted. Throws Interrupted if that is
/// none.
std::size_t for_each_seed(const ReproduceOptions& options, const std::string& what,
                          const Progress& progress,
                          const std::function<void(int index, std::uint64_t seed)>& run);

/// One problem of the paper.
ExperimentResult reproduce_bee_world(const ReproduceOptions& options, const Progress& progress);
/// Under both reward timings.
std::vector<ExperimentResult> reproduce_market_maker(const ReproduceOptions& options,
                                                     const Progress& progress);

/// LSTD and the Bellman residual on features that represent π_0's value exactly, against data
/// length.
ExperimentResult reproduce_bias(const ReproduceOptions& options, const Progress& progress);

/// Theorems 1 and 2: errors against the steps and the features, and their slopes.
std::vector<ExperimentResult> reproduce_convergence(const ReproduceOptions& options,
                                                    const Progress& progress);

/// Algorithm 1 plain, whitened and recursive against LSTD, the Lemma's flow, and Bee World learnt
/// while playing.
std::vector<ExperimentResult> reproduce_online(const ReproduceOptions& options,
                                               const Progress& progress);

/// Mackey–Glass, NARMA10, Lorenz and memory capacity, next to reservoirpy's figures.
ExperimentResult reproduce_forecasting(const ReproduceOptions& options, const Progress& progress);

}  // namespace waggle::app
