#include "core/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#ifndef __EMSCRIPTEN__
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "core/check.h"

namespace waggle {

namespace {

double measure_limit() {
  double limit = std::numeric_limits<double>::infinity();
#ifndef __EMSCRIPTEN__
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) limit = static_cast<double>(pages) * static_cast<double>(page);
  rlimit space = {};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    limit = std::min(limit, static_cast<double>(space.rlim_cur));
  }
  double container = 0.0;  // "max" if it has no limit
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> container) limit = std::min(limit, container);
#endif
  return limit;
}

std::string gigabytes(double bytes) {
  return fmt::format(fmt::runtime(bytes < 1e10 ? "{:.1f} GB" : "{:.0f} GB"), bytes / 1e9);
}

}  // namespace

double memory_limit() {
  static const double limit = measure_limit();
  return limit;
}

void require_memory(double doubles, const std::string& what) {
  const double bytes = doubles * static_cast<double>(sizeof(double));
  require(bytes <= memory_limit(), "{}: would need about {} of memory, there are {}", what,
          gigabytes(bytes), gigabytes(memory_limit()));
}

}  // namespace waggle
