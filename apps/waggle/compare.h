#pragma once

#include <string>
#include <vector>

#include "reproduce.h"

namespace waggle::app {

/// Every learner of an experiment's `compare` list, over the same seeds.
std::vector<ExperimentResult> compare(const ReproduceOptions& options, const SeedProgress& progress);

/// One row a learner.
std::string to_comparison(const std::vector<ExperimentResult>& results);

}  // namespace waggle::app
