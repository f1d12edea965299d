#pragma once

#include <memory>

#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

#include "files/safetensors.h"
#include "files/tensors.h"

/// The kinds of reservoir systems there are files of. What a file says of one is the matter of its
/// `save` and of a function here that reads it; metadata `kind` says which.
namespace waggle {

/// All of a system, and what it is. Throws Error if there are no files of its kind.
void write_kind(const ReservoirSystem& reservoir, Safetensors& file);
/// The same back, for inputs in this layout. Throws Error, naming the tensor or the field.
std::shared_ptr<const ReservoirSystem> read_kind(const Safetensors& file, const InputLayout& layout,
                                                 Tensors& tensors);

}  // namespace waggle
