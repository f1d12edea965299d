#include "shard_commands.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/shards.h>

#include "config.h"
#include "core/check.h"
#include "core/text.h"
#include "figures.h"
#include "files/atomic_file.h"
#include "logs/log_columns.h"
#include "model_text.h"
#include "models/safetensors.h"
#include "option_flags.h"
#include "progress.h"
#include "shards/shard_records.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// A plan in TOML, or, as programs write it, in JSON.
ShardPlan load_plan(const fs::path& path) {
  const std::string name = in_quotes(path.string());
  const std::string text = read_whole_file(path);
  if (path.extension() == ".json") return parse_plan(text, name);
  ShardPlan plan;
  try {
    const toml::table table = toml::parse(text);
    TomlReader reader(table, "", {});
    describe(reader, plan);
    reader.finish();
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("{}: line {}: {}", name, error.source().begin.line,
                            std::string(error.description())));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
  return parse_plan(to_json_text(plan), name);
}

/// Where the rounds are; at the first, if there is no file.
ShardFit load_fit(const fs::path& path, const ShardPlan& plan) {
  if (path.empty()) return start_of(plan);
  return parse_fit(read_whole_file(path), plan, in_quotes(path.string()));
}

ShardStatistics load_statistics(const fs::path& path) {
  return ShardStatistics::parse(read_whole_file(path), in_quotes(path.string()));
}

struct StatsCommand {
  std::vector<std::string> logs;
  fs::path plan, after, out;
  bool again = false;
  bool json = false;
  std::string repeat;

  void run() const;
  std::string kept(const ShardPlan& like, const ShardFit& fit,
                   const std::vector<Index>& parts) const;
};

/// Why the file that is there cannot stay; nothing if it can.
std::string StatsCommand::kept(const ShardPlan& like, const ShardFit& fit,
                               const std::vector<Index>& parts) const {
  try {
    const ShardStatistics there = load_statistics(out);
    const ShardStatistics empty(like, fit);
    if (there.plan() != empty.plan()) return "is of another plan";
    if (there.round() != empty.round()) return "is of another round";
    Index covered = 0;
    for (const auto& entry : there.nodes()) {
      const Index first = entry.first, end = first + entry.second.count;
      covered += std::count_if(parts.begin(), parts.end(),
                               [=](Index part) { return part >= first && part < end; });
    }
    if (there.present() != std::ssize(parts) || covered != std::ssize(parts)) {
      return "is of other parts";
    }
    for (const std::string& log : logs) {
      if (fs::last_write_time(log) > fs::last_write_time(out)) return "is older than " + shown(log);
    }
    return "";
  } catch (const Error& error) {
    return fmt::format("cannot stay ({})", error.what());
  }
}

void StatsCommand::run() const {
  const ShardPlan like = load_plan(plan);
  const ShardFit fit = load_fit(after, like);
  require(fit.stage != ShardFit::Stage::done,
          "{}: all rounds are solved: there is nothing left to add up", in_quotes(after.string()));
  std::vector<fs::path> inputs = expand_patterns(logs);
  std::vector<Index> parts;
  parts.reserve(inputs.size());
  for (const fs::path& file : inputs) parts.push_back(like.index_of(file.string()));
  const std::vector<fs::path> files = inputs;
  inputs.push_back(plan);
  inputs.push_back(after);
  require_output(out, inputs);
  bool keep = false;
  if (!again && fs::exists(out)) {
    const std::string fault = kept(like, fit, parts);
    keep = fault.empty();
    if (!keep)
      fmt::print(stderr, "waggle: {} {}: it is made again\n", in_quotes(out.string()), fault);
  }
  std::size_t bytes = 0;
  if (keep) {
    bytes = fs::file_size(out);
  } else {
    heed_interrupts();
    bytes = run_interruptibly([&] {
      ShardStatistics statistics(like, fit);
      for (std::size_t i = 0; i < files.size(); ++i) {
        end_if_interrupted();
        const Index part = parts[i];
        // The one before lies where the plan says, or beside this one.
        std::string before;
        if (like.overlap > 0 && part > 0) {
          before = like.parts[static_cast<std::size_t>(part) - 1];
          if (!fs::exists(before)) {
            before = (files[i].parent_path() / fs::path(before).filename()).string();
          }
        }
        ShardLog rows(like, files[i].string(), before);
        statistics.add(part, sum_part(like, fit, part, rows, rows.lead()));
      }
      end_if_interrupted();
      const std::string text = statistics.serialise();
      write_file(out, text);
      return text.size();
    });
  }
  if (json) {
    ordered_json result = start_json("stats", repeat);
    result["file"] = out.filename().string();
    result["kept"] = keep;
    result["parts"] = parts;
    result["stage"] = name_of(fit.stage);
    result["bytes"] = bytes;
    print(to_text(result));
    return;
  }
  print(fmt::format("{}: {} of {} parts, {}{}\n", out.string(), parts.size(), like.parts.size(),
                    megabytes(bytes), keep ? ", was there already" : ""));
}

struct MergeCommand {
  std::vector<std::string> parts;
  fs::path out;
  bool json = false;
  std::string repeat;

  void run() const;
};

/// The sums of all files.
ShardStatistics merged(const std::vector<fs::path>& files) {
  // Looked at first, so that they can be added from left to right, which needs the least memory.
  std::vector<std::pair<Index, fs::path>> order;
  for (const fs::path& file : files) {
    end_if_interrupted();
    const ShardStatistics statistics = load_statistics(file);
    require(!statistics.nodes().empty(), "{}: has no sums", in_quotes(file.string()));
    order.emplace_back(statistics.nodes().begin()->first, file);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::optional<ShardStatistics> all;
  for (const auto& [first, file] : order) {
    end_if_interrupted();
    ShardStatistics statistics = load_statistics(file);
    try {
      if (all) {
        all->merge(std::move(statistics));
      } else {
        all = std::move(statistics);
      }
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", in_quotes(file.string()), error.what()));
    }
  }
  return *std::move(all);
}

void MergeCommand::run() const {
  const std::vector<fs::path> files = expand_patterns(parts);
  require_output(out, files);
  heed_interrupts();
  std::size_t size = 0;  // of what is written
  const ShardStatistics all = run_interruptibly([&] {
    ShardStatistics sums = merged(files);
    end_if_interrupted();
    const std::string bytes = sums.serialise();
    write_file(out, bytes);
    size = bytes.size();
    return sums;
  });
  const Index missing = all.missing();
  if (json) {
    ordered_json result = start_json("merge", repeat);
    result["file"] = out.filename().string();
    result["parts"] = all.parts();
    result["present"] = all.present();
    result["complete"] = missing < 0;
    if (missing >= 0) result["missing"] = missing;
    result["bytes"] = size;
    print(to_text(result));
    return;
  }
  print(fmt::format(
      "{}: {} of {} parts, {}{}\n", out.string(), all.present(), all.parts(), megabytes(size),
      missing < 0 ? "" : fmt::format("; the first that is missing is number {}", missing)));
}

struct SolveCommand {
  fs::path statistics, plan, after, rounds, out;
  bool json = false;
  std::string repeat;

  void run() const;
};

void SolveCommand::run() const {
  const ShardPlan like = load_plan(plan);
  const ShardFit before = load_fit(after, like);
  const std::vector<fs::path> inputs = {statistics, plan, after};
  require_output(out, inputs);
  if (!rounds.empty()) require_output(rounds, inputs);
  ShardStatistics sums = load_statistics(statistics);
  heed_interrupts();
  const ShardFit fit = run_interruptibly([&] {
    try {
      return solve_round(like, before, sums);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", in_quotes(statistics.string()), error.what()));
    }
  });
  // Predictive states have no value to act on before their last solve.
  std::optional<Model> model;
  if (fit.weights.cols() > 0) model = model_of(like, fit);
  require(model || !rounds.empty(),
          "there is no model before the last round: give --rounds, to go on from");
  if (model) save_model(out, *model);
  if (!rounds.empty()) write_file(rounds, serialise(like, fit));
  const bool done = fit.stage == ShardFit::Stage::done;
  if (json) {
    ordered_json result = start_json("solve", repeat);
    if (model) result["model"] = out.filename().string();
    result["done"] = done;
    result["next"] = name_of(fit.stage);
    result["sweeps"] = fit.sweeps.size();
    if (!fit.sweeps.empty()) result["weight_change"] = fit.sweeps.back().weight_change;
    if (model) result.update(model_json(*model));
    print(to_text(result));
    return;
  }
  std::string round(name_of(before.stage));
  if (!like.fit.predictive) {
    round += fmt::format(", {} sweep{} made", fit.sweeps.size(), fit.sweeps.size() == 1 ? "" : "s");
  }
  if (!fit.sweeps.empty()) {
    round += fmt::format("; the weights changed by {:.2g}", fit.sweeps.back().weight_change);
  }
  print((model ? learnt_table(*model) : "") + table_line("round", round) +
        (done ? fmt::format("done: waggle evaluate {} ANOTHER_LOG.csv, waggle inspect {}\n",
                            out.string(), out.string())
              : fmt::format("next: waggle stats PART --like {} --after {} -o PART.safetensors\n",
                            plan.string(),
                            rounds.empty() ? "ROUNDS (give --rounds)" : rounds.string())));
}

/// The flags that stats and solve share.
template <typename Command>
void add_plan_flags(CLI::App& command, Command& options) {
  command.add_option("--like", options.plan, "the plan, as waggle plan writes it")->required();
  command.add_option("--after", options.after,
                     "where the rounds are, as waggle solve --rounds writes it. Not given: at the "
                     "first");
}

}  // namespace

void add_stats(CLI::App& app) {
  CLI::App* command = app.add_subcommand("stats", "Add up what a fit needs of some parts of a log");
  auto options = std::make_shared<StatsCommand>();
  command->add_option("logs", options->logs, "parts of the plan")->required();
  add_plan_flags(*command, *options);
  command->add_option("-o,--out", options->out, "the sums to write, as safetensors")->required();
  command->add_flag("--again", options->again, "even if they are there already");
  finish_command(*command, options);
}

void add_merge(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("merge", "Add up the sums of parts, in any order to the same bits");
  auto options = std::make_shared<MergeCommand>();
  command->add_option("parts", options->parts, "files of waggle stats, or of waggle merge")
      ->required();
  command->add_option("-o,--out", options->out, "the sums to write, as safetensors")->required();
  finish_command(*command, options);
}

void add_solve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("solve", "Make a model of the sums of all parts");
  auto options = std::make_shared<SolveCommand>();
  command->add_option("sums", options->statistics, "the file of waggle merge")->required();
  add_plan_flags(*command, *options);
  command->add_option("--rounds", options->rounds, "where to write where the rounds are now");
  command
      ->add_option("-o,--out", options->out,
                   "the model to write, as safetensors, once there is one")
      ->required();
  finish_command(*command, options);
}

}  // namespace waggle::app
