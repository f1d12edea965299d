#pragma once

#include <string>
#include <vector>

#include <waggle/learner.h>

namespace waggle {

/// Throws Error for options that predictive states cannot be fitted with: what counts only for a
/// value on the memory itself, and sizes that fits are not made for or memory has no room for.
/// Nothing is drawn for it, which takes its time.
void require_predictive(const InputLayout& layout, const LearnOptions& options);

/// Where a model was to say how sure its value is, and does not.
constexpr char kIllConditioned[] = "the fit is too ill-conditioned to say how sure the value is";

/// Adds to the model what there is to say of its fit and of the rounds that led to it. `stopped`:
/// the end was asked for.
void add_fit_warnings(const std::vector<LearnRound>& rounds, bool stopped, Model& model);

}  // namespace waggle
