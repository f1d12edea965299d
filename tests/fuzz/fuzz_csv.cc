#include <waggle/base/error.h>

#include "logs/csv.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const auto table = waggle::open_csv(file.path());
    while (table->next()) {
      for (std::size_t i = 0; i < table->columns().size(); ++i) table->cell(i);
    }
  } catch (const waggle::Error&) {
  }
  return 0;
}
