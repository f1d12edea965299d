#include <cmath>
#include <cstring>
#include <utility>

#include <waggle/shards.h>
#include <waggle/version.h>

#include "core/check.h"
#include "models/safetensors.h"
#include "models/tensors.h"
#include "options/options_json.h"
#include "prediction/named_sums.h"
#include "prediction/prediction_fit.h"
#include "shards/fingerprint.h"
#include "shards/shard_records.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// What of a file of sums is no tensor.
namespace shard_file {

struct Node {
  Index first = 0;
  Index count = 1;
  double squares = 0.0;
  double lowest = 0.0, highest = 0.0;
  double discount = 0.0;
  bool gram = false;  ///< is there in full, as a half
  Index members = 0;
  std::vector<Index> samples;                       ///< of each fold
  std::vector<std::string> added, largest, listed;  ///< their names
};

template <typename Visitor>
void describe(Visitor& v, Node& o) {
  v("first", o.first, "part");
  v("count", o.count, "of parts");
  v("squares", o.squares, "of Bellman errors");
  v("lowest", o.lowest, "value");
  v("highest", o.highest, "value");
  v("discount", o.discount, "of the moments");
  v("gram", o.gram, "whether all of it is there, or its diagonal alone");
  v("members", o.members, "of the ensemble");
  v("samples", o.samples, "of each fold");
  v("added", o.added, "names of other sums");
  v("largest", o.largest, "names of what is largest");
  v("listed", o.listed, "names of rows that are kept");
}

struct Head {
  std::string plan;
  std::string round;
  Index parts = 0;
  std::vector<Node> nodes;
};

template <typename Visitor>
void describe(Visitor& v, Head& o) {
  v("plan", o.plan, "its fingerprint");
  v("round", o.round, "that of the weights");
  v("parts", o.parts, "of the plan");
  v("nodes", o.nodes, "of the tree");
}

}  // namespace shard_file

namespace {

constexpr const char* kStatistics = "waggle statistics";
constexpr const char* kRounds = "waggle rounds";
const std::set<std::string> kNothing = {};  // that is left out: seeds are part of a plan

template <typename Record>
std::string text_of(const Record& record) {
  return to_json(record, kNothing).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Tells a file whose numbers were damaged from one that was not.
std::string checksum_of(const Safetensors& content) {
  Fingerprint print;
  for (const auto& [key, text] : content.metadata) {
    if (key != "checksum") print.add(key).add(text);
  }
  for (const auto& [name, tensor] : content.tensors) print.add(name).add(tensor.bytes);
  return print.text();
}

std::string whole_file(const char* format, const std::string& head, Safetensors content) {
  content.metadata = {{"format", format}, {"waggle_version", WAGGLE_VERSION}, {"head", head}};
  content.metadata["checksum"] = checksum_of(content);
  return serialise(content);
}

void require_version(const std::string& version) {
  require(version == WAGGLE_VERSION,
          "was made by waggle {}, this is waggle {}: parts add up only if one version makes all of "
          "them",
          printable(version), WAGGLE_VERSION);
}

const std::string& open_file(const Safetensors& content, const char* format) {
  const auto find = [&](const char* key) -> const std::string& {
    const auto found = content.metadata.find(key);
    require(found != content.metadata.end(), "is a safetensors file, but not one of {}", format);
    return found->second;
  };
  require(find("format") == format, "is a file of {}, must be one of {}", printable(find("format")),
          format);
  require_version(find("waggle_version"));
  require(find("checksum") == checksum_of(content),
          "is damaged: its checksum does not fit; remove it and make it again");
  return find("head");
}

template <typename Work>
auto named(const std::string& name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

std::string head_tensor(std::size_t head, const char* part) {
  return fmt::format("heads.{}.{}", head, part);
}

/// Calls visit(name, matrix) for every matrix of a head. Some are empty before the last round.
template <typename Head, typename Visit>
void for_each_matrix(Head& head, Visit visit) {
  visit("first", head.first);
  visit("layer.directions", head.layer.directions);
  visit("layer.offsets", head.layer.offsets);
  visit("second", head.second);
  visit("dynamics.directions", head.dynamics.directions);
  visit("dynamics.offsets", head.dynamics.offsets);
  visit("base", head.base);
  visit("drift", head.drift);
  visit("reward", head.reward);
  visit("knots", head.knots);
  visit("bends", head.bends);
  visit("value.directions", head.value.directions);
  visit("value.offsets", head.value.offsets);
}

/// Products that each head has, taken out of the file's head.
std::vector<Index> take_squared(nlohmann::json& head) {
  std::vector<Index> squared;
  const auto found = head.find("squared");
  if (found == head.end()) return squared;
  require(found->is_array() && found->size() <= 1000, "head.squared: must be a list");
  for (const nlohmann::json& number : *found) {
    require(number.is_number_integer() && number >= 0 && number <= 1000,
            "head.squared: must be whole numbers");
    squared.push_back(number.get<Index>());
  }
  head.erase(found);
  return squared;
}

bool is_diagonal(const MatrixXd& matrix) {
  for (Index j = 0; j + 1 < matrix.cols(); ++j) {
    if ((matrix.col(j).tail(matrix.rows() - j - 1).array() != 0.0).any()) return false;
  }
  return true;
}

shard_file::Node write_node(Index first, const ShardStatistics::Node& node, std::size_t place,
                            std::map<std::string, Tensor>& tensors) {
  const ShardSums& sums = node.sums;
  shard_file::Node record{.first = first,
                          .count = node.count,
                          .squares = sums.squares,
                          .lowest = sums.values.lowest,
                          .highest = sums.values.highest,
                          .members = std::ssize(sums.moments),
                          .samples = {},
                          .added = {},
                          .largest = {},
                          .listed = {}};
  tensors[fmt::format("{}.state", place)] = vector_tensor(sums.state);
  const auto write = [&](const std::map<std::string, MatrixXd>& matrices, const char* kind,
                         std::vector<std::string>& names) {
    for (const auto& [name, matrix] : matrices) {
      if (matrix.size() == 0) continue;
      names.push_back(name);
      tensors[fmt::format("{}.{}.{}", place, kind, name)] = matrix_tensor(matrix);
    }
  };
  write(sums.added, "added", record.added);
  write(sums.largest, "largest", record.largest);
  write(sums.listed, "listed", record.listed);
  for (const std::vector<TdMoments>& folds : sums.moments) {
    record.gram = record.gram || !is_diagonal(folds.front().gram());
  }
  for (std::size_t m = 0; m < sums.moments.size(); ++m) {
    const std::vector<TdMoments>& folds = sums.moments[m];
    record.discount = folds.front().discount();
    const std::string member = fmt::format("{}.{}", place, m);
    const MatrixXd& gram = folds.front().gram();
    tensors[member + ".gram"] =
        vector_tensor(record.gram ? half_of(gram) : VectorXd(gram.diagonal()));
    for (std::size_t f = 0; f < folds.size(); ++f) {
      if (m == 0) record.samples.push_back(folds[f].samples());
      const std::string fold = fmt::format("{}.{}", member, f);
      tensors[fold + ".system"] = matrix_tensor(folds[f].system());
      tensors[fold + ".target"] = vector_tensor(folds[f].target());
    }
  }
  return record;
}

ShardStatistics::Node read_node(const shard_file::Node& record, std::size_t place,
                                Tensors& tensors) {
  ShardStatistics::Node node;
  node.count = record.count;
  node.sums.squares = record.squares;
  node.sums.values = {record.lowest, record.highest};
  require(record.squares >= 0.0 && std::isfinite(record.squares),
          "nodes: squares = {}, must be finite and not negative", record.squares);
  require(record.members >= 0 && record.members <= 1'000'000 && record.samples.size() <= 1000 &&
              (record.members == 0 || !record.samples.empty()),
          "nodes: {} members of {} folds", record.members, record.samples.size());
  node.sums.state = tensors.vector(fmt::format("{}.state", place));
  const auto read = [&](const std::vector<std::string>& names, const char* kind,
                        std::map<std::string, MatrixXd>& matrices) {
    for (const std::string& name : names) {
      const std::string tensor = fmt::format("{}.{}.{}", place, kind, name);
      matrices[name] = tensors.matrix(tensor, tensors.extent(tensor, 0, 2));
    }
  };
  read(record.added, "added", node.sums.added);
  read(record.largest, "largest", node.sums.largest);
  read(record.listed, "listed", node.sums.listed);
  for (Index m = 0; m < record.members; ++m) {
    const std::string member = fmt::format("{}.{}", place, m);
    std::vector<TdMoments>& folds = node.sums.moments.emplace_back();
    const Index n = tensors.extent(member + ".0.target", 0, 1);
    const VectorXd kept = tensors.vector(member + ".gram", record.gram ? n * (n + 1) / 2 : n);
    const MatrixXd gram = record.gram ? from_half(kept, n) : MatrixXd(kept.asDiagonal());
    for (std::size_t f = 0; f < record.samples.size(); ++f) {
      const std::string fold = fmt::format("{}.{}", member, f);
      folds.push_back(
          TdMoments::of(record.discount, record.samples[f], tensors.matrix(fold + ".system", n, n),
                        tensors.vector(fold + ".target", n), f == 0 ? gram : MatrixXd::Zero(n, n)));
    }
  }
  return node;
}

}  // namespace

std::string ShardStatistics::serialise() const {
  Safetensors content;
  shard_file::Head head{plan_, round_, parts_, {}};
  for (const auto& [first, node] : nodes_) {
    head.nodes.push_back(write_node(first, node, head.nodes.size(), content.tensors));
  }
  return whole_file(kStatistics, text_of(head), std::move(content));
}

ShardStatistics ShardStatistics::parse(std::string_view bytes, const std::string& name) {
  const Safetensors content = parse_safetensors(bytes, name);
  return named(name, [&] {
    const auto head = from_json<shard_file::Head>(open_file(content, kStatistics), "head");
    Tensors tensors(content.tensors);
    ShardStatistics statistics;
    statistics.plan_ = head.plan;
    statistics.round_ = head.round;
    statistics.parts_ = head.parts;
    require(head.parts >= 1, "head.parts = {}: must be at least 1", head.parts);
    for (std::size_t i = 0; i < head.nodes.size(); ++i) {
      const shard_file::Node& node = head.nodes[i];
      const bool power = node.count >= 1 && (node.count & (node.count - 1)) == 0;
      const bool all = node.first == 0 && node.count == head.parts;
      require(all || (power && node.first >= 0 && node.first % node.count == 0 &&
                      node.count <= head.parts && node.first <= head.parts - node.count),
              "nodes: {} parts from {} on are no node of {} parts", node.count, node.first,
              head.parts);
      statistics.insert(node.first, read_node(node, i, tensors));
    }
    statistics.settle();
    tensors.finish();
    return statistics;
  });
}

std::string to_json_text(const ShardPlan& plan) { return text_of(plan); }

ShardPlan parse_plan(std::string_view json, const std::string& name, bool finished) {
  return named(name, [&] {
    auto plan = from_json<ShardPlan>(json, "plan", kNothing);
    ActionSpace& actions = plan.environment.actions;
    if (actions.choices == 0) {
      const auto bounds = [](const std::vector<double>& numbers) -> VectorXd {
        return Eigen::Map<const VectorXd>(numbers.data(), std::ssize(numbers));
      };
      actions = finished ? ActionSpace::box(bounds(plan.lower), bounds(plan.upper))
                         : ActionSpace::unbounded(std::ssize(plan.environment.action_names));
    }
    if (finished) plan.validate();
    require_version(plan.waggle_version);
    return plan;
  });
}

std::string to_json_text(const ShardMeasure& measure) { return text_of(measure); }

ShardMeasure parse_measure(std::string_view json, const std::string& name) {
  return named(name, [&] {
    auto measure = from_json<ShardMeasure>(json, "measure", kNothing);
    measure.validate();
    return measure;
  });
}

std::string serialise(const ShardPlan& plan, const ShardFit& fit) {
  Safetensors content;
  content.tensors["weights"] = matrix_tensor(fit.weights);
  content.tensors["state"] = vector_tensor(fit.state);
  if (fit.deviation_factor.size() > 0) {
    content.tensors["deviation_factor"] = matrix_tensor(fit.deviation_factor);
  }
  if (fit.predictions.explained.size() > 0) {
    content.tensors["explained"] = vector_tensor(fit.predictions.explained.reshaped());
  }
  for (std::size_t i = 0; i < fit.heads.size(); ++i) {
    for_each_matrix(fit.heads[i], [&](const char* name, const auto& matrix) {
      if (matrix.size() > 0) content.tensors[head_tensor(i, name)] = matrix_tensor(matrix);
    });
    if (i < fit.reward_weights.size() && fit.reward_weights[i].size() > 0) {
      content.tensors[head_tensor(i, "told")] = vector_tensor(fit.reward_weights[i]);
    }
  }
  if (fit.baseline) {
    content.tensors["usual.mean"] = vector_tensor(fit.baseline->mean);
    content.tensors["usual.weights"] = vector_tensor(fit.baseline->weights);
    content.tensors["usual.runs"] = vector_tensor(fit.baseline->longest_runs);
    content.tensors["usual.error"] =
        vector_tensor(VectorXd::Constant(1, fit.baseline->bellman_error));
  }
  nlohmann::ordered_json head = to_json(fit);
  std::vector<Index> squared;
  for (const PredictiveHead& each : fit.heads) squared.push_back(each.squared);
  head["squared"] = squared;
  head["plan"] = plan.fingerprint();
  return whole_file(kRounds, head.dump(), std::move(content));
}

ShardFit parse_fit(std::string_view bytes, const ShardPlan& plan, const std::string& name) {
  const Safetensors content = parse_safetensors(bytes, name);
  return named(name, [&] {
    nlohmann::json head = parse_json(open_file(content, kRounds), "head");
    const auto of = head.find("plan");
    require(of != head.end() && *of == plan.fingerprint(), "is of another plan than {}",
            plan.fingerprint());
    head.erase(of);
    const std::vector<Index> squared = take_squared(head);
    auto fit = from_json_object<ShardFit>(head, "head");
    Tensors tensors(content.tensors);
    fit.state = tensors.vector("state");
    fit.weights = tensors.matrix("weights", tensors.extent("weights", 0, 2));
    if (tensors.has("deviation_factor")) {
      const Index n = tensors.extent("deviation_factor", 0, 2);
      fit.deviation_factor = tensors.matrix("deviation_factor", n, n);
    }
    if (tensors.has("explained")) {
      // Where nothing varies it is no number.
      const Index size = tensors.extent("explained", 0, 1);
      const VectorXd all = tensors.vector("explained", size, false);
      require(size % kHorizonCount == 0, "explained: {} numbers are not of {} horizons", size,
              kHorizonCount);
      fit.predictions.explained = all.reshaped(kHorizonCount, size / kHorizonCount);
    }
    for (std::size_t i = 0; i < squared.size(); ++i) {
      PredictiveHead& fitted = fit.heads.emplace_back();
      for_each_matrix(fitted, [&](const char* part, auto& matrix) {
        const std::string tensor = head_tensor(i, part);
        if (!tensors.has(tensor)) return;
        const Index rows = tensors.extent(tensor, 0, 2);
        constexpr bool is_vector = std::decay_t<decltype(matrix)>::IsVectorAtCompileTime;
        matrix = is_vector ? tensors.matrix(tensor, rows, 1) : tensors.matrix(tensor, rows);
      });
      fitted.squared = squared[i];
      const std::string told = head_tensor(i, "told");
      if (!fit.reward_mean.empty()) {
        fit.reward_weights.push_back(tensors.has(told) ? tensors.vector(told) : VectorXd());
      }
    }
    if (tensors.has("usual.mean")) {
      Baseline& baseline = fit.baseline.emplace();
      baseline.mean = tensors.vector("usual.mean");
      baseline.weights = tensors.vector("usual.weights", baseline.mean.size());
      baseline.longest_runs = tensors.vector("usual.runs");
      baseline.bellman_error = tensors.vector("usual.error", 1)[0];
    }
    tensors.finish();
    return fit;
  });
}

}  // namespace waggle
