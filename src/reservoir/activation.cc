#include <waggle/fit/activation.h>

#include "reservoir/kernels.h"

namespace waggle {

void apply_activation(Activation activation, double* values, Eigen::Index size) {
  switch (activation) {
    case Activation::relu:
      kernels::relu(values, size);
      break;
    case Activation::tanh:
      kernels::tanh(values, size);
      break;
    case Activation::identity:
      break;
  }
}

}  // namespace waggle
