#pragma once

#include <functional>

namespace waggle {

/// Calls work(i) once for every i in [0, count), on up to `threads` threads (0: as many as the
/// machine has). Results must go to slots of their own, so the number of threads never shows.
/// The first exception stops the hand-out of further work and is rethrown here.
void parallel_for(int count, int threads, const std::function<void(int)>& work);

}  // namespace waggle
