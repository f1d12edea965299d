#pragma once

#include <memory>

#include <waggle/predictive.h>
#include <waggle/trajectory.h>

#include "files/safetensors.h"
#include "files/tensors.h"

namespace waggle {

/// Predictive states: the lengths of the memory and the number of heads in metadata, and tensors
/// predictive.HEAD.PART, PART as in PredictiveHead. Parts that a head does not have are left out.
/// Throws Error, naming the tensor or the field.
std::shared_ptr<const ReservoirSystem> read_predictive(const Safetensors& file,
                                                       const InputLayout& layout, Tensors& tensors);

}  // namespace waggle
