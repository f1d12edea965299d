#pragma once

#include <string>
#include <vector>

#include "reproduce.h"

namespace waggle::app {

/// Every learner of an experiment's `compare` list, over the same seeds.
void compare(const ReproduceOptions& options, const SeedProgress& progress, Results& results);

/// Leaves the figures that show learning, and says that the result is one of several learners'.
void show_learning(ExperimentResult& result);

/// One row a learner.
std::string to_comparison(const std::vector<ExperimentResult>& results);

}  // namespace waggle::app
