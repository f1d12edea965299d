#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include <waggle/detail/atomic_file.h>
#include <waggle/export.h>

#include "control/action_search.h"
#include "core/check.h"
#include "export/c_plan.h"
#include "export/c_tables.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr std::size_t kLongestName = 40;
constexpr std::int64_t kMostCalm = 4'294'967'295;  // steps, which are counted in 32 bits

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Actions that are tried, and lines that are searched, in a step at most.
Index multiply_adds(const CPlan& plan, const CWork& work) {
  const Index candidates = plan.sampled ? plan.model.controller.candidates() : 0;
  const Index tries = (plan.discrete ? plan.layout.choices : candidates + (plan.exact ? 1 : 0)) +
                      (plan.novel() ? 1 : 0) + (plan.fallback() != Fallback::none ? 1 : 0);
  const Index along = plan.exact ? 1 : 0;
  const Index searches = plan.sampled ? along * kCoordinateRounds * plan.layout.action_size : along;
  return work.step + tries * work.each_try + searches * work.each_search;
}

/// Bytes of a NAME_state, as in runtime/controller.h.
Index state_bytes(const CPlan& plan, const CTables& tables) {
  constexpr Index kAlignment = 8;  // of the steps
  const Index reals = tables.room() + plan.layout.action_size + 1;
  const Index whole = 3 + (plan.options.guarded ? 5 * plan.guarded_inputs() + 4 : 0);
  const auto aligned = [](Index bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  return aligned(aligned(reals * tables.real_size()) + 8 + 4 * whole);
}

ExportedC export_as(const std::string& file, const Model& model, const ExportOptions& options) {
  options.validate();
  model.validate();
  const CPlan plan(model, options, file);
  CTables tables(options.precision);
  const bool predictive = plan.predictive != nullptr;
  CWork work = predictive ? add_predictive(plan, tables) : add_linear(plan, tables);
  work.step += add_network(plan, tables);
  add_search(plan, tables);
  add_limits(plan, tables);
  if (plan.options.guarded) add_guard(plan, tables);
  using namespace c_runtime;
  std::string code = tables_h + tables.text();
  for (const char* part : {network_c, search_c, predictive ? predictive_c : linear_c, sample_c,
                           plan.options.guarded ? guard_c : "", step_c}) {
    code += std::string("\n") + part;
  }
  ExportedC exported;
  exported.name = options.name;
  exported.flash_bytes = tables.bytes();
  exported.ram_bytes = state_bytes(plan, tables);
  exported.multiply_adds = multiply_adds(plan, work);
  exported.header = c_header(plan, exported, tables.room());
  exported.source = c_title(plan, "c") + fmt::format("#include \"{}.h\"\n\n", file) +
                    named(plan, std::move(code));
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
