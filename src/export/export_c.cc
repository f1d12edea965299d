#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include <waggle/export.h>

#include "core/check.h"
#include "export/c_constants.h"
#include "export/c_guard.h"
#include "export/c_limits.h"
#include "export/c_network.h"
#include "export/c_plan.h"
#include "export/c_predictive.h"
#include "export/export_c_limits_text.h"
#include "export/export_c_network_text.h"
#include "export/export_c_search_text.h"
#include "export/export_c_step_text.h"
#include "files/atomic_file.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kLongestName = 40;
constexpr std::int64_t kMostCalm = 4'294'967'295;  // steps, which are counted in 32 bits
constexpr Index kMostUnits = 8192;                 // the whole of A is looked at, dense

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Puts the C together, part by part, and counts what it takes.
class Exporter {
 public:
  explicit Exporter(const CPlan& plan) : plan_(plan), constants_(plan.options.precision) {}

  ExportedC run() {
    write_sizes();
    const CNetwork network(plan_, constants_);
    if (plan_.predictive != nullptr) {
      write_predictive_value(plan_, constants_);
    } else {
      write_network_value(plan_, constants_);
    }
    write_guard(plan_, constants_);
    write_memory(network);
    write_search();
    write_steps();
    ExportedC result;
    result.source = c_title(plan_, "c") + includes(network) +
                    replaced(constants_.text() + code_, "@", plan_.options.name);
    result.flash_bytes = constants_.bytes();
    result.ram_bytes = plan_.state_bytes();
    result.multiply_adds = plan_.multiply_adds(network.recurrent_products());
    result.header = c_header(plan_, result);
    return result;
  }

 private:
  void write_sizes() {
    constants_.add_text(fmt::format(
        "\nenum {{\n  UNITS = {},\n  NONLINEAR = {},\n  MEMBER = {},\n  OBSERVATIONS = {},\n"
        "  FIRST_OBSERVATION = {},\n  FIRST_ACTION = {},\n",
        plan_.network.units(), plan_.network.nonlinear_units(), plan_.network.member_units(),
        plan_.layout.observation_size, plan_.layout.size() - plan_.layout.observation_size,
        plan_.layout.action_offset()));
    constants_.add_text(plan_.discrete
                            ? fmt::format("  CHOICES = {}\n}};\n\n", plan_.layout.choices)
                            : fmt::format("  ACTIONS = {},\n  CANDIDATES = {}\n}};\n\n",
                                          plan_.layout.action_size,
                                          plan_.model.controller.candidates()));
    if (plan_.discrete) return;
    constants_.add_vector("lower", -plan_.inside(-plan_.model.controller.actions.lower));
    constants_.add_vector("upper", plan_.inside(plan_.model.controller.actions.upper));
    if (plan_.limits_change()) {
      const std::vector<double>& each = plan_.limits.max_change;
      const VectorXd change =
          each.size() == 1 ? VectorXd::Constant(plan_.layout.action_size, each[0])
                           : VectorXd(Eigen::Map<const VectorXd>(each.data(), std::ssize(each)));
      constants_.add_vector("max_change", plan_.inside(change));
    }
  }

  /// What was seen, what it makes of the memory, and what an action is worth then.
  void write_memory(const CNetwork& network) {
    using namespace export_text;
    code_ += kBasics;
    if (!plan_.options.guarded) {  // else what is not finite is not read
      code_ += kFinite;
      code_ += plan_.layout.reward ? kFiniteReward : kNoReward;
      code_ += plan_.layout.observation_size > 0 ? kFiniteObservation : kNoObservation;
      code_ += kFiniteEnd;
    }
    code_ += network.step_code();
    code_ += plan_.predictive != nullptr ? predictive_value_code(plan_) : network_value_code(plan_);
  }

  void write_search() {
    using namespace export_text;
    if (plan_.kinked) {
      const bool window = plan_.half_width > 0.0;
      code_ += kSort;
      code_ += kLine;
      code_ +=
          window ? replaced(kBendWindow, "HALF_WIDTH", constants_.number(plan_.half_width)) : kBend;
      code_ += replaced(kHighest, "JUMPS", window ? "curvature" : "slope");
    }
    if (plan_.exact) {
      code_ +=
          searched_within_limits(plan_, plan_.predictive != nullptr ? predictive_search_code(plan_)
                                                                    : network_search_code(plan_));
    }
    if (plan_.sampled) write_sampled_search();
  }

  void write_sampled_search() {
    using namespace export_text;
    code_ +=
        replaced(replaced(kRandom, "SEED_LOW", fmt::format("{}u", plan_.options.seed & 0xffffffff)),
                 "SEED_HIGH", fmt::format("{}u", plan_.options.seed >> 32));
    code_ += searched_within_limits(plan_, draw_code() + kCandidates);
    if (plan_.exact) code_ += kCoordinates;
  }

  std::string draw_code() const {
    using namespace export_text;
    if (!plan_.normal_candidates()) return kDrawUniform;
    std::string normal =
        replaced(kDrawNormal, "SPREAD", fmt::format("{}", *plan_.greedy.candidate_spread));
    if (!plan_.limits_change()) return normal;
    return replaced(normal, "@_draw(", "@_draw_first(") +
           replaced(kDrawUniform, "@_draw(", "@_draw_near(") + kDrawEither;
  }

  /// What its user calls.
  void write_steps() {
    using namespace export_text;
    code_ += kTake;
    std::string reset = plan_.discrete ? kResetDiscrete : kResetContinuous;
    if (plan_.sampled) reset += kResetStep;
    reset += limits_reset(plan_);
    code_ += guarded_reset(plan_, std::move(reset));
    code_ += "}\n";
    code_ += limits_code(plan_);
    code_ += guard_code(plan_);
    const std::string steps = plan_.discrete ? discrete_steps() : continuous_steps();
    code_ += guarded_steps(plan_, stepped_within_limits(plan_, steps));
    code_ += kValue;
    code_ += guard_answers(plan_);
  }

  /// What is to be done with an action that is taken.
  std::string taken() const { return limits_taken(plan_) + guard_taken(plan_); }

  const char* foresee() const { return plan_.predictive != nullptr ? export_text::kForesee : ""; }

  std::string discrete_steps() const {
    using namespace export_text;
    std::string before = std::string(kStepDiscrete) + foresee();
    std::string choose = kChoose;
    if (plan_.limits.any()) {
      before += kChoices;
      choose = replaced(std::move(choose), "choice = 0; choice < CHOICES",
                        "choice = first; choice < end");
      choose = replaced(std::move(choose), "choice > 0", "choice > first");
    }
    if (plan_.limits.any() || plan_.options.guarded) {
      choose = replaced(std::move(choose), "if (@_take(state, highest)) state->action = best;\n",
                        "if (!@_take(state, highest)) return state->action;\n"
                        "  state->action = best;\n" +
                            taken());
    }
    return before + choose + kAppliedDiscrete;
  }

  std::string continuous_steps() const {
    using namespace export_text;
    const std::string search = !plan_.sampled ? kDecideSearch
                               : plan_.exact  ? kDecideBoth
                                              : kDecideSample;
    const bool keeps = plan_.limits.hold > 1;
    std::string code = keeps ? replaced(kChooseOrKeep, "SEARCH", search) : "";
    code += kStepContinuous;
    code += foresee();
    if (plan_.limits.any()) code += "  @_limit(state);\n";
    code += keeps ? kDecideChoose : search;
    if (plan_.sampled) code += kCountStep;
    code += replaced(kTakeContinuous, "}\n", taken() + "}\n");
    const bool scalar = plan_.layout.action_size == 1;
    code += scalar ? kStepScalar : kStepVector;
    return code + (scalar ? kAppliedScalar : kAppliedVector);
  }

  std::string includes(const CNetwork& network) const {
    std::string text = fmt::format("#include \"{}.h\"\n", plan_.file);
    const bool unbounded = !plan_.discrete && !plan_.model.controller.actions.is_bounded();
    const bool integers = plan_.sampled || network.has_indices() || plan_.options.guarded;
    const bool computes = network.computes() || plan_.normal_candidates() || plan_.novel();
    if (integers || unbounded || computes) text += "\n";
    if (unbounded || computes) {
      text += "#include <math.h>\n";
    }
    if (integers) text += "#include <stdint.h>\n";
    return text;
  }

  const CPlan& plan_;
  CConstants constants_;
  std::string code_;
};

ExportedC export_as(const std::string& file, const Model& model, const ExportOptions& options) {
  options.validate();
  model.validate();
  const CPlan plan(model, options, file);
  require_guard(plan);
  require(plan.network.units() <= kMostUnits, "{} units: an exported controller has at most {}",
          plan.network.units(), kMostUnits);
  ExportedC exported = Exporter(plan).run();
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
  require(guarded || fallback == Fallback::none, "fallback: needs a guard, say guarded");
  if (!guarded) return;
  guard.validate();
  require(guard.hold, "hold = false: C that is guarded holds what it reads");
  const std::int64_t calm = guard.calm_steps;
  require(calm <= kMostCalm, "calm_steps = {}: must be at most {} in C", calm, kMostCalm);
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
