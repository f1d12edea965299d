#pragma once

#include <functional>
#include <stdexcept>
#include <string_view>

namespace waggle {

struct Model;

/// How far a long piece of work is.
struct Progress {
  std::string_view what;  ///< "round 3", "sweep 2", "pass 1"
  double done = 0.0;
  double total = 0.0;            ///< 0 if not known
  const Model* model = nullptr;  ///< while learning: what was learnt so far, if anything was
};

/// Told about progress from time to time; false asks for the end, with what there is so far.
using ProgressCallback = std::function<bool(const Progress&)>;

/// Thrown where the end was asked for before there was anything to return.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped before there was a result") {}
};

}  // namespace waggle
