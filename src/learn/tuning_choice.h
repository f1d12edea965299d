#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include <waggle/tuning.h>

#include "learn/half_judge.h"

/// Which of the settings that were tried are taken (tuning.h says by what rule).
namespace waggle {

/// What both halves say of settings.
struct Verdict {
  double value = 0.0;
  Eigen::VectorXd influence;
  double stretch = 1.0;
};
Verdict both(const HalfWorth& first, const HalfWorth& second);
/// How much better one is than the other, with its 90 % interval.
Estimate difference(const Verdict& one, const Verdict& other);

/// Whether a setting is not to be changed.
bool is_fixed(const TuneOptions& tune, const char* name);

/// Whether the log is enough to tell settings apart.
bool within_reach(const TuneTrial& trial);
/// The one that is surest to be better than the first; the first if none is.
std::size_t best_trial(const std::vector<TuneTrial>& trials, double margin);

/// Takes one of the result's trials, and says why.
void take_trial(const TuneOptions& tune, TuneResult& result);

}  // namespace waggle
