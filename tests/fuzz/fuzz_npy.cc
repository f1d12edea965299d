#include <numeric>
#include <vector>

#include <waggle/base/error.h>

#include "logs/npy.h"
#include "memory_file.h"

/// As .npy, and as .npz if it starts like an archive.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  const bool archive = size > 1 && data[0] == 'P' && data[1] == 'K';
  try {
    const auto table = archive ? waggle::open_npz(file.path()) : waggle::open_npy(file.path());
    std::vector<std::size_t> columns(table->columns().size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    table->use(columns);
    while (table->next()) {
      for (const std::size_t i : columns) table->cell(i);
    }
  } catch (const waggle::Error&) {
  }
  return 0;
}
