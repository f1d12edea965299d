#pragma once

#include <optional>
#include <string>

#include <waggle/tuning.h>

namespace waggle::app {

/// The budget of `--tune`: a time with its unit, a number of settings, or none if it is "off".
/// Throws Error for anything else.
std::optional<TuneOptions> tune_budget(const std::string& text);

/// What was tried, for a person: a line each, the one taken marked, and why.
std::string tuning_text(const TuneResult& tuned);

}  // namespace waggle::app
