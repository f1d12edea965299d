#pragma once

#include <memory>
#include <optional>
#include <string>

#include <waggle/predictive.h>

#include "models/tensors.h"

/// What a file says of a predictive network beyond its memory's echo state network, which stands
/// where every model's does: metadata `predictive` with the lengths of the memory, the number of
/// heads and how well they predict; and tensors predictive.HEAD.PART, PART as in PredictiveHead.
/// Parts that a head does not have are left out.
namespace waggle {

/// The metadata under which it stands, and by which it is known.
inline constexpr const char* kPredictive = "predictive";

/// Throws Error if it is too large to be read back.
void write_predictive(const PredictiveNetwork& network,
                      const std::optional<PredictionQuality>& predictions, Safetensors& content);

struct ReadPredictive {
  std::shared_ptr<const PredictiveNetwork> network;
  std::optional<PredictionQuality> predictions;
};
/// `text` is the metadata. Throws Error, naming the tensor or the field.
ReadPredictive read_predictive(const std::string& text, EchoStateNetwork network,
                               const InputLayout& layout, Tensors& tensors);

}  // namespace waggle
