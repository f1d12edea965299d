#include <waggle/base/execution.h>

#include "core/check.h"

namespace waggle {

void ExecutionOptions::validate() const {
  require(threads >= 0, "threads = {}: must not be negative", threads);
  require(kept_memory >= 0.0 && kept_memory <= 1.0, "kept_memory = {}: must be in [0, 1]",
          kept_memory);
}

}  // namespace waggle
