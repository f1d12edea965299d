#include <waggle/base/execution.h>

#include "linalg/dense.h"

namespace waggle {

void prepare_process() {
  linalg::use_vectors();
  linalg::leave_threads_to_caller();
}

}  // namespace waggle
