#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/log.h>
#include <waggle/presets.h>
#include <waggle/shards.h>
#include <waggle/version.h>

#include "config.h"
#include "core/check.h"
#include "core/text.h"
#include "files/atomic_file.h"
#include "fit_flags.h"
#include "log_columns_flags.h"
#include "logs/log_columns.h"
#include "model_text.h"
#include "option_flags.h"
#include "progress.h"
#include "results.h"
#include "shard_commands.h"
#include "shards/shard_records.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

struct PlanCommand {
  ConfigFile config;
  OptionFlags flags;
  std::vector<std::string> logs;
  LogColumnsFlags columns;
  std::string preset = presets::all().front().name;
  std::uint64_t seed = 0;
  Index sample = 0;
  bool continued = false;
  Index overlap = 0;
  fs::path out;
  bool json = false;
  std::string repeat;

  void run();

 private:
  /// What was made, and of what.
  struct Made {
    ShardPlan plan;
    std::vector<std::size_t> looked;  ///< which parts were looked at
    bool sampled = false;             ///< whether these are not all
  };

  FitOptions fit_options();
  ShardCuts cuts(const std::vector<fs::path>& files) const;
  Made make(const LogOptions& how, const FitOptions& fit, const ShardCuts& cuts) const;
  std::string json_text(const Made& made) const;
  std::string table(const Made& made) const;
};

/// `count` of the files, evenly spread.
std::vector<std::size_t> spread(std::size_t files, Index count) {
  const auto wanted = std::min(files, static_cast<std::size_t>(count));
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(i * files / wanted);
  return chosen;
}

/// The preset with what was given on top of it.
FitOptions PlanCommand::fit_options() {
  const toml::table given = merge(config.apply(), flags);
  FitOptions fit = presets::by_name(preset).fit;
  read_options(given, fit);
  fit.reservoir.seed = seed;
  fit.validate();
  require(sample >= 0, "--sample {}: must be at least 1", sample);
  require(overlap >= 0, "--overlap {}: must not be negative", overlap);
  require(overlap == 0 || continued, "--overlap {}: is for parts that go on; give --continued",
          overlap);
  return fit;
}

ShardCuts PlanCommand::cuts(const std::vector<fs::path>& files) const {
  ShardCuts cuts{.parts = {}, .continued = continued};
  if (overlap > 0) cuts.overlap = overlap;
  for (const fs::path& file : files) {
    require(file != "-", "the standard input '-' is no part: parts are read again and again");
    cuts.parts.push_back(file.string());
  }
  return cuts;
}

/// Where a plan that is begun is for predictive states: what the first rows of all parts tell.
void choose(ShardPlan& plan, const FitOptions& fit) {
  if (!plan.fit.predictive) return;
  FirstRows first(plan);
  for (const std::string& file : plan.parts) {
    if (!first.wants_more()) break;
    ShardLog part(plan, file);
    first.add(part);
  }
  const auto progress = [](const Progress&) {
    end_if_interrupted();
    return true;
  };
  choose_for_plan(plan, fit, first, {.progress = progress});
}

std::vector<ShardMeasure> measure(const ShardPlan& plan, const std::vector<std::size_t>& looked) {
  std::vector<ShardMeasure> measures;
  for (const std::size_t i : looked) {
    end_if_interrupted();
    ShardLog part(plan, plan.parts[i], i > 0 ? plan.parts[i - 1] : "");
    measures.push_back(measure_part(plan, part, part.lead()));
  }
  return measures;
}

PlanCommand::Made PlanCommand::make(const LogOptions& how, const FitOptions& fit,
                                    const ShardCuts& cuts) const {
  require_summable(how, fit, cuts);
  Made made;
  made.sampled = sample > 0 && sample < std::ssize(cuts.parts);
  made.looked = spread(cuts.parts.size(), made.sampled ? sample : std::ssize(cuts.parts));
  heed_interrupts();
  run_interruptibly([&] {
    std::vector<std::string> files;
    files.reserve(made.looked.size());
    for (const std::size_t i : made.looked) files.push_back(cuts.parts[i]);
    const Log log(files, how);
    print_notes(log);
    made.plan = begin_plan(log, how, fit, cuts);
    choose(made.plan, fit);
    finish_plan(made.plan, measure(made.plan, made.looked), made.sampled);
  });
  return made;
}

std::string PlanCommand::json_text(const Made& made) const {
  const ShardPlan& plan = made.plan;
  ordered_json result = start_json("plan", repeat);
  result["plan"] = out.filename().string();
  result["fingerprint"] = plan.fingerprint();
  result["parts"] = plan.parts;
  result["rows"] = plan.measured.rows;
  result["sampled"] = made.sampled;
  result["overlap"] = plan.overlap;
  result["predictive"] = plan.fit.predictive.has_value();
  result["first_part_bytes"] = statistics_bytes(plan, true);
  result["part_bytes"] = statistics_bytes(plan, false);
  return to_text(result);
}

std::string PlanCommand::table(const Made& made) const {
  const ShardPlan& plan = made.plan;
  std::string text = table_line(
      "parts", made.sampled
                   ? fmt::format("{}, {} of them looked at", plan.parts.size(), made.looked.size())
                   : fmt::format("{}", plan.parts.size()));
  text += table_line("rows", fmt::format("{}, {}", plan.measured.rows,
                                         counted(plan.measured.episodes, "episode")));
  if (plan.overlap > 0) {
    text += table_line("overlap", fmt::format("{} rows of the part before", plan.overlap));
  }
  text += table_line(
      "value", plan.fit.predictive
                   ? fmt::format("on predictive states, {} units and {} steps back more",
                                 *plan.fit.predictive->extra_units, *plan.fit.predictive->seen)
                   : std::string("on the memory itself"));
  text += table_line("sums of a part", fmt::format("{} in the first round, {} at most in others",
                                                   megabytes(statistics_bytes(plan, true)),
                                                   megabytes(statistics_bytes(plan, false))));
  return text +
         fmt::format("next: waggle stats PART --like {} -o PART.safetensors\n", out.string());
}

void PlanCommand::run() {
  const FitOptions fit = fit_options();
  const LogOptions how = columns.options(logs);
  std::vector<fs::path> inputs = expand_patterns(logs);
  const ShardCuts parts = cuts(inputs);
  inputs.push_back(config.path());
  require(!out.empty(), "--out is required: the plan to write");
  require_output(out, inputs);
  const Made made = make(how, fit, parts);
  write_file(out,
             "# waggle stats PART --like THIS_FILE -o PART.safetensors   (waggle " WAGGLE_VERSION
             ")\n" +
                 to_toml(to_json(made.plan, std::set<std::string>{})));
  print(json ? json_text(made) : table(made));
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plan", "Fix how a log in parts is to be learnt from");
  auto options = std::make_shared<PlanCommand>();
  command
      ->add_option("logs", options->logs, "the parts in their order, files as waggle learn takes")
      ->required();
  options->columns.add(*command);
  command->add_option("--sample", options->sample,
                      "look at so many parts, evenly spread. Not given: at all");
  command->add_flag("--continued", options->continued,
                    "parts go on where the ones before ended, as files of one long record do");
  command->add_option("--overlap", options->overlap,
                      "rows of the part before that a part that goes on is driven through. Not "
                      "given: until the memory has forgotten where it started");
  command->add_option("--preset", options->preset, "what the options below start from")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "draws the reservoir")->capture_default_str();
  command->add_option("-o,--out", options->out, "the plan to write, as TOML; required");
  add_fit_flags(*command, options->flags);
  finish_command(*command, options);
  options->config.add(*command, &options->flags);
}

}  // namespace waggle::app
