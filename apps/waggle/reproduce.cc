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

}  // namespace

void ReproduceOptions::validate() const {
  auto known = experiment_names();
  known.emplace_back("bias");
  if (experiment != "all" && std::find(known.begin(), known.end(), experiment) == known.end()) {
    throw Error(
        fmt::format("experiment '{}': must be one of {}, all", experiment, fmt::join(known, ", ")));
  }
  for (const std::string& name : experiment_names()) {
    const ExperimentFile file(name);
    if (file.learner_names().empty()) continue;
    if (experiment == name || experiment == "all") file.learner(learner);
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
    run(i, options.first_seed + static_cast<std::uint64_t>(i));
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
  const bool all = options.experiment == "all";
  std::vector<ExperimentResult> results;
  if (all || options.experiment == "bee-world") {
    results.push_back(reproduce_bee_world(options, progress));
  }
  if ((all && !interrupted()) || options.experiment == "market-maker") {
    for (auto& result : reproduce_market_maker(options, progress)) {
      results.push_back(std::move(result));
    }
  }
  if (options.experiment == "convergence") results = reproduce_convergence(options, progress);
  if (options.experiment == "online") results = reproduce_online(options, progress);
  if (options.experiment == "bias") results.push_back(reproduce_bias(options, progress));
  if (options.experiment == "forecasting") {
    results.push_back(reproduce_forecasting(options, progress));
  }
  return results;
}

}  // namespace waggle::app
