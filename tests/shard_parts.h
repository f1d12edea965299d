#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <waggle/bee_world.h>
#include <waggle/cart_pole.h>
#include <waggle/log.h>
#include <waggle/rollout.h>
#include <waggle/shards.h>

#include "temporary_folder.h"

/// Logs in parts, and how they are learnt from in one process.
namespace waggle {

/// A log in files.
struct Parts {
  EnvironmentSpec spec;
  LogOptions reading;
  std::vector<std::string> files;
};

inline std::string part_name(std::size_t i) { return "part" + std::to_string(i) + ".csv"; }

/// Writes rows in files, as one that was cut; `at_ends`: only where an episode ends.
inline Parts parts_of(const TemporaryFolder& folder, const EnvironmentSpec& spec,
                      const Trajectory& rows, std::size_t count, bool at_ends) {
  Parts parts{spec, LogOptions::of(spec), {}};
  write_log(folder.path("whole.csv"), parts.spec, rows);
  std::ifstream whole(folder.path("whole.csv"));
  std::string header, line;
  std::getline(whole, header);
  Eigen::Index from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Eigen::Index to =
        rows.steps() * static_cast<Eigen::Index>(i + 1) / static_cast<Eigen::Index>(count);
    while (at_ends && to < rows.steps() && rows.end(to - 1) == EpisodeEnd::none) ++to;
    parts.files.push_back(folder.path(part_name(i)));
    std::ofstream part(parts.files.back());
    part << header << '\n';
    for (; from < to && std::getline(whole, line); ++from) part << line << '\n';
  }
  return parts;
}

inline Trajectory random_rows(Environment& environment, std::uint64_t seed, Eigen::Index steps) {
  Simulation simulation(environment, seed);
  UniformPolicy random(environment.spec().actions);
  return simulation.run(random, {.steps = steps}).trajectory;
}

/// Episodes of the pole, which terminate, cut where they do.
inline Parts pole_parts(const TemporaryFolder& folder, std::size_t count,
                        Eigen::Index rows_in_all = 700) {
  CartPole pole;
  return parts_of(folder, pole.spec(), random_rows(pole, 3, rows_in_all), count, true);
}

/// One flight of the bee, cut anywhere, in a unit and zero of nectar.
inline Parts flight_parts(const TemporaryFolder& folder, std::size_t count,
                          Eigen::Index rows_in_all = 900, double unit = 1.0, double offset = 0.0) {
  BeeWorld world;
  const Trajectory flown = random_rows(world, 5, rows_in_all);
  Trajectory rows(1, 0);
  for (Eigen::Index k = 0; k < flown.steps(); ++k) {
    rows.append(unit * flown.rewards()[k] + offset, flown.actions().col(k), Eigen::VectorXd(0));
  }
  return parts_of(folder, world.spec(), rows, count, false);
}

inline ShardPlan plan_of(const Parts& parts, const FitOptions& fit, ShardCuts cuts = {},
                         bool sampled = false) {
  cuts.parts = parts.files;
  const Log log(parts.files, parts.reading);
  ShardPlan plan = begin_plan(log, parts.reading, fit, cuts);
  FirstRows first(plan);
  for (const std::string& file : parts.files) {
    ShardLog rows(plan, file);
    if (first.wants_more()) first.add(rows);
  }
  choose_for_plan(plan, fit, first);
  std::vector<ShardMeasure> measures;
  for (std::size_t i = 0; i < parts.files.size(); ++i) {
    if (sampled && i % 2 == 1) continue;
    ShardLog rows(plan, parts.files[i], i > 0 ? parts.files[i - 1] : "");
    measures.push_back(measure_part(plan, rows, rows.lead()));
  }
  finish_plan(plan, measures, sampled);
  return plan;
}

inline ShardStatistics one_part(const ShardPlan& plan, const ShardFit& fit, std::size_t i) {
  ShardLog rows(plan, plan.parts[i], i > 0 ? plan.parts[i - 1] : "");
  const auto part = static_cast<Eigen::Index>(i);
  ShardStatistics statistics(plan, fit);
  statistics.add(part, sum_part(plan, fit, part, rows, rows.lead()));
  return statistics;
}

inline ShardStatistics all_parts(const ShardPlan& plan, const ShardFit& fit) {
  ShardStatistics all(plan, fit);
  for (std::size_t i = 0; i < plan.parts.size(); ++i) all.merge(one_part(plan, fit, i));
  return all;
}

inline ShardFit learn_parts(const ShardPlan& plan) {
  ShardFit fit = start_of(plan);
  while (fit.stage != ShardFit::Stage::done) {
    ShardStatistics all = all_parts(plan, fit);
    fit = solve_round(plan, fit, all);
  }
  return fit;
}

}  // namespace waggle
