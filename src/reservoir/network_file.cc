#include "reservoir/network_file.h"

#include <limits>
#include <string>
#include <vector>

#include <waggle/detail/options_json.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace model_file {

struct NetworkShape {
  Index members = 1;
  Index member_units = 0;
  Activation activation = Activation::relu;
  bool has_constant = false;
};

template <typename Visitor>
void describe(Visitor& v, NetworkShape& o) {
  v("members", o.members, "networks side by side");
  v("member_units", o.member_units, "of each");
  v("activation", o.activation, "of the units");
  v("has_constant", o.has_constant, "whether the last unit is 1");
}

}  // namespace model_file

namespace {

constexpr const char* kNetwork = "network";

std::string block_name(Index member) { return fmt::format("network.recurrent.{}", member); }

Eigen::SparseMatrix<double> read_sparse(Tensors& tensors, const std::string& name, Index n) {
  const std::vector<int> starts =
      tensors.indices(name + ".column_starts", n + 1, std::numeric_limits<std::int32_t>::max());
  const VectorXd values = tensors.vector(name + ".values");
  const std::vector<int> rows = tensors.indices(name + ".rows", values.size(), n - 1);
  require(starts.front() == 0 && starts.back() == values.size() &&
              std::is_sorted(starts.begin(), starts.end()),
          "tensor {}: must rise from 0 to the {} values", in_quotes(name + ".column_starts"),
          values.size());
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
    for (int i = starts[j] + 1; i < starts[j + 1]; ++i) {
      require(rows[static_cast<std::size_t>(i) - 1] < rows[static_cast<std::size_t>(i)],
              "tensor {}: must rise inside column {}", in_quotes(name + ".rows"), j);
    }
  }
  return Eigen::Map<const Eigen::SparseMatrix<double>>(n, n, values.size(), starts.data(),
                                                       rows.data(), values.data());
}

NetworkWeights read_weights(Tensors& tensors, const model_file::NetworkShape& shape) {
  NetworkWeights weights;
  const Index n = shape.member_units;
  weights.member_units = n;
  weights.activation = shape.activation;
  weights.has_constant = shape.has_constant;
  weights.bias = tensors.vector("network.bias");
  weights.input = tensors.matrix("network.input", weights.bias.size());
  require(n >= 1 && shape.members >= 1 && shape.members <= weights.bias.size() / n,
          "network: {} members of {} units do not fit a bias of {}", shape.members, n,
          weights.bias.size());
  weights.leak = tensors.vector("network.leak", shape.members * n);
  for (Index member = 0; member < shape.members; ++member) {
    NetworkWeights::Block& block = weights.recurrent.emplace_back();
    const std::string name = block_name(member);
    if (tensors.has(name)) {
      block.dense = tensors.matrix(name, n, n);
    } else if (tensors.has(name + ".values")) {
      block.sparse = read_sparse(tensors, name, n);
    } else if (tensors.has(name + ".delayed")) {
      const std::string delayed = name + ".delayed";
      block.delayed = tensors.matrix(delayed, tensors.extent(delayed, 0, 2));
    }
  }
  return weights;
}

void write_weights(const NetworkWeights& weights, std::map<std::string, Tensor>& tensors) {
  tensors["network.bias"] = vector_tensor(weights.bias);
  tensors["network.input"] = matrix_tensor(weights.input);
  tensors["network.leak"] = vector_tensor(weights.leak);
  for (std::size_t member = 0; member < weights.recurrent.size(); ++member) {
    const NetworkWeights::Block& block = weights.recurrent[member];
    const std::string name = block_name(static_cast<Index>(member));
    if (block.dense.size() > 0) tensors[name] = matrix_tensor(block.dense);
    if (block.delayed) tensors[name + ".delayed"] = matrix_tensor(*block.delayed);
    if (block.sparse.size() == 0) continue;
    const Index count = block.sparse.nonZeros();
    tensors[name + ".values"] =
        vector_tensor(Eigen::Map<const VectorXd>(block.sparse.valuePtr(), count));
    tensors[name + ".rows"] = index_tensor(block.sparse.innerIndexPtr(), count);
    tensors[name + ".column_starts"] =
        index_tensor(block.sparse.outerIndexPtr(), block.sparse.outerSize() + 1);
  }
}

}  // namespace

void ReservoirSystem::save(Safetensors& /*file*/) const {
  throw Error("model: there is no file format for a reservoir of your own");
}

void EchoStateNetwork::save(Safetensors& file) const {
  const NetworkWeights saved = weights();
  const model_file::NetworkShape shape{members(), member_units_, activation_, has_constant_};
  file.metadata[kNetwork] =
      to_json(shape).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  write_weights(saved, file.tensors);
}

EchoStateNetwork read_network(const Safetensors& file, Tensors& tensors) {
  const auto text = file.metadata.find(kNetwork);
  require(text != file.metadata.end(), "metadata '{}' is missing", kNetwork);
  const auto shape = from_json<model_file::NetworkShape>(text->second, kNetwork);
  return EchoStateNetwork(read_weights(tensors, shape));
}

}  // namespace waggle
