#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <waggle/learner.h>
#include <waggle/supervised.h>

/// Settings that belong together, by name: a start to change single options from.
namespace waggle::presets {

/// What serves most problems, LearnOptions{}: predictive states and a value on them (predictive.h),
/// in rounds of acting and learning, each when a quarter more has been seen.
LearnOptions predictive();

/// A value on the memory itself: policy iteration by LSTD with λ chosen from the data, on three
/// networks with units of many time scales whose kinks lie where the data is; one round.
LearnOptions direct();

/// Forecasting a smooth series from its own past, SupervisedOptions{}.
SupervisedOptions forecasting();

/// A reservoir whose states somebody else reads: those of its units alone, which all leak alike.
ReservoirOptions plain_reservoir();

struct Preset {
  std::string name;  ///< as above, with dashes
  std::string text;  ///< what it is, in a few words
  LearnOptions options;
};
/// All presets of learners, the default one first.
const std::vector<Preset>& all();
/// Throws Error, naming the nearest, for a name that is none of them.
const LearnOptions& by_name(std::string_view name);

}  // namespace waggle::presets
