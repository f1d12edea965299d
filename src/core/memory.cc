#include "core/memory.h"

#include "core/check.h"

#ifndef __EMSCRIPTEN__
#include <algorithm>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>
#endif

namespace waggle {

double available_memory() {
#ifdef __EMSCRIPTEN__
  return 0.0;  // a page of the browser has what its engine gives it, which is not told
#else
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return 0.0;
  double limit = static_cast<double>(pages) * static_cast<double>(size);
  rlimit space = {};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    limit = std::min(limit, static_cast<double>(space.rlim_cur));
  }
  double container = 0.0;  // the file says "max" where there is no limit
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> container) limit = std::min(limit, container);
  return limit;
#endif
}

std::string memory_fault(double bytes, std::string_view what) {
  constexpr double gigabyte = 1e9;
  const double available = available_memory();
  if (available == 0.0 || bytes <= available) return {};
  return fmt::format("{}: needs about {:.3g} GB of memory, there are {:.3g} GB", what,
                     bytes / gigabyte, available / gigabyte);
}

void require_memory(double bytes, std::string_view what) {
  const std::string fault = memory_fault(bytes, what);
  if (!fault.empty()) throw Error(fault);
}

}  // namespace waggle
