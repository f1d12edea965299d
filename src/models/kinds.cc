#include "models/kinds.h"

#include <string>
#include <string_view>

#include <waggle/detail/json.h>
#include <waggle/neighbours.h>
#include <waggle/predictive.h>

#include "core/check.h"
#include "prediction/predictive_file.h"
#include "reservoir/network_file.h"

namespace waggle {

namespace {

using Read = std::shared_ptr<const ReservoirSystem>(const Safetensors&, const InputLayout&,
                                                    Tensors&);

std::shared_ptr<const ReservoirSystem> read_plain(const Safetensors& file,
                                                  const InputLayout& /*layout*/, Tensors& tensors) {
  return std::make_shared<const EchoStateNetwork>(read_network(file, tensors));
}

/// A line for each kind: how it is read.
struct Kind {
  std::string_view name;
  Read* read;
};
constexpr Kind kKinds[] = {
    {EchoStateNetwork::kKind, read_plain},
    {PredictiveNetwork::kKind, read_predictive},
    {NeighbourSystem::kKind, NeighbourSystem::read},
};

}  // namespace

void write_kind(const ReservoirSystem& reservoir, Safetensors& file) {
  reservoir.save(file);
  file.metadata["kind"] = reservoir.kind();
}

std::shared_ptr<const ReservoirSystem> read_kind(const Safetensors& file, const InputLayout& layout,
                                                 Tensors& tensors) {
  const auto said = file.metadata.find("kind");
  require(said != file.metadata.end(), "metadata 'kind' is missing");
  const std::string& name = said->second;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.read(file, layout, tensors);
  }
  throw Error(
      fmt::format("kind '{}': this waggle does not know it; please update it", printable(name)));
}

}  // namespace waggle
