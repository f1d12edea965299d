#include "export/c_network.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <waggle/activation.h>

#include "export/export_c_network_text.h"
#include "export/export_c_step_text.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

CNetwork::CNetwork(const CPlan& plan, CConstants& constants) : plan_(plan) {
  constants.add_columns("input", plan.network.input());
  constants.add_vector("bias", plan.network.bias());
  if (plan.leaky) constants.add_vector("leak", plan.network.leak());
  write_recurrent(constants);
}

/// A: by columns of the members' blocks, or sparse where that is smaller.
void CNetwork::write_recurrent(CConstants& constants) {
  const EchoStateNetwork& network = plan_.network;
  const Index n = network.nonlinear_units();
  const MatrixXd full = network.recurrent();
  std::vector<double> values;
  std::vector<Index> rows, starts{0};
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      if (full(i, j) == 0.0) continue;
      values.push_back(full(i, j));
      rows.push_back(i);
    }
    starts.push_back(static_cast<Index>(values.size()));
  }
  recurrent_products_ = static_cast<Index>(values.size());
  if (values.empty()) return;
  const Index row_bytes = n <= 65536 ? 2 : 4;
  const Index start_bytes = values.size() < 65536 ? 2 : 4;
  const Index sparse_bytes =
      recurrent_products_ * (constants.real_size() + row_bytes) + (n + 1) * start_bytes;
  dense_ = sparse_bytes >= n * network.member_units() * constants.real_size();
  if (!dense_) {
    constants.add_text(fmt::format("typedef uint{}_t @_index;\n", 8 * start_bytes));
    constants.add_vector("values", Eigen::Map<const VectorXd>(values.data(), recurrent_products_));
    constants.add_indices(row_bytes == 2 ? "uint16_t" : "uint32_t", "rows", rows, row_bytes);
    constants.add_indices("@_index", "starts", starts, start_bytes);
    return;
  }
  MatrixXd blocks(network.member_units(), n);
  for (Index j = 0; j < n; ++j) {
    const Index first = j / network.member_units() * network.member_units();
    blocks.col(j) = full.col(j).segment(first, network.member_units());
  }
  recurrent_products_ = blocks.size();
  constants.add_columns("recurrent", blocks);
}

bool CNetwork::computes() const {
  return traits_of(plan_.network.activation()).c.find('$') != std::string_view::npos;
}

std::string CNetwork::step_code() const {
  using namespace export_text;
  std::string code = kPrepare;
  code += plan_.layout.reward ? kPrepareReward : kNoReward;
  code += plan_.layout.observation_size > 0 ? kPrepareObservation : kNoObservation;
  if (recurrent_products_ > 0) code += dense_ ? kPrepareDense : kPrepareSparse;
  code += "}\n";
  code += kNext;
  const Activation activation = plan_.network.activation();
  if (!is_linear(activation)) {
    code += replaced(replaced(kNextActivation, "ACTIVATION", traits_of(activation).c), "$",
                     plan_.real_size() == 8 ? "" : "f");
  } else if (!plan_.leaky) {
    code += kNextLinear;
  }
  code += plan_.leaky ? kNextLeak : kNextNoLeak;
  return code + kNextEnd;
}

void write_network_value(const CPlan& plan, CConstants& constants) {
  const VectorXd& weights = plan.model.controller.weights;
  constants.add_vector("weights", weights);
  if (plan.leaky && plan.exact) {
    const EchoStateNetwork& network = plan.network;
    constants.add_vector("scaled",
                         network.leak().cwiseProduct(weights.head(network.nonlinear_units())));
  }
}

std::string network_value_code(const CPlan& plan) {
  using namespace export_text;
  const char* action = plan.discrete ? "int action" : "const @_real *action";
  return std::string(plan.discrete ? kAfterDiscrete : kAfterContinuous) +
         replaced(kTryNetwork, "ACTION", action);
}

std::string network_search_code(const CPlan& plan) {
  using namespace export_text;
  std::string search = kSearchNetwork;
  search += plan.layout.action_size > 1 ? kSearchVector : kSearchScalar;
  if (plan.leaky) search += kSearchLeak;
  if (plan.network.units() > plan.network.nonlinear_units()) search += kSearchLinear;
  search += plan.kinked ? kSearchKinks : kSearchIdentity;
  return plan.leaky ? search : replaced(search, "@_scaled", "@_weights");
}

}  // namespace waggle
