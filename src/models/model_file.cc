#include <charconv>
#include <limits>
#include <utility>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/learner.h>
#include <waggle/model_file.h>
#include <waggle/version.h>

#include "core/check.h"
#include "files/safetensors.h"
#include "files/tensors.h"
#include "models/kinds.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

/// What of a model is neither tensor nor described elsewhere.
namespace model_file {

/// R² that many steps ahead, of each name.
struct Horizon {
  Index steps = 1;
  std::vector<double> explained;  // may be NaN
};

template <typename Visitor>
void describe(Visitor& v, Horizon& o) {
  v("steps", o.steps, "ahead");
  v("explained", o.explained, "R² of each name; nan where nothing varies");
}

struct Predictions {
  std::vector<std::string> names;
  std::vector<Horizon> horizons;
  double reward_model = 0.0;
};

template <typename Visitor>
void describe(Visitor& v, Predictions& o) {
  v("names", o.names, "of what is predicted");
  v("horizons", o.horizons, "how well, by steps ahead");
  v("reward_model", o.reward_model, "share of the reward's variance that only it explains");
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
struct Baseline {
  double bellman_error = 0.0;
};

template <typename Visitor>
void describe(Visitor& v, Baseline& o) {
  v("bellman_error", o.bellman_error, "root mean square of the greedy ones");
}

}  // namespace model_file

namespace {

constexpr const char* kFormat = "waggle model";
constexpr const char* kSupervisedFormat = "waggle readout";

model_file::Predictions written(const PredictionQuality& quality) {
  model_file::Predictions result;
  result.names = quality.names;
  result.reward_model = quality.reward_model;
  for (std::size_t h = 0; h < quality.horizons.size(); ++h) {
    const auto row = quality.explained.row(static_cast<Index>(h));
    result.horizons.push_back({quality.horizons[h], {row.begin(), row.end()}});
  }
  return result;
}

PredictionQuality quality_of(const model_file::Predictions& read) {
  PredictionQuality quality;
  quality.names = read.names;
  quality.reward_model = read.reward_model;
  for (const model_file::Horizon& horizon : read.horizons) {
    require(horizon.explained.size() == read.names.size(),
            "predictions: {} numbers for {} names, {} steps ahead", horizon.explained.size(),
            read.names.size(), horizon.steps);
    quality.horizons.push_back(horizon.steps);
  }
  quality.explained.resize(std::ssize(read.horizons), std::ssize(read.names));
  for (std::size_t h = 0; h < read.horizons.size(); ++h) {
    for (std::size_t i = 0; i < read.names.size(); ++i) {
      quality.explained(static_cast<Index>(h), static_cast<Index>(i)) =
          read.horizons[h].explained[i];
    }
  }
  return quality;
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

/// What a model of an older format was learnt from, as far as it says.
std::string sources_of(const Safetensors& content) {
  const auto text = content.metadata.find("provenance");
  if (text == content.metadata.end()) return {};
  std::string list;
  for (const std::string& source : from_json<Provenance>(text->second, "provenance").sources) {
    list += (list.empty() ? " from " : ", ") + in_quotes(source);
  }
  return list;
}

void require_format(const Safetensors& content, const char* kind = kFormat) {
  const auto format = content.metadata.find("format");
  require(format != content.metadata.end() && format->second == kind,
          "is a safetensors file, but not a {}", kind);
  const int version = whole_number<int>("format_version", find_metadata(content, "format_version"));
  if (version == kModelFormatVersion) return;
  const auto writer = content.metadata.find("waggle_version");
  throw Error(fmt::format(
      "format version {}, written by waggle {}: this is waggle {}, which reads version {}; {}",
      version, writer == content.metadata.end() ? "?" : printable(writer->second), WAGGLE_VERSION,
      kModelFormatVersion,
      version > kModelFormatVersion ? "please update it" : "learn it again" + sources_of(content)));
}

/// The options of a learner that acts are those of the fit and those of collecting, in one table.
std::string learning_text(const Model& model) {
  nlohmann::ordered_json json = to_json(model.options);
  if (model.collected) json.update(to_json(*model.collected));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_learning(const std::string& text, Model& model) {
  const nlohmann::json json = parse_json(text, "options");
  const auto options = from_json_object<LearnOptions>(json, "options");
  model.options = options.fit;
  model.controller.greedy = options.fit.greedy;
  model.controller.limits = options.fit.limits;
  if (json.contains("rounds")) model.collected = options.collect;
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
  model.controller.reservoir = read_kind(content, model.controller.layout, tensors);
  if (model.controller.reservoir->kind() != PredictiveNetwork::kKind) {
    model.options.predictive.reset();
  }
  const auto predictions = content.metadata.find("predictions");
  if (predictions != content.metadata.end()) {
    model.predictions =
        quality_of(from_json<model_file::Predictions>(predictions->second, "predictions"));
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
}

void read_baseline(const Safetensors& content, Tensors& tensors, Model& model) {
  const auto baseline = content.metadata.find("baseline");
  if (baseline == content.metadata.end()) return;
  const auto read = from_json<model_file::Baseline>(baseline->second, "baseline");
  model.baseline.emplace();
  model.baseline->mean = tensors.vector("baseline.mean");
  model.baseline->weights = tensors.vector("baseline.weights");
  model.baseline->bellman_error = read.bellman_error;
  model.baseline->longest_runs = tensors.vector("baseline.longest_runs");
}

Model from_content(const Safetensors& content) {
  require_format(content);
  Tensors tensors(content.tensors);
  Model model;
  read_environment(content, tensors, model);
  read_learning(find_metadata(content, "options"), model);
  model.options.reservoir.seed =
      whole_number<std::uint64_t>("seed", find_metadata(content, "seed"));
  read_reservoir(content, tensors, model);
  read_readout(content, tensors, model);
  read_baseline(content, tensors, model);
  model.ranges = {tensors.vector("ranges.minimum"), tensors.vector("ranges.maximum"),
                  tensors.vector("ranges.mean"), tensors.vector("ranges.deviation")};
  model.provenance = from_json<Provenance>(find_metadata(content, "provenance"), "provenance");
  const auto interface = content.metadata.find("interface");
  if (interface != content.metadata.end()) model.interface = interface->second;
  tensors.finish();
  model.validate();
  return model;
}

Supervised readout_from(const Safetensors& content) {
  require_format(content, kSupervisedFormat);
  Tensors tensors(content.tensors);
  Supervised model;
  model.options = from_json<SupervisedOptions>(find_metadata(content, "options"), "options");
  model.options.reservoir.seed =
      whole_number<std::uint64_t>("seed", find_metadata(content, "seed"));
  model.reservoir = read_kind(content, {}, tensors);
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
  Safetensors content;
  content.metadata = {{"format", kSupervisedFormat},
                      {"format_version", std::to_string(kModelFormatVersion)},
                      {"waggle_version", WAGGLE_VERSION},
                      {"options", json_text(model.options)},
                      {"seed", std::to_string(model.options.reservoir.seed)},
                      {"fit", json_text(model.diagnostics)}};
  write_kind(*model.reservoir, content);
  auto& tensors = content.tensors;
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
  Safetensors content;
  content.metadata = {{"format", kFormat},
                      {"format_version", std::to_string(kModelFormatVersion)},
                      {"waggle_version", WAGGLE_VERSION},
                      {"environment", json_text(model.environment)},
                      {"options", learning_text(model)},
                      {"seed", std::to_string(model.options.reservoir.seed)},
                      {"fit", json_text(model_file::Fit{model.diagnostics, model.singular,
                                                        model.divergence_limit, model.warnings})},
                      {"provenance", json_text(model.provenance)}};
  if (model.improvement) content.metadata["improvement"] = json_text(*model.improvement);
  if (!model.interface.empty()) content.metadata["interface"] = model.interface;
  if (model.predictions) content.metadata["predictions"] = json_text(written(*model.predictions));
  write_kind(*model.controller.reservoir, content);
  auto& tensors = content.tensors;
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
  if (model.baseline) {
    content.metadata["baseline"] = json_text(model_file::Baseline{model.baseline->bellman_error});
    tensors["baseline.mean"] = vector_tensor(model.baseline->mean);
    tensors["baseline.weights"] = vector_tensor(model.baseline->weights);
    tensors["baseline.longest_runs"] = vector_tensor(model.baseline->longest_runs);
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
