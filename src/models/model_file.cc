#include <charconv>
#include <limits>
#include <utility>

#include <waggle/learner.h>
#include <waggle/model_file.h>
#include <waggle/version.h>

#include "core/check.h"
#include "files/atomic_file.h"
#include "models/predictive_tensors.h"
#include "models/safetensors.h"
#include "models/tensors.h"
#include "options/options_json.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

/// What of a model is neither tensor nor described elsewhere.
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

struct Fit {
  FitDiagnostics diagnostics;
  bool singular = false;
  double divergence_limit = 0.0;
  std::vector<std::string> warnings;
};

template <typename Visitor>
void describe(Visitor& v, Fit& o) {
  v("diagnostics", o.diagnostics, "how well determined it is");
  v("singular", o.singular, "whether LSTD's system was");
  v("divergence_limit", o.divergence_limit, "where a run has left the experience behind");
  v("warnings", o.warnings, "for a person");
}

/// But for its tensors.
struct Usual {
  double bellman_error = 0.0;
};

template <typename Visitor>
void describe(Visitor& v, Usual& o) {
  v("bellman_error", o.bellman_error, "root mean square of the greedy ones");
}

}  // namespace model_file

namespace {

constexpr const char* kFormat = "waggle model";
constexpr const char* kSupervisedFormat = "waggle readout";

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

NetworkWeights read_network(Tensors& tensors, const model_file::NetworkShape& shape) {
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

void write_network(const NetworkWeights& weights, std::map<std::string, Tensor>& tensors) {
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

void write_bounds(const char* name, const ActionSpace& space,
                  std::map<std::string, Tensor>& tensors) {
  if (space.is_discrete()) return;
  tensors[fmt::format("{}.lower", name)] = vector_tensor(space.lower);
  tensors[fmt::format("{}.upper", name)] = vector_tensor(space.upper);
}

/// The bounds, which may be infinite but not NaN (that is for ActionSpace::validate to say).
ActionSpace read_bounds(const char* name, int choices, Index size, Tensors& tensors) {
  require(choices >= 0, "environment.choices = {}: must not be negative", choices);
  if (choices > 0) {
    ActionSpace space;
    space.choices = choices;
    return space;
  }
  ActionSpace space;
  space.lower = tensors.vector(fmt::format("{}.lower", name), size, false);
  space.upper = tensors.vector(fmt::format("{}.upper", name), size, false);
  return space;
}

template <typename Options>
std::string json_text(const Options& options) {
  return to_json(options).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const std::string& find_metadata(const Safetensors& content, const std::string& key) {
  const auto found = content.metadata.find(key);
  require(found != content.metadata.end(), "metadata '{}' is missing", key);
  return found->second;
}

template <typename Number>
Number whole_number(const std::string& key, const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size() && !text.empty(),
          "metadata '{}' = {}: must be a whole number", key, in_quotes(text));
  return number;
}

/// The version.
int require_format(const Safetensors& content, const char* kind = kFormat) {
  const auto format = content.metadata.find("format");
  require(format != content.metadata.end() && format->second == kind,
          "is a safetensors file, but not a {}", kind);
  const int version = whole_number<int>("format_version", find_metadata(content, "format_version"));
  require(version >= 1, "format version {}: must be at least 1", version);
  const auto writer = content.metadata.find("waggle_version");
  require(version <= kModelFormatVersion,
          "format version {}, written by waggle {}: this is waggle {}, which reads up to version "
          "{}; please update it",
          version, writer == content.metadata.end() ? "?" : printable(writer->second),
          WAGGLE_VERSION, kModelFormatVersion);
  return version;
}

/// The options of a learner that acts are those of the fit and those of collecting, in one table.
std::string learning_text(const Model& model) {
  nlohmann::ordered_json json = to_json(model.options);
  if (model.collected) json.update(to_json(*model.collected));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Takes options out that older versions wrote and that no longer are.
void forget_options(nlohmann::json& json) {
  if (!json.is_object()) return;
  for (const auto& [table, name] : {std::pair{"reservoir", "distribution"},
                                    {"value", "trace"},
                                    {"value", "average_members"},
                                    {"value", "solver"}}) {
    const auto found = json.find(table);
    if (found != json.end() && found->is_object()) found->erase(name);
  }
  json.erase("solver");  // of supervised learning
}

void read_learning(const std::string& text, int version, Model& model) {
  nlohmann::json json = parse_json(text, "options");
  const bool collected = json.contains("rounds");
  // In version 1 the number of members stood among the options of the reservoir, and rewards were
  // never centred.
  if (const auto found = json.find("reservoir"); version == 1 && found != json.end()) {
    if (found->is_object() && found->contains("members")) {
      json["members"] = (*found)["members"];
      found->erase("members");
    }
    json["centre_rewards"] = false;
  }
  // There, whether λ was chosen stood beside a λ that was then not used.
  if (const auto found = json.find("value"); version == 1 && found != json.end()) {
    if (found->is_object() && found->contains("choose_ridge")) {
      if ((*found)["choose_ridge"] == true) (*found)["ridge"] = nullptr;
      found->erase("choose_ridge");
    }
  }
  // Older files have `held` here, which means nothing.
  if (const auto found = json.find("final_exploration"); found != json.end()) {
    if (found->is_object()) found->erase("held");
  }
  forget_options(json);
  const auto options = from_json_object<LearnOptions>(json, "options");
  model.options = options.fit;
  model.controller.greedy = options.fit.greedy;
  model.controller.limits = options.fit.limits;
  model.controller.pessimism.factor = options.fit.pessimism;
  if (collected) model.collected = options.collect;
}

/// What it controls, and the actions it may choose from.
void read_environment(const Safetensors& content, Tensors& tensors, Model& model) {
  model.environment =
      from_json<EnvironmentSpec>(find_metadata(content, "environment"), "environment");
  const int choices = model.environment.actions.choices;
  const auto size = static_cast<Index>(model.environment.action_names.size());
  model.environment.actions = read_bounds("environment", choices, size, tensors);
  model.controller.layout = InputLayout::of(model.environment);
  model.controller.actions = read_bounds("actions", choices, size, tensors);
}

/// What it remembers by.
void read_reservoir(const Safetensors& content, Tensors& tensors, Model& model) {
  const auto shape =
      from_json<model_file::NetworkShape>(find_metadata(content, "network"), "network");
  EchoStateNetwork network(read_network(tensors, shape));
  const auto predictive = content.metadata.find(kPredictive);
  if (predictive != content.metadata.end()) {
    ReadPredictive read =
        read_predictive(predictive->second, std::move(network), model.controller.layout, tensors);
    model.controller.reservoir = std::move(read.network);
    model.predictions = std::move(read.predictions);
  } else {
    model.controller.reservoir = std::make_shared<const EchoStateNetwork>(std::move(network));
    model.options.predictive.reset();  // older files do not know of it
  }
  if (tensors.has("scaling.mean")) {
    model.scaling = {tensors.vector("scaling.mean"), tensors.vector("scaling.spread")};
  }
}

/// What a state is worth, and how sure that is.
void read_readout(const Safetensors& content, Tensors& tensors, Model& model) {
  const auto fit = from_json<model_file::Fit>(find_metadata(content, "fit"), "fit");
  model.controller.weights = tensors.vector("readout.weights");
  model.diagnostics = fit.diagnostics;
  model.singular = fit.singular;
  model.state = tensors.vector("state");
  model.divergence_limit = fit.divergence_limit;
  model.warnings = fit.warnings;
  const auto improvement = content.metadata.find("improvement");
  if (improvement != content.metadata.end()) {
    model.improvement = from_json<Improvement>(improvement->second, "improvement");
  }
  if (tensors.has("readout.deviation_factor")) {
    const Index n = model.fitted_size();
    model.deviation_factor = tensors.matrix("readout.deviation_factor", n, n);
  }
  if (tensors.has("readout.held_back")) {
    const std::string name = "readout.held_back";
    model.controller.pessimism.deviations =
        tensors.matrix(name, model.controller.reservoir->features());
  }
}

void read_usual(const Safetensors& content, Tensors& tensors, Model& model) {
  const auto usual = content.metadata.find("usual");
  if (usual == content.metadata.end()) return;
  const auto read = from_json<model_file::Usual>(usual->second, "usual");
  model.usual.emplace();
  model.usual->mean = tensors.vector("usual.mean");
  model.usual->weights = tensors.vector("usual.weights");
  model.usual->bellman_error = read.bellman_error;
  model.usual->longest_runs = tensors.vector("usual.longest_runs");
  if (!tensors.has("usual.forecast")) return;  // files of before do not have it
  model.usual->forecast = tensors.matrix("usual.forecast", model.fitted_size());
  model.usual->forecast_mean = tensors.vector("usual.forecast_mean");
  model.usual->forecast_error = tensors.vector("usual.forecast_error");
}

Model from_content(const Safetensors& content) {
  const int version = require_format(content);
  Tensors tensors(content.tensors);
  Model model;
  read_environment(content, tensors, model);
  read_learning(find_metadata(content, "options"), version, model);
  model.options.reservoir.seed =
      whole_number<std::uint64_t>("seed", find_metadata(content, "seed"));
  read_reservoir(content, tensors, model);
  read_readout(content, tensors, model);
  read_usual(content, tensors, model);
  model.ranges = {tensors.vector("ranges.minimum"), tensors.vector("ranges.maximum"),
                  tensors.vector("ranges.mean"), tensors.vector("ranges.deviation")};
  model.provenance = from_json<Provenance>(find_metadata(content, "provenance"), "provenance");
  const auto interface = content.metadata.find("interface");
  if (interface != content.metadata.end()) model.interface = interface->second;
  tensors.finish();
  model.validate();
  return model;
}

model_file::NetworkShape shape_of(const NetworkWeights& weights) {
  return {static_cast<Index>(weights.recurrent.size()), weights.member_units, weights.activation,
          weights.has_constant};
}

Supervised readout_from(const Safetensors& content) {
  require_format(content, kSupervisedFormat);
  Tensors tensors(content.tensors);
  Supervised model;
  nlohmann::json options = parse_json(find_metadata(content, "options"), "options");
  forget_options(options);
  model.options = from_json_object<SupervisedOptions>(options, "options");
  model.options.reservoir.seed =
      whole_number<std::uint64_t>("seed", find_metadata(content, "seed"));
  const auto shape =
      from_json<model_file::NetworkShape>(find_metadata(content, "network"), "network");
  model.reservoir = std::make_shared<const EchoStateNetwork>(read_network(tensors, shape));
  const Index n = model.reservoir->features();
  const Index inputs = model.reservoir->inputs();
  model.weights = tensors.matrix("readout.weights", n);
  model.offset = tensors.vector("readout.offset", model.weights.cols());
  model.state = tensors.vector("state", n);
  model.lowest_input = tensors.vector("ranges.minimum", inputs);
  model.highest_input = tensors.vector("ranges.maximum", inputs);
  model.diagnostics = from_json<FitDiagnostics>(find_metadata(content, "fit"), "fit");
  tensors.finish();
  model.options.validate();
  return model;
}

}  // namespace

std::string serialise(const Supervised& model) {
  const auto* network = dynamic_cast<const EchoStateNetwork*>(model.reservoir.get());
  require(network != nullptr, "readout: its reservoir is no echo state network");
  const NetworkWeights weights = network->weights();
  Safetensors content;
  content.metadata = {{"format", kSupervisedFormat},
                      {"format_version", std::to_string(kModelFormatVersion)},
                      {"waggle_version", WAGGLE_VERSION},
                      {"options", json_text(model.options)},
                      {"seed", std::to_string(model.options.reservoir.seed)},
                      {"network", json_text(shape_of(weights))},
                      {"fit", json_text(model.diagnostics)}};
  auto& tensors = content.tensors;
  write_network(weights, tensors);
  tensors["readout.weights"] = matrix_tensor(model.weights);
  tensors["readout.offset"] = vector_tensor(model.offset);
  tensors["state"] = vector_tensor(model.state);
  tensors["ranges.minimum"] = vector_tensor(model.lowest_input);
  tensors["ranges.maximum"] = vector_tensor(model.highest_input);
  return serialise(content);
}

Supervised parse_supervised(std::string_view bytes, const std::string& name) {
  const Safetensors content = parse_safetensors(bytes, name);
  try {
    return readout_from(content);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

std::string serialise(const Model& model) {
  model.validate();
  const PredictiveNetwork* predictive = model.controller.predictive();
  const EchoStateNetwork* network =
      predictive != nullptr ? &predictive->memory().network() : model.controller.network();
  require(network != nullptr,
          "model: its reservoir is no echo state network and no predictive one, and has no file "
          "format");
  const NetworkWeights weights = network->weights();
  Safetensors content;
  content.metadata = {{"format", kFormat},
                      {"format_version", std::to_string(kModelFormatVersion)},
                      {"waggle_version", WAGGLE_VERSION},
                      {"environment", json_text(model.environment)},
                      {"options", learning_text(model)},
                      {"seed", std::to_string(model.options.reservoir.seed)},
                      {"network", json_text(shape_of(weights))},
                      {"fit", json_text(model_file::Fit{model.diagnostics, model.singular,
                                                        model.divergence_limit, model.warnings})},
                      {"provenance", json_text(model.provenance)}};
  if (model.improvement) content.metadata["improvement"] = json_text(*model.improvement);
  if (!model.interface.empty()) content.metadata["interface"] = model.interface;
  auto& tensors = content.tensors;
  write_network(weights, tensors);
  if (predictive != nullptr) write_predictive(*predictive, model.predictions, content);
  write_bounds("environment", model.environment.actions, tensors);
  write_bounds("actions", model.controller.actions, tensors);
  if (model.scaling) {
    tensors["scaling.mean"] = vector_tensor(model.scaling->mean);
    tensors["scaling.spread"] = vector_tensor(model.scaling->spread);
  }
  tensors["readout.weights"] = vector_tensor(model.controller.weights);
  if (model.has_confidence()) {
    tensors["readout.deviation_factor"] = matrix_tensor(model.deviation_factor);
  }
  if (model.controller.pessimism.any()) {
    tensors["readout.held_back"] = matrix_tensor(model.controller.pessimism.deviations);
  }
  if (model.usual) {
    content.metadata["usual"] = json_text(model_file::Usual{model.usual->bellman_error});
    tensors["usual.mean"] = vector_tensor(model.usual->mean);
    tensors["usual.weights"] = vector_tensor(model.usual->weights);
    tensors["usual.longest_runs"] = vector_tensor(model.usual->longest_runs);
    if (model.usual->forecasts()) {
      tensors["usual.forecast"] = matrix_tensor(model.usual->forecast);
      tensors["usual.forecast_mean"] = vector_tensor(model.usual->forecast_mean);
      tensors["usual.forecast_error"] = vector_tensor(model.usual->forecast_error);
    }
  }
  tensors["state"] = vector_tensor(model.state);
  tensors["ranges.minimum"] = vector_tensor(model.ranges.minimum);
  tensors["ranges.maximum"] = vector_tensor(model.ranges.maximum);
  tensors["ranges.mean"] = vector_tensor(model.ranges.mean);
  tensors["ranges.deviation"] = vector_tensor(model.ranges.deviation);
  return serialise(content);
}

Model parse_model(std::string_view bytes, const std::string& name) {
  const Safetensors content = parse_safetensors(bytes, name);
  try {
    return from_content(content);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

void save_model(const std::filesystem::path& path, const Model& model) {
  write_file(path, serialise(model));
}

Model load_model(const std::filesystem::path& path) {
  return parse_model(read_whole_file(path), in_quotes(path.string()));
}

}  // namespace waggle
