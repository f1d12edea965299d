#include "export/c_plan.h"

#include <cmath>
#include <utility>

#include <waggle/fit/activation.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kMostUnits = 8192;  // the whole of A is looked at, dense

const EchoStateNetwork& network_of(const Controller& controller) {
  if (const PredictiveNetwork* predictive = as<PredictiveNetwork>(*controller.reservoir)) {
    return predictive->memory().network();
  }
  const EchoStateNetwork* network = as<EchoStateNetwork>(*controller.reservoir);
  require(network != nullptr,
          "reservoir: a system of {} units that is neither an echo state network nor a predictive "
          "network; only these can be exported",
          controller.reservoir->units());
  return *network;
}

void require_guard(const CPlan& plan) {
  if (!plan.options.guarded) return;
  require(plan.guarded_inputs() > 0,
          "guarded: the controller reads neither a reward nor an observation: there is nothing to "
          "hold");
  if (plan.fallback() == Fallback::none) return;
  require(plan.novel(),
          "fallback: the model has no baseline, so nothing says when to fall back; "
          "learn it again, with confidence");
  const std::string fault = fault_in(plan.fallback(), plan.model.environment.actions);
  require(fault.empty(), "fallback = zero: {}; say hold", fault);
}

}  // namespace

CPlan::CPlan(const Model& from, const ExportOptions& with, std::string files)
    : model(from),
      greedy(from.controller.greedy),
      limits(from.controller.limits),
      predictive(as<PredictiveNetwork>(*from.controller.reservoir)),
      network(network_of(from.controller)),
      options(with),
      file(std::move(files)),
      layout(from.controller.layout),
      discrete(from.controller.actions.is_discrete()),
      leaky(network.leak().minCoeff() < 1.0),
      exact(greedy.maximiser == Maximiser::exact && !discrete &&
            (predictive != nullptr || is_piecewise_linear(network.activation()))),
      sampled(!discrete && (!exact || layout.action_size > 1)) {
  require(network.units() <= kMostUnits, "{} units: an exported controller has at most {}",
          network.units(), kMostUnits);
  require_guard(*this);
}

VectorXd CPlan::inside(VectorXd upper) const {
  for (double& bound : upper) {
    const auto narrow = static_cast<float>(bound);
    if (options.precision == Precision::float32 && narrow > bound) {
      bound = std::nextafter(narrow, -INFINITY);
    }
  }
  return upper;
}

std::string named(const CPlan& plan, std::string text) {
  const std::string prefix = "waggle_", name = plan.options.name + "_";
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos; at += name.size()) {
    text.replace(at, prefix.size(), name);
  }
  return text;
}

}  // namespace waggle
