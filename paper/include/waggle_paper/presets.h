#pragma once

#include <string>

#include <waggle/presets.h>

/// The learners of the paper's two problems, as starts to change single options from.
namespace waggle::presets {

/// The paper's recipe to the letter: one greedy step on the Bellman residual of n = 300 units drawn
/// from U(−0.05, 0.05) with ‖A‖₂ = 1, inputs as they come, γ = ½, 100 sampled candidates.
LearnOptions paper();

/// Acts on what it has learnt so far, in 20 rounds: for systems whose outcomes are nearly certain.
LearnOptions iterated();
/// The same for systems with much noise and a short memory.
LearnOptions iterated_noisy();

/// One of these or of the library's, by its name with dashes. Throws Error, naming the nearest, for
/// one that is none of them.
LearnOptions paper_preset(const std::string& name);

}  // namespace waggle::presets
