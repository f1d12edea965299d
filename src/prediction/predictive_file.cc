#include "prediction/predictive_file.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <waggle/detail/options_json.h>

#include "core/check.h"
#include "reservoir/network_file.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;

namespace model_file {

struct Predictive {
  Index frames = 0;
  Index seen = 0;
  Index heads = 0;
};

template <typename Visitor>
void describe(Visitor& v, Predictive& o) {
  v("frames", o.frames, "inputs before the last that are remembered exactly");
  v("seen", o.seen, "what was seen that many steps further back, too");
  v("heads", o.heads, "fits that are averaged");
}

}  // namespace model_file

namespace {

constexpr Index kMostHeads = 100;
// Who acts holds this many numbers, which the file itself need not have.
constexpr Index kMostHeldNumbers = 50'000'000;

std::string part_name(std::size_t head, const char* part) {
  return fmt::format("predictive.{}.{}", head, part);
}

void require_size(const std::vector<PredictiveHead>& heads, Index channels) {
  Index features = 0;
  for (const PredictiveHead& head : heads) features += head.value.size() + head.knots.cols();
  require(features <= kMostHeldNumbers / channels,
          "predictive: {} features of the value and {} channels of the action, their product must "
          "be at most {}",
          features, channels, kMostHeldNumbers);
}

void write_features(const RectifiedFeatures& features, const std::string& name,
                    std::map<std::string, Tensor>& tensors) {
  tensors[name + ".directions"] = matrix_tensor(features.directions);
  tensors[name + ".offsets"] = vector_tensor(features.offsets);
}

RectifiedFeatures read_features(const std::string& name, Index inputs, Tensors& tensors) {
  RectifiedFeatures features;
  features.offsets = tensors.vector(name + ".offsets");
  features.directions = tensors.matrix(name + ".directions", features.size(), inputs);
  return features;
}

void write_head(const PredictiveHead& head, std::size_t number,
                std::map<std::string, Tensor>& tensors) {
  const auto write = [&](const char* part, const MatrixXd& matrix) {
    tensors[part_name(number, part)] = matrix_tensor(matrix);
  };
  write("first", head.first);
  if (head.second.size() > 0) {
    write_features(head.layer, part_name(number, "layer"), tensors);
    write("second", head.second);
  }
  write_features(head.dynamics, part_name(number, "dynamics"), tensors);
  write("base", head.base);
  write("drift", head.drift);
  if (head.reward.size() > 0) write("reward", head.reward);
  if (head.knots.size() > 0) {
    write("knots", head.knots);
    write("bends", head.bends);
  }
  write_features(head.value, part_name(number, "value"), tensors);
  if (head.squared > 0) {
    const Eigen::VectorXd squared = Eigen::VectorXd::Constant(1, static_cast<double>(head.squared));
    tensors[part_name(number, "squared")] = vector_tensor(squared);
  }
}

/// For a memory of size n and actions of so many channels.
PredictiveHead read_head(std::size_t number, Index n, Index channels, Tensors& tensors) {
  const auto name = [number](const char* part) { return part_name(number, part); };
  const auto rows = [&](const std::string& part) {
    const Index count = tensors.extent(part, 0, 2);
    require(count >= 1, "tensor {}: it has no row", in_quotes(part));
    return count;
  };
  PredictiveHead head;
  head.first = tensors.matrix(name("first"), rows(name("first")), n);
  Index q = head.first.rows();
  if (tensors.has(name("second"))) {
    head.layer = read_features(name("layer"), q, tensors);
    q = rows(name("second"));
    head.second = tensors.matrix(name("second"), q, n + head.layer.size());
  }
  head.dynamics = read_features(name("dynamics"), q, tensors);
  const Index after = rows(name("base"));
  head.base = tensors.matrix(name("base"), after, head.dynamics.size());
  head.drift = tensors.matrix(name("drift"), after, (1 + channels) * (1 + q));
  if (tensors.has(name("reward"))) head.reward = tensors.matrix(name("reward"), channels, n);
  if (tensors.has(name("knots"))) {
    head.knots = tensors.matrix(name("knots"), channels);
    head.bends = tensors.matrix(name("bends"), channels, head.knots.cols());
  }
  head.value = read_features(name("value"), after, tensors);
  if (tensors.has(name("squared"))) {
    const double squared = tensors.vector(name("squared"), 1)[0];
    require(
        squared >= 1.0 && squared <= static_cast<double>(after) && squared == std::floor(squared),
        "tensor {}: {}, must be a whole number in [1, {}]", in_quotes(name("squared")), squared,
        after);
    head.squared = static_cast<Index>(squared);
  }
  return head;
}

}  // namespace

void PredictiveNetwork::save(Safetensors& file) const {
  memory_.network().save(file);
  require(std::ssize(heads_) <= kMostHeads, "predictive: {} fits, a file has at most {}",
          heads_.size(), kMostHeads);
  require_size(heads_, channels());
  model_file::Predictive metadata;
  metadata.frames = memory_.frames();
  metadata.seen = memory_.seen();
  metadata.heads = std::ssize(heads_);
  file.metadata[std::string(kKind)] =
      to_json(metadata).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t i = 0; i < heads_.size(); ++i) write_head(heads_[i], i, file.tensors);
}

std::shared_ptr<const ReservoirSystem> read_predictive(const Safetensors& file,
                                                       const InputLayout& layout,
                                                       Tensors& tensors) {
  const std::string kind(PredictiveNetwork::kKind);
  const auto text = file.metadata.find(kind);
  require(text != file.metadata.end(), "metadata '{}' is missing", kind);
  const auto metadata = from_json<model_file::Predictive>(text->second, kind);
  // As far as options go, so that no size overflows.
  PredictiveOptions lengths;
  lengths.frames = metadata.frames;
  lengths.seen = metadata.seen;
  try {
    lengths.validate();
  } catch (const Error& error) {
    throw Error(fmt::format("{}.{}", kind, error.what()));
  }
  require(metadata.heads >= 1 && metadata.heads <= kMostHeads,
          "predictive.heads = {}: must be in [1, {}]", metadata.heads, kMostHeads);
  HistoryMemory memory(read_network(file, tensors), layout, metadata.frames, metadata.seen);
  std::vector<PredictiveHead> heads;
  for (Index i = 0; i < metadata.heads; ++i) {
    heads.push_back(
        read_head(static_cast<std::size_t>(i), memory.size(), layout.action_channels(), tensors));
  }
  require_size(heads, layout.action_channels());
  return std::make_shared<const PredictiveNetwork>(std::move(memory), std::move(heads));
}

}  // namespace waggle
