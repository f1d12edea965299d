#include <cmath>

#include <waggle/activation.h>

#include "reservoir/kernels.h"

namespace waggle {

void apply_activation(Activation activation, double* values, Eigen::Index size) {
  switch (activation) {
    case Activation::relu:
      kernels::relu(values, size);
      break;
    case Activation::tanh:
      for (Eigen::Index i = 0; i < size; ++i) values[i] = std::tanh(values[i]);
      break;
    case Activation::identity:
      break;
  }
}

}  // namespace waggle
