#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/history.h>
#include <waggle/log.h>
#include <waggle/presets.h>
#include <waggle/shards.h>
#include <waggle/version.h>

#include "config.h"
#include "core/check.h"
#include "files/atomic_file.h"
#include "log_columns_flags.h"
#include "logs/log_columns.h"
#include "model_text.h"
#include "option_flags.h"
#include "prediction/prediction_fit.h"
#include "progress.h"
#include "results.h"
#include "shard_commands.h"
#include "shards/shard_records.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// What a part's file of predictive states takes at most: of the first round, and of the one with
/// the second layers of all fits.
std::size_t predictive_bytes(const ShardPlan& plan, bool first) {
  const PredictiveOptions& options = *plan.fit.predictive;
  const InputLayout layout = InputLayout::of(plan.environment);
  ReservoirOptions reservoir = plan.fit.reservoir;
  reservoir.units += *options.extra_units;
  const HistoryMemory memory(EchoStateNetwork(reservoir, layout.size(), 1), layout, options.frames,
                             *options.seen);
  const Index features = memory.size() + (first ? 0 : options.layer);
  std::size_t numbers = 0;
  for (const Index ahead : kHorizons) {
    const auto width = static_cast<std::size_t>(features + ahead * layout.action_channels());
    numbers += 2 * width * (width + 1) / 2;
  }
  return 8 * numbers * static_cast<std::size_t>(first ? 1 : options.averaged);
}

/// What a part's file takes: the first and the others.
std::size_t part_bytes(const ShardPlan& plan, bool first) {
  if (plan.fit.predictive) return predictive_bytes(plan, first);
  const Index inputs = InputLayout::of(plan.environment).size();
  const EchoStateNetwork network(plan.fit.reservoir, inputs, plan.fit.members);
  const bool averaged = plan.fit.value.average_members;
  const Index members = averaged ? network.members() : 1;
  const Index own = averaged ? network.member_units() : network.features();
  const auto n = static_cast<std::size_t>(own + network.features() - members * own);
  const bool choose = first && plan.fit.value.solve.choose();
  const std::size_t systems = choose ? 5 : 1;
  return static_cast<std::size_t>(members) * 8 *
         (systems * n * (n + 1) + (choose ? n * (n + 1) / 2 : n));
}

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
};

/// `count` of the files, evenly spread.
std::vector<std::size_t> spread(std::size_t files, Index count) {
  const auto wanted = std::min(files, static_cast<std::size_t>(count));
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(i * files / wanted);
  return chosen;
}

void PlanCommand::run() {
  const toml::table given = merge(config.apply(), flags);
  FitOptions fit = presets::by_name(preset).fit;
  read_options(given, fit);
  fit.reservoir.seed = seed;
  fit.validate();
  require(sample >= 0, "--sample {}: must be at least 1", sample);
  require(overlap >= 0, "--overlap {}: must not be negative", overlap);
  require(overlap == 0 || continued, "--overlap {}: is for parts that go on; give --continued",
          overlap);
  const LogOptions how = columns.options(logs);
  std::vector<fs::path> inputs = expand_patterns(logs);
  ShardCuts cuts{.parts = {}, .continued = continued};
  if (overlap > 0) cuts.overlap = overlap;
  for (const fs::path& file : inputs) {
    require(file != "-", "the standard input '-' is no part: parts are read again and again");
    cuts.parts.push_back(file.string());
  }
  const bool sampled = sample > 0 && sample < std::ssize(cuts.parts);
  const std::vector<std::size_t> looked =
      spread(cuts.parts.size(), sampled ? sample : std::ssize(cuts.parts));
  inputs.push_back(config.path());
  require(!out.empty(), "--out is required: the plan to write");
  require_output(out, inputs);
  require_summable(how, fit, cuts);
  heed_interrupts();
  std::optional<LogChoice> choice;
  const ShardPlan plan = run_interruptibly([&] {
    std::vector<std::string> files;
    files.reserve(looked.size());
    for (const std::size_t i : looked) files.push_back(cuts.parts[i]);
    const Log log(files, how);
    print_notes(log);
    ShardPlan made = begin_plan(log, how, fit, cuts);
    if (made.fit.predictive) {
      FirstRows first(made);
      for (const std::string& file : cuts.parts) {
        if (!first.wants_more()) break;
        ShardLog part(made, file);
        first.add(part);
      }
      const auto progress = [](const Progress&) {
        end_if_interrupted();
        return true;
      };
      choice = choose_for_plan(made, fit, first, {.progress = progress});
    }
    std::vector<ShardMeasure> measures;
    for (const std::size_t i : looked) {
      end_if_interrupted();
      ShardLog part(made, cuts.parts[i], i > 0 ? cuts.parts[i - 1] : "");
      measures.push_back(measure_part(made, part, part.lead()));
    }
    finish_plan(made, measures, sampled);
    return made;
  });
  write_file(out,
             "# waggle stats PART --like THIS_FILE -o PART.safetensors   (waggle " WAGGLE_VERSION
             ")\n" +
                 to_toml(to_json(plan, std::set<std::string>{})));
  if (json) {
    ordered_json result = start_json("plan", repeat);
    result["plan"] = out.filename().string();
    result["fingerprint"] = plan.fingerprint();
    result["parts"] = plan.parts;
    result["rows"] = plan.measured.rows;
    result["sampled"] = sampled;
    result["overlap"] = plan.overlap;
    result["predictive"] = plan.fit.predictive.has_value();
    if (choice) {
      result["choice"] = {{"predictive_unexplained", choice->predictive_unexplained},
                          {"direct_unexplained", choice->direct_unexplained}};
    }
    result["first_part_bytes"] = part_bytes(plan, true);
    result["part_bytes"] = part_bytes(plan, false);
    print(to_text(result));
    return;
  }
  print(
      table_line("parts",
                 sampled ? fmt::format("{}, {} of them looked at", plan.parts.size(), looked.size())
                         : fmt::format("{}", plan.parts.size())) +
      table_line("rows",
                 fmt::format("{}, {} episodes", plan.measured.rows, plan.measured.episodes)) +
      (plan.overlap > 0
           ? table_line("overlap", fmt::format("{} rows of the part before", plan.overlap))
           : "") +
      table_line("value",
                 plan.fit.predictive
                     ? fmt::format("on predictive states, {} units and {} steps back more",
                                   *plan.fit.predictive->extra_units, *plan.fit.predictive->seen)
                     : std::string("on the memory itself")) +
      (choice ? table_line("unexplained of rows held out",
                           fmt::format("{:.3g} with predictive states, {:.3g} without",
                                       choice->predictive_unexplained, choice->direct_unexplained))
              : "") +
      table_line("sums of a part",
                 fmt::format("{} in the first round, {}{}", megabytes(part_bytes(plan, true)),
                             megabytes(part_bytes(plan, false)),
                             plan.fit.predictive ? " at most in others" : " in a sweep")) +
      fmt::format("next: waggle stats PART --like {} -o PART.safetensors\n", out.string()));
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
  command->add_option("-o,--out", options->out, "the plan to write, as TOML");
  const FitOptions defaults = presets::all().front().options.fit;
  options->flags.add(*command, defaults, "", "Learning (default)");
  options->flags.add(*command, defaults.value, "value", "Value (default)");
  options->flags.add(*command, defaults.reservoir, "reservoir", "Reservoir (default)");
  options->flags.add(*command, defaults.greedy, "greedy", "Action search (default)");
  options->flags.add(*command, defaults.limits, "limits", "Limits of the actuator (default)");
  finish_command(*command, options);
  options->config.add(*command, &options->flags);
}

}  // namespace waggle::app
