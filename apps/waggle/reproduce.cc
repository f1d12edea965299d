#include "reproduce.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include <waggle/error.h>

#include "core/parallel.h"
#include "experiment_file.h"
#include "progress.h"

namespace waggle::app {

namespace {

constexpr int kMostSeeds = 100'000;

struct Experiment {
  const char* name;
  void (*run)(const ReproduceOptions&, const Progress&, Results&);
  bool has_learners;
  bool slow;  ///< says enough with few seeds
};

/// In the order of `all`.
constexpr Experiment kExperiments[] = {
    {"bee-world", reproduce_bee_world, true, false},
    {"market-maker", reproduce_market_maker, true, false},
    {"bias", reproduce_bias, false, false},
    {"convergence", reproduce_convergence, false, true},
    {"online", reproduce_online, false, true},
    {"forecasting", reproduce_forecasting, false, true},
};

}  // namespace

void ReproduceOptions::validate() const {
  std::vector<std::string> known;
  bool found = false;
  for (const Experiment& one : kExperiments) {
    known.emplace_back(one.name);
    if (experiment != one.name && experiment != "all") continue;
    found = true;
    if (one.has_learners) {
      ExperimentFile(one.name).learner(learner);
    } else if (experiment != "all" && learner != ReproduceOptions{}.learner) {
      throw Error(fmt::format("--learner {}: {} has learners of its own", learner, experiment));
    }
  }
  if (!found) {
    throw Error(
        fmt::format("experiment '{}': must be one of {}, all", experiment, fmt::join(known, ", ")));
  }
  if (seeds < 1) throw Error(fmt::format("--seeds {}: must be at least 1", seeds));
  if (seeds > kMostSeeds) {
    throw Error(fmt::format("--seeds {}: must be at most {}", seeds, kMostSeeds));
  }
  if (first_seed > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(seeds)) {
    throw Error(
        fmt::format("--first-seed {}: must leave room for {} seeds below 2^64", first_seed, seeds));
  }
  if (threads < 0) throw Error(fmt::format("--threads {}: must not be negative", threads));
}

ExperimentResult start_result(const ReproduceOptions& options, const std::string& experiment,
                              const std::string& learner) {
  ExperimentResult result;
  result.experiment = experiment;
  result.learner = learner;
  result.first_seed = options.first_seed;
  result.seeds = options.seeds;
  return result;
}

std::size_t for_each_seed(const ReproduceOptions& options, const std::string& what,
                          const Progress& progress,
                          const std::function<void(int index, std::uint64_t seed)>& run) {
  std::mutex mutex;
  int count = 0;
  std::vector<char> done(static_cast<std::size_t>(options.seeds));
  progress(what, 0, options.seeds);
  parallel_for(options.seeds, options.threads, [&](int i) {
    if (interrupted()) return;
    try {
      run(i, options.first_seed + static_cast<std::uint64_t>(i));
    } catch (const Interrupted&) {
      return;
    }
    const std::scoped_lock lock(mutex);
    done[static_cast<std::size_t>(i)] = 1;
    progress(what, ++count, options.seeds);
  });
  const auto first_missing = std::find(done.begin(), done.end(), 0);
  if (first_missing == done.begin()) throw Interrupted();
  return static_cast<std::size_t>(first_missing - done.begin());
}

std::vector<ExperimentResult> reproduce(const ReproduceOptions& options, const Progress& progress) {
  options.validate();
  Results results;
  try {
    for (const Experiment& experiment : kExperiments) {
      if (options.experiment != experiment.name && options.experiment != "all") continue;
      ReproduceOptions its = options;
      if (experiment.slow) its.seeds = std::min(options.seeds, options.slow_seeds);
      experiment.run(its, progress, results);
    }
  } catch (const Interrupted&) {
    if (results.empty()) throw;
  }
  return results;
}

}  // namespace waggle::app
