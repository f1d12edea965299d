#include <algorithm>
#include <cctype>
#include <cmath>

#include <waggle/activation.h>
#include <waggle/export.h>

#include "core/check.h"
#include "export/c_constants.h"
#include "export/c_plan.h"
#include "export/export_c_step_text.h"
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

/// Puts the C together, part by part, and counts what it takes.
class Exporter {
 public:
  explicit Exporter(const CPlan& plan)
      : plan_(plan), network_(plan.network), constants_(plan.options.precision) {}

  ExportedC run() {
    write_constants();
    write_code();
    result_.source = c_title(plan_, "c") + includes() +
                     replaced(constants_.text() + code_, "@", plan_.options.name);
    result_.flash_bytes = constants_.bytes();
    result_.ram_bytes = plan_.state_bytes();
    result_.multiply_adds = plan_.multiply_adds(recurrent_products_);
    result_.header = c_header(plan_, result_);
    return std::move(result_);
  }

 private:
  Index real_size() const { return constants_.real_size(); }

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
        plan_.layout.observation_size, plan_.layout.size() - plan_.layout.observation_size,
        plan_.layout.action_offset()));
    constants_.add_text(plan_.discrete
                            ? fmt::format("  CHOICES = {}\n}};\n\n", plan_.layout.choices)
                            : fmt::format("  ACTIONS = {},\n  CANDIDATES = {}\n}};\n\n",
                                          plan_.layout.action_size, plan_.greedy.candidates));
    if (!plan_.discrete) {
      constants_.add_vector("lower", -inside(-plan_.model.controller.actions.lower));
      constants_.add_vector("upper", inside(plan_.model.controller.actions.upper));
    }
    constants_.add_columns("input", network_.input());
    constants_.add_vector("bias", network_.bias());
    constants_.add_vector("weights", plan_.model.controller.weights);
    if (plan_.leaky) {
      constants_.add_vector("leak", network_.leak());
      if (plan_.exact) {
        constants_.add_vector("scaled",
                              network_.leak().cwiseProduct(
                                  plan_.model.controller.weights.head(network_.nonlinear_units())));
      }
    }
    write_recurrent();
  }

  void write_code() {
    using namespace export_text;
    const bool observes = plan_.layout.observation_size > 0;
    code_ += kBasics;
    code_ += kFinite;
    code_ += plan_.layout.reward ? kFiniteReward : kNoReward;
    code_ += observes ? kFiniteObservation : kNoObservation;
    code_ += kFiniteEnd;
    code_ += kPrepare;
    code_ += plan_.layout.reward ? kPrepareReward : kNoReward;
    code_ += observes ? kPrepareObservation : kNoObservation;
    if (recurrent_products_ > 0) code_ += dense_ ? kPrepareDense : kPrepareSparse;
    code_ += "}\n";
    code_ += kNext;
    const bool linear = is_linear(network_.activation());
    if (!linear) {
      const std::string_view formula = traits_of(network_.activation()).c;
      code_ += replaced(replaced(kNextActivation, "ACTIVATION", formula), "$",
                        real_size() == 8 ? "" : "f");
    }
    if (linear && !plan_.leaky) code_ += kNextLinear;
    code_ += plan_.leaky ? kNextLeak : kNextNoLeak;
    code_ += kNextEnd;
    code_ += plan_.discrete ? kTryDiscrete : kTryContinuous;
    if (plan_.exact) write_search();
    if (plan_.sampled) {
      code_ += replaced(
          replaced(kRandom, "SEED_LOW", fmt::format("{}u", plan_.options.seed & 0xffffffff)),
          "SEED_HIGH", fmt::format("{}u", plan_.options.seed >> 32));
      code_ +=
          plan_.normal_candidates()
              ? replaced(kDrawNormal, "SPREAD", fmt::format("{}", *plan_.greedy.candidate_spread))
              : kDrawUniform;
      code_ += kCandidates;
      if (plan_.exact) code_ += kCoordinates;
    }
    code_ += kTake;
    code_ += plan_.discrete ? kResetDiscrete : kResetContinuous;
    if (plan_.sampled) code_ += kResetStep;
    code_ += "}\n";
    if (plan_.discrete) {
      code_ += kStepDiscrete;
      code_ += kAppliedDiscrete;
    } else {
      code_ += kStepContinuous;
      code_ += !plan_.sampled ? kDecideSearch : plan_.exact ? kDecideBoth : kDecideSample;
      if (plan_.sampled) code_ += kCountStep;
      code_ += kTakeContinuous;
      const bool scalar = plan_.layout.action_size == 1;
      code_ += scalar ? kStepScalar : kStepVector;
      code_ += scalar ? kAppliedScalar : kAppliedVector;
    }
    code_ += kValue;
  }

  void write_search() {
    using namespace export_text;
    std::string search = kSearch;
    if (plan_.leaky) search += kSearchLeak;
    if (network_.units() > network_.nonlinear_units()) search += kSearchLinear;
    if (!plan_.kinked) {
      search += kSearchIdentity;
    } else {
      code_ += kSort;
      search += plan_.half_width > 0.0
                    ? replaced(kSearchWindow, "HALF_WIDTH", constants_.number(plan_.half_width))
                    : kSearchKinks;
    }
    code_ += plan_.leaky ? search : replaced(search, "@_scaled", "@_weights");
  }

  std::string includes() const {
    std::string text = fmt::format("#include \"{}.h\"\n", plan_.file);
    const bool unbounded = !plan_.discrete && !plan_.model.controller.actions.is_bounded();
    const bool integers = plan_.sampled || (recurrent_products_ > 0 && !dense_);
    const bool computes = traits_of(network_.activation()).c.find('$') != std::string_view::npos ||
                          plan_.normal_candidates();
    if (integers || unbounded || computes) text += "\n";
    if (unbounded || computes) {
      text += "#include <math.h>\n";
    }
    if (integers) text += "#include <stdint.h>\n";
    return text;
  }

  const CPlan& plan_;
  const EchoStateNetwork& network_;
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
  ExportedC exported = Exporter(CPlan(model, options, file)).run();
  exported.name = options.name;
  return exported;
}

}  // namespace

void ExportOptions::validate() const {
  const bool valid = !name.empty() && name.size() <= kLongestName &&
                     std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
                     std::all_of(name.begin(), name.end(), is_word);
  require(valid,
          "name = '{}': must be a letter followed by letters, digits and underscores, at most {}",
          c_comment(name), kLongestName);
}

ExportedC export_c(const Model& model, const ExportOptions& options) {
  return export_as(options.name, model, options);
}

ExportedC export_c(const std::filesystem::path& path, const Model& model, ExportOptions options) {
  const bool source = path.extension() == ".c" || path.extension() == ".h";
  const std::string file = (source ? path.stem() : path.filename()).string();
  require(file.find_first_of("\"\\\n\r") == std::string::npos,
          "file name '{}': must have no quotes, backslashes and line breaks", c_comment(file));
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
