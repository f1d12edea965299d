#include "core/memory.h"

#include "core/check.h"

#ifndef __EMSCRIPTEN__
#include <unistd.h>
#endif

namespace waggle {

double physical_memory() {
#ifdef __EMSCRIPTEN__
  return 0.0;  // a page of the browser has what its engine gives it, which is not told
#else
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<double>(pages) * static_cast<double>(size) : 0.0;
#endif
}

void require_memory(double bytes, std::string_view what) {
  constexpr double gigabyte = 1e9;
  const double available = physical_memory();
  require(available == 0.0 || bytes <= available,
          "{}: needs about {:.3g} GB of memory, this machine has {:.3g} GB", what, bytes / gigabyte,
          available / gigabyte);
}

}  // namespace waggle
