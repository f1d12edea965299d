#include <algorithm>
#include <cctype>
#include <cmath>

#include <waggle/export.h>
#include <waggle/version.h>

#include "core/check.h"
#include "export/c_constants.h"
#include "export/export_c_text.h"
#include "files/atomic_file.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kLongestName = 40;
constexpr Index kMostUnits = 8192;  // the whole of A is looked at, dense

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// A name from outside, so that it can neither end a comment nor hide what follows it.
std::string comment(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte >= 0x20 && byte < 0x7f && std::string_view("*\\?@").find(c) == std::string_view::npos;
    if (!plain) c = '_';
  }
  return text;
}

/// Puts the C together, part by part, and counts what it takes.
class Exporter {
 public:
  /// `file` is what the files are called, without an extension.
  Exporter(const Model& model, const ExportOptions& options, std::string file)
      : model_(model),
        options_(options),
        file_(std::move(file)),
        network_(*model.controller.network()),
        layout_(model.controller.layout),
        discrete_(model.controller.actions.is_discrete()),
        leaky_(network_.leak().minCoeff() < 1.0),
        exact_(model.controller.greedy.maximiser == Maximiser::exact && !discrete_ &&
               network_.activation() != Activation::tanh),
        sampled_(!discrete_ && (!exact_ || layout_.action_size > 1)),
        kinked_(exact_ && network_.activation() == Activation::relu),
        constants_(options.precision) {
    if (exact_ && layout_.action_size == 1) {
      half_width_ = 0.5 * model.controller.greedy.smoothing *
                    (model.controller.actions.upper[0] - model.controller.actions.lower[0]);
    }
  }

  ExportedC run() {
    write_constants();
    write_code();
    result_.source =
        head("c") + includes() + replaced(constants_.text() + code_, "@", options_.name);
    result_.flash_bytes = constants_.bytes();
    result_.ram_bytes = state_bytes();
    result_.multiply_adds = multiply_adds();
    result_.header = header();
    return std::move(result_);
  }

 private:
  Index real_size() const { return constants_.real_size(); }
  const char* real() const { return real_size() == 8 ? "double" : "float"; }
  bool normal_candidates() const {
    return sampled_ && model_.controller.greedy.candidate_spread.has_value();
  }
  Index kinks() const {
    if (!kinked_) return 0;
    Index most = 0;
    for (Index i = 0; i < layout_.action_size; ++i) {
      const auto column =
          network_.input().col(layout_.action_offset() + i).head(network_.nonlinear_units());
      most = std::max<Index>(most, (column.array() != 0.0).count());
    }
    return std::max<Index>(1, half_width_ > 0.0 ? 2 * most : most);
  }

  /// The bounds from above that are representable: rounding must not take an action outside.
  VectorXd inside(VectorXd upper) const {
    for (double& bound : upper) {
      const auto narrow = static_cast<float>(bound);
      if (real_size() == 4 && narrow > bound) bound = std::nextafter(narrow, -INFINITY);
    }
    return upper;
  }

  /// A: by columns of the members' blocks, or sparse where that is smaller.
  void write_recurrent() {
    const Index n = network_.nonlinear_units();
    const MatrixXd full = network_.recurrent();
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
        recurrent_products_ * (real_size() + row_bytes) + (n + 1) * start_bytes;
    dense_ = sparse_bytes >= n * network_.member_units() * real_size();
    if (!dense_) {
      constants_.add_text(fmt::format("typedef uint{}_t @_index;\n", 8 * start_bytes));
      constants_.add_vector("values",
                            Eigen::Map<const VectorXd>(values.data(), recurrent_products_));
      constants_.add_indices(row_bytes == 2 ? "uint16_t" : "uint32_t", "rows", rows, row_bytes);
      constants_.add_indices("@_index", "starts", starts, start_bytes);
      return;
    }
    MatrixXd blocks(network_.member_units(), n);
    for (Index j = 0; j < n; ++j) {
      const Index first = j / network_.member_units() * network_.member_units();
      blocks.col(j) = full.col(j).segment(first, network_.member_units());
    }
    recurrent_products_ = blocks.size();
    constants_.add_columns("recurrent", blocks);
  }

  void write_constants() {
    constants_.add_text(fmt::format(
        "\nenum {{\n  UNITS = {},\n  NONLINEAR = {},\n  MEMBER = {},\n  OBSERVATIONS = {},\n"
        "  FIRST_OBSERVATION = {},\n  FIRST_ACTION = {},\n",
        network_.units(), network_.nonlinear_units(), network_.member_units(),
        layout_.observation_size, layout_.size() - layout_.observation_size,
        layout_.action_offset()));
    constants_.add_text(discrete_ ? fmt::format("  CHOICES = {}\n}};\n\n", layout_.choices)
                                  : fmt::format("  ACTIONS = {},\n  CANDIDATES = {}\n}};\n\n",
                                                layout_.action_size,
                                                model_.controller.greedy.candidates));
    if (!discrete_) {
      constants_.add_vector("lower", -inside(-model_.controller.actions.lower));
      constants_.add_vector("upper", inside(model_.controller.actions.upper));
    }
    constants_.add_columns("input", network_.input());
    constants_.add_vector("bias", network_.bias());
    constants_.add_vector("weights", model_.controller.weights);
    if (leaky_) {
      constants_.add_vector("leak", network_.leak());
      if (exact_) {
        constants_.add_vector("scaled", network_.leak().cwiseProduct(model_.controller.weights.head(
                                            network_.nonlinear_units())));
      }
    }
    write_recurrent();
  }

  void write_code() {
    using namespace export_text;
    const bool observes = layout_.observation_size > 0;
    code_ += kBasics;
    code_ += kFinite;
    code_ += layout_.reward ? kFiniteReward : kNoReward;
    code_ += observes ? kFiniteObservation : kNoObservation;
    code_ += kFiniteEnd;
    code_ += kPrepare;
    code_ += layout_.reward ? kPrepareReward : kNoReward;
    code_ += observes ? kPrepareObservation : kNoObservation;
    if (recurrent_products_ > 0) code_ += dense_ ? kPrepareDense : kPrepareSparse;
    code_ += "}\n";
    code_ += kNext;
    if (network_.activation() == Activation::relu) code_ += kNextRelu;
    if (network_.activation() == Activation::tanh) {
      code_ += replaced(kNextTanh, "TANH", real_size() == 8 ? "tanh" : "tanhf");
    }
    if (network_.activation() == Activation::identity && !leaky_) code_ += kNextLinear;
    code_ += leaky_ ? kNextLeak : kNextNoLeak;
    code_ += kNextEnd;
    code_ += discrete_ ? kTryDiscrete : kTryContinuous;
    if (exact_) write_search();
    if (sampled_) {
      code_ +=
          replaced(replaced(kRandom, "SEED_LOW", fmt::format("{}u", options_.seed & 0xffffffff)),
                   "SEED_HIGH", fmt::format("{}u", options_.seed >> 32));
      code_ += normal_candidates()
                   ? replaced(kDrawNormal, "SPREAD",
                              fmt::format("{}", *model_.controller.greedy.candidate_spread))
                   : kDrawUniform;
      code_ += kCandidates;
      if (exact_) code_ += kCoordinates;
    }
    code_ += kKeepFinite;
    code_ += discrete_ ? kResetDiscrete : kResetContinuous;
    if (sampled_) code_ += kResetStep;
    code_ += "}\n";
    if (discrete_) {
      code_ += kStepDiscrete;
    } else {
      code_ += kStepContinuous;
      code_ += !sampled_ ? kDecideSearch : exact_ ? kDecideBoth : kDecideSample;
      if (sampled_) code_ += kCountStep;
      code_ += kTakeContinuous;
      code_ += layout_.action_size == 1 ? kStepScalar : kStepVector;
    }
    code_ += kValue;
  }

  void write_search() {
    using namespace export_text;
    std::string search = kSearch;
    if (leaky_) search += kSearchLeak;
    if (network_.units() > network_.nonlinear_units()) search += kSearchLinear;
    if (!kinked_) {
      search += kSearchIdentity;
    } else {
      code_ += kSort;
      search += half_width_ > 0.0
                    ? replaced(kSearchWindow, "HALF_WIDTH", constants_.number(half_width_))
                    : kSearchKinks;
    }
    code_ += leaky_ ? search : replaced(search, "@_scaled", "@_weights");
  }

  std::string includes() const {
    std::string text = fmt::format("#include \"{}.h\"\n", file_);
    const bool unbounded = !discrete_ && !model_.controller.actions.is_bounded();
    const bool integers = sampled_ || (recurrent_products_ > 0 && !dense_);
    if (integers || unbounded || network_.activation() == Activation::tanh) text += "\n";
    if (normal_candidates() || unbounded || network_.activation() == Activation::tanh) {
      text += "#include <math.h>\n";
    }
    if (integers) text += "#include <stdint.h>\n";
    return text;
  }

  /// sizeof NAME_state.
  Index state_bytes() const {
    Index reals = 2 * network_.units() + 2 * kinks() + 1 + (discrete_ ? 0 : layout_.action_size);
    if (exact_ && sampled_) reals += network_.units();
    Index bytes = reals * real_size() + (discrete_ ? 4 : 0);
    const Index alignment = sampled_ ? 8 : real_size();
    if (sampled_) bytes = (bytes + 7) / 8 * 8 + 8;
    return (bytes + alignment - 1) / alignment * alignment;
  }

  Index multiply_adds() const {
    const Index units = network_.units();
    const Index try_unit = 1 + (leaky_ ? 2 : 0);
    Index count = recurrent_products_ + units * (layout_.size() - layout_.action_channels());
    if (discrete_) return count + (layout_.choices + 1) * units * try_unit;
    const Index actions = layout_.action_size;
    const Index tries = 1 + (sampled_ ? model_.controller.greedy.candidates : 0);
    count += tries * units * (try_unit + actions);
    const Index searches = exact_ ? (sampled_ ? 3 * actions : 1) : 0;
    return count + searches * units * (actions - 1 + 4 + (leaky_ ? 1 : 0));
  }

  std::string head(const char* extension) const {
    return fmt::format("/* {}.{}: a controller for {}, learnt by waggle {}. Generated. */\n",
                       comment(file_), extension, comment(model_.environment.name), WAGGLE_VERSION);
  }

  std::string header() const {
    const EnvironmentSpec& spec = model_.environment;
    std::string text = head("h");
    text += fmt::format("/*\n  reward          {}{}\n", comment(spec.reward_name),
                        layout_.reward ? "" : " (not read)");
    for (std::size_t i = 0; i < spec.observation_names.size(); ++i) {
      text += fmt::format("  observation[{}]  {}\n", i, comment(spec.observation_names[i]));
    }
    for (std::size_t i = 0; i < spec.action_names.size(); ++i) {
      const auto number = static_cast<Index>(i);
      text += fmt::format("  action[{}]       {}", i, comment(spec.action_names[i]));
      text += discrete_ ? fmt::format(", a choice below {}\n", layout_.choices)
                        : fmt::format(", from {} to {}\n", model_.controller.actions.lower[number],
                                      model_.controller.actions.upper[number]);
    }
    for (std::size_t i = 0; i < spec.choice_names.size(); ++i) {
      text += fmt::format("  choice {}        {}\n", i, comment(spec.choice_names[i]));
    }
    text += fmt::format(
        "\n  flash           {} bytes of constants, code apart\n"
        "  RAM             {} bytes, one @_state; little stack, no heap\n"
        "  time            at most {} multiply-adds a step\n*/\n",
        result_.flash_bytes, result_.ram_bytes, result_.multiply_adds);
    text += "#ifndef WAGGLE_@_H\n#define WAGGLE_@_H\n\n";
    if (sampled_) text += "#include <stdint.h>\n\n";
    text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    text += fmt::format("typedef {} @_real;\n\n", real());
    if (kinked_) text += "typedef struct {\n  @_real at, change;\n} @_kink;\n\n";
    text += fmt::format(
        "typedef struct {{\n  @_real x[{}];    /* what is remembered */\n"
        "  @_real base[{}]; /* work space */\n",
        network_.units(), network_.units());
    if (kinked_) text += fmt::format("  @_kink kinks[{}];\n", kinks());
    if (exact_ && sampled_) text += fmt::format("  @_real shifted[{}];\n", network_.units());
    text += "  @_real value; /* of the last action */\n";
    text +=
        discrete_ ? "  int action;\n" : fmt::format("  @_real action[{}];\n", layout_.action_size);
    if (sampled_) text += "  uint64_t step;\n";
    text +=
        "} @_state;\n\n"
        "/* Begin an episode. Call it first. */\n"
        "void @_reset(@_state *state);\n\n"
        "/* See the reward and the observation; returns the action to take. If one of them is not\n"
        "   finite nothing is done and the last action returned again; a state that overflows is\n"
        "   forgotten. An observation of size 0 may be a null pointer. */\n";
    text += discrete_ ? "int @_step(@_state *state, @_real reward, const @_real *observation);\n"
            : layout_.action_size == 1
                ? "@_real @_step(@_state *state, @_real reward, const @_real *observation);\n"
                : "void @_step(@_state *state, @_real reward, const @_real *observation, "
                  "@_real *action);\n";
    text +=
        "\n/* The estimated value of the action last taken. */\n"
        "@_real @_value(const @_state *state);\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    return replaced(text, "@", options_.name);
  }

  const Model& model_;
  const ExportOptions& options_;
  const std::string file_;
  const EchoStateNetwork& network_;
  const InputLayout layout_;
  const bool discrete_;
  const bool leaky_;
  const bool exact_;    // solved, rather than tried on candidates, along each number of an action
  const bool sampled_;  // starts from random candidates
  const bool kinked_;
  double half_width_ = 0.0;
  bool dense_ = true;
  Index recurrent_products_ = 0;
  CConstants constants_;
  std::string code_;
  ExportedC result_;
};

ExportedC export_as(const std::string& file, const Model& model, const ExportOptions& options) {
  options.validate();
  model.validate();
  require(model.controller.network()->units() <= kMostUnits,
          "{} units: an exported controller has at most {}", model.controller.network()->units(),
          kMostUnits);
  return Exporter(model, options, file).run();
}

}  // namespace

void ExportOptions::validate() const {
  const bool valid = !name.empty() && name.size() <= kLongestName &&
                     std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
                     std::all_of(name.begin(), name.end(), is_word);
  require(valid,
          "name = '{}': must be a letter followed by letters, digits and underscores, at most {}",
          comment(name), kLongestName);
}

ExportedC export_c(const Model& model, const ExportOptions& options) {
  return export_as(options.name, model, options);
}

ExportedC export_c(const std::filesystem::path& path, const Model& model, ExportOptions options) {
  const bool source = path.extension() == ".c" || path.extension() == ".h";
  const std::string file = (source ? path.stem() : path.filename()).string();
  require(file.find_first_of("\"\\\n\r") == std::string::npos,
          "file name '{}': must have no quotes, backslashes and line breaks", comment(file));
  options.name = file;
  std::replace_if(
      options.name.begin(), options.name.end(), [](char c) { return !is_word(c); }, '_');
  ExportedC exported = export_as(file, model, options);
  const std::filesystem::path base = path.parent_path() / file;
  // Both are on the disk before either takes its place.
  AtomicFile header_file(base.string() + ".h");
  AtomicFile source_file(base.string() + ".c");
  header_file.write(exported.header);
  source_file.write(exported.source);
  header_file.commit();
  source_file.commit();
  return exported;
}

}  // namespace waggle
