#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "results.h"

namespace waggle::app {

/// The figures of the two problems with learners that are worth their work.
enum class Figures {
  none,            ///< those that cost nothing
  learning_curve,  ///< that of the learner, if it has more than one round
  all,             ///< the best learner's too, and a path of ridges
};

struct ReproduceOptions {
  std::string experiment = "all";  ///< one of them, or all
  /// One after the other: tables under [learners] of the experiment's file, if it has learners.
  std::vector<std::string> learners = {"paper"};
  std::vector<std::string> problems;  ///< of `control`, by name; empty: all
  int seeds = 100;
  int slow_seeds = 10;  ///< how many of them slow experiments run, at most
  std::uint64_t first_seed = 0;
  int threads = 0;  ///< 0: as many as the machine has
  Figures figures = Figures::none;

  /// Throws Error where a field is out of its range or names nothing.
  void validate() const;
};

/// Told how many runs of how many are done; called from several threads, one at a time.
using SeedProgress = std::function<void(const std::string& what, int done, int total)>;

/// What experiments have come to. They add their results one by one, so that an interruption loses
/// none of them, and another thread may look at what there is so far.
class Results {
 public:
  /// `edit`, if any, is done to every result that is added.
  explicit Results(void (*edit)(ExperimentResult&) = nullptr) : edit_(edit) {}
  void push_back(ExperimentResult result);
  std::vector<ExperimentResult> so_far() const;
  /// The same, with what the seeds come to that are done of those at work. From here on no other
  /// one gets done, nor is a result added.
  std::vector<ExperimentResult> abandon() const;

 private:
  void (*edit_)(ExperimentResult&);
  mutable std::mutex mutex_;
  std::vector<ExperimentResult> results_;
};

/// Ends early if interrupted; throws Interrupted if there is no result then.
void reproduce(const ReproduceOptions& options, const SeedProgress& progress, Results& results);

/// Calls run(i, seed) for every seed, on the options' threads, and reports progress. Returns how
/// many of them, from the first on, were done: fewer if interrupted, in which case run may throw
/// Interrupted to be left in the middle. Throws Interrupted if that is none. `result`, if given, is
/// what the first ones so far come to, should the rest be abandoned; it may be called from another
/// thread while the rest is at work, and must leave theirs alone.
std::size_t for_each_seed(
    const ReproduceOptions& options, const std::string& what, const SeedProgress& progress,
    const std::function<void(int index, std::uint64_t seed)>& run,
    const std::function<ExperimentResult(std::size_t done)>& result = nullptr);

}  // namespace waggle::app
