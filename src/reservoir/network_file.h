#pragma once

#include <waggle/reservoir.h>

#include "files/safetensors.h"
#include "files/tensors.h"

namespace waggle {

/// The echo state network that a file has: what a model remembers by, whatever kind of value it is.
/// Throws Error, naming the tensor or the field.
EchoStateNetwork read_network(const Safetensors& file, Tensors& tensors);

}  // namespace waggle
