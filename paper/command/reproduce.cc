#include "reproduce.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <waggle/base/error.h>

#include "core/parallel.h"
#include "experiment.h"
#include "experiment_file.h"
#include "progress.h"

namespace waggle::app {

namespace {

constexpr int kMostSeeds = 100'000;

bool is_asked(const Experiment& experiment, const std::string& name) {
  return experiment.name == name || (name == "all" && !experiment.apart);
}

/// The seeds at work.
struct AtWork {
  std::mutex mutex;
  std::vector<char> done;
  std::function<ExperimentResult(std::size_t)> result;

  /// How many are done, from the first on.
  std::size_t first_done() const {
    return static_cast<std::size_t>(std::find(done.begin(), done.end(), 0) - done.begin());
  }
};
AtWork at_work;

/// For as long as it is there, these are at work.
class Turn {
 public:
  Turn(std::size_t seeds, const std::function<ExperimentResult(std::size_t)>& result) {
    const std::scoped_lock lock(at_work.mutex);
    at_work.done.assign(seeds, 0);
    at_work.result = result;
  }
  ~Turn() {
    const std::scoped_lock lock(at_work.mutex);
    at_work.result = nullptr;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

}  // namespace

void ReproduceOptions::validate() const {
  bool found = false;
  for (const Experiment& one : experiments()) {
    if (!is_asked(one, experiment)) continue;
    found = true;
    if (one.has_learners) {
      const ExperimentFile file(one.name);
      for (const std::string& learner : learners) file.learner(learner);
    } else if (experiment != "all" && learners != ReproduceOptions{}.learners) {
      throw Error(fmt::format("--learner {}: {} has learners of its own", fmt::join(learners, ", "),
                              experiment));
    }
  }
  if (!found) {
    throw Error(fmt::format("experiment '{}': must be one of {}, all", experiment,
                            fmt::join(experiment_names(), ", ")));
  }
  if (!problems.empty() && experiment != "control") {
    throw Error(fmt::format("--problem {}: for the experiment 'control', not '{}'",
                            fmt::join(problems, ","), experiment));
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

std::size_t for_each_seed(const ReproduceOptions& options, const std::string& what,
                          const SeedProgress& progress,
                          const std::function<void(int index, std::uint64_t seed)>& run,
                          const std::function<ExperimentResult(std::size_t done)>& result) {
  int count = 0;
  const Turn turn(static_cast<std::size_t>(options.seeds), result);
  progress(what, 0, options.seeds);
  parallel_for(options.seeds, options.threads, [&](int i) {
    if (interrupted()) return;
    try {
      run(i, options.first_seed + static_cast<std::uint64_t>(i));
    } catch (const Interrupted&) {
      return;
    }
    const std::scoped_lock lock(at_work.mutex);
    at_work.done[static_cast<std::size_t>(i)] = 1;
    progress(what, ++count, options.seeds);
  });
  const std::size_t done = at_work.first_done();
  if (done == 0) throw Interrupted();
  return done;
}

void Results::push_back(ExperimentResult result) {
  if (edit_ != nullptr) edit_(result);
  const std::scoped_lock lock(mutex_);
  results_.push_back(std::move(result));
}

std::vector<ExperimentResult> Results::so_far() const {
  const std::scoped_lock lock(mutex_);
  return results_;
}

std::vector<ExperimentResult> Results::abandon() const {
  at_work.mutex.lock();  // and never unlocked
  std::vector<ExperimentResult> all = so_far();
  if (at_work.result && at_work.first_done() > 0) {
    all.push_back(at_work.result(at_work.first_done()));
    if (edit_ != nullptr) edit_(all.back());
  }
  return all;
}

void reproduce(const ReproduceOptions& options, const SeedProgress& progress, Results& results) {
  options.validate();
  try {
    for (const Experiment& experiment : experiments()) {
      if (!is_asked(experiment, options.experiment)) continue;
      ReproduceOptions its = options;
      if (experiment.slow) its.seeds = std::min(options.seeds, options.slow_seeds);
      experiment.run(its, progress, results);
    }
  } catch (const Interrupted&) {
    if (results.so_far().empty()) throw;
  }
}

}  // namespace waggle::app
