/// Every field of every options struct is described, and comes back from JSON and TOML as it was.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/describe.h>
#include <waggle/environments.h>
#include <waggle/sensor.h>

#include "config.h"
#include "expect_error.h"
#include "options/options_json.h"

namespace waggle {
namespace {

const std::set<std::string> kNothing;  // is left out

/// The members of an aggregate of N. It does not compile for any other N: a new member has to be
/// counted here, and is then asked for below.
template <std::size_t N, typename T>
auto members(T& o) {
  // clang-format off
  if constexpr (N == 1) { auto& [a] = o; return std::tie(a); }
  if constexpr (N == 2) { auto& [a, b] = o; return std::tie(a, b); }
  if constexpr (N == 3) { auto& [a, b, c] = o; return std::tie(a, b, c); }
  if constexpr (N == 4) { auto& [a, b, c, d] = o; return std::tie(a, b, c, d); }
  if constexpr (N == 5) { auto& [a, b, c, d, e] = o; return std::tie(a, b, c, d, e); }
  if constexpr (N == 6) { auto& [a, b, c, d, e, f] = o; return std::tie(a, b, c, d, e, f); }
  if constexpr (N == 7) { auto& [a, b, c, d, e, f, g] = o; return std::tie(a, b, c, d, e, f, g); }
  if constexpr (N == 8) {
    auto& [a, b, c, d, e, f, g, h] = o; return std::tie(a, b, c, d, e, f, g, h);
  }
  if constexpr (N == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = o; return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
  if constexpr (N == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = o; return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
  if constexpr (N == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  if constexpr (N == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  if constexpr (N == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = o; return std::tie(a, b, c, d, e, f, g, h, i);
  }
  if constexpr (N == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  if constexpr (N == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p);
  }
  if constexpr (N == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q);
  }
  if constexpr (N == 17) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r);
  }
  if constexpr (N == 19) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t);
  }
  // clang-format on
}

template <typename T>
constexpr bool is_optional = false;
template <typename T>
constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
constexpr bool is_vector = false;
template <typename T>
constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
constexpr bool is_callback = false;
template <typename T>
constexpr bool is_callback<std::function<T>> = true;
template <typename T>
constexpr bool is_struct = std::is_class_v<T> && !std::is_same_v<T, std::string> &&
                           !is_optional<T> && !is_vector<T> && !is_callback<T>;

/// Where the fields are, their names and their help.
struct Visited {
  struct Field {
    std::string name;
    std::string help;
    const void* at;
    std::size_t size;
  };
  std::vector<Field> fields;

  template <typename T>
  void operator()(const char* name, T& field, const char* help) {
    fields.push_back({name, help, &field, sizeof(T)});
  }
};

/// What every field holds, in full, by its path.
struct Texts {
  std::string path;
  std::vector<std::string> lines;

  template <typename T>
  void operator()(const char* name, T& field, const char* /*help*/) {
    add(path + name, field);
  }
  template <typename T>
  void add(const std::string& name, T& value) {
    if constexpr (is_optional<T>) {
      if (value) return add(name, *value);
      lines.push_back(name + " none");
    } else if constexpr (is_vector<T>) {
      lines.push_back(fmt::format("{} {}", name, value.size()));
      for (auto& item : value) add(name, item);
    } else if constexpr (is_struct<T>) {
      Texts inner{name + ".", {}};
      describe(inner, value);
      lines.insert(lines.end(), inner.lines.begin(), inner.lines.end());
    } else if constexpr (std::is_enum_v<T>) {
      lines.push_back(fmt::format("{} {}", name, static_cast<int>(value)));
    } else {
      lines.push_back(fmt::format("{} {}", name, value));  // shortest text that reads back the same
    }
  }
};

template <typename T>
std::vector<std::string> texts(T options) {
  Texts all;
  describe(all, options);
  return all.lines;
}

/// Makes every field something that it is not by itself; `empty` takes values away from optionals.
struct Changer {
  bool empty = false;
  int count = 1;

  template <typename T>
  void operator()(const char* /*name*/, T& field, const char* /*help*/) {
    change(field);
  }
  template <typename T>
  void change(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      value = std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(count++);
    } else if constexpr (std::is_integral_v<T>) {
      value += count++;
    } else if constexpr (std::is_floating_point_v<T>) {
      value += 0.1 * count++;
    } else if constexpr (std::is_same_v<T, std::string>) {
      value += fmt::format(" \"{}\"", count++);
    } else if constexpr (std::is_enum_v<T>) {
      const auto& all = Names<T>::all;
      value = all[0].second == value ? all[1].second : all[0].second;
    } else if constexpr (is_vector<T>) {
      for (int i = 0; i < 2; ++i) value.emplace_back();
      for (auto& item : value) change(item);
      if constexpr (std::is_same_v<typename T::value_type, double>) {
        value.push_back(-std::numeric_limits<double>::infinity());
      }
    } else if constexpr (is_optional<T>) {
      if (empty) {
        value.reset();
      } else {
        change(value ? *value : value.emplace());
      }
    } else {
      describe(*this, value);
    }
  }
};

template <typename T>
T reread_json(const T& options) {
  return from_json<T>(to_json(options, kNothing).dump(), "options", kNothing);
}
template <typename T>
T reread_toml(const T& options) {
  const toml::table table = toml::parse(app::to_toml(to_json(options, kNothing)));
  T result;
  app::TomlReader reader(table, "options", kNothing);
  describe(reader, result);
  reader.finish();
  return result;
}

template <std::size_t N, typename T>
void expect_described(const char* name) {
  SCOPED_TRACE(name);
  T options;
  Visited visited;
  describe(visited, options);
  std::set<std::string> names;
  for (const Visited::Field& field : visited.fields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " is there twice";
    EXPECT_GE(field.help.size(), 5U) << field.name;
    EXPECT_EQ(field.help.find('\n'), std::string::npos) << field.name;
    EXPECT_NE(field.help.back(), '.') << field.name;
  }
  // Every member is a field, or a struct some fields of which are.
  int index = 0;
  const auto expect_visited = [&](auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    const char* at = reinterpret_cast<const char*>(&member);
    bool found = is_callback<Member>;
    for (const Visited::Field& field : visited.fields) {
      const char* its = static_cast<const char*>(field.at);
      found = found || (its >= at && its + field.size <= at + sizeof(Member));
    }
    EXPECT_TRUE(found) << "member " << index << " is not described";
    // Given in part, it would fall back to its own defaults: they must be those of the whole.
    if constexpr (is_struct<Member> && requires(Texts & all) { describe(all, member); }) {
      EXPECT_EQ(texts(member), texts(Member())) << "member " << index;
    }
    ++index;
  };
  std::apply([&](auto&... each) { (expect_visited(each), ...); }, members<N>(options));

  for (const bool empty : {false, true}) {
    T changed;
    Changer changer{empty};
    describe(changer, changed);
    const std::vector<std::string> before = texts(T());
    const std::vector<std::string> expected = texts(changed);
    if (!empty) {
      for (const std::string& line : before) {
        EXPECT_EQ(std::count(expected.begin(), expected.end(), line), 0) << line << " is unchanged";
      }
    }
    EXPECT_EQ(texts(reread_json(changed)), expected);
    EXPECT_EQ(texts(reread_toml(changed)), expected);
  }
}

TEST(Describe, EveryFieldComesBack) {
  expect_described<5, RidgeOptions>("RidgeOptions");
  expect_described<4, ProcedureOne>("ProcedureOne");
  expect_described<15, ReservoirOptions>("ReservoirOptions");
  expect_described<6, ValueOptions>("ValueOptions");
  expect_described<6, SupervisedOptions>("SupervisedOptions");
  expect_described<6, ContractionOptions>("ContractionOptions");
  expect_described<7, MemoryCapacityOptions>("MemoryCapacityOptions");
  expect_described<4, GreedyOptions>("GreedyOptions");
  expect_described<2, ActuatorLimits>("ActuatorLimits");
  expect_described<3, Exploration>("Exploration");
  expect_described<2, OnlineExploration>("OnlineExploration");
  expect_described<2, OptimismOptions>("OptimismOptions");
  expect_described<2, ExecutionOptions>("ExecutionOptions");
  expect_described<6, PolicyIterationOptions>("PolicyIterationOptions");
  expect_described<3, StepSizes>("StepSizes");
  expect_described<7, OnlineValueOptions>("OnlineValueOptions");
  expect_described<8, OnlineOptions>("OnlineOptions");
  expect_described<2, RewardScale>("RewardScale");
  expect_described<14, FitOptions>("FitOptions");
  expect_described<17, PredictiveOptions>("PredictiveOptions");
  expect_described<9, CollectOptions>("CollectOptions");
  expect_described<2, LearnOptions>("LearnOptions");
  expect_described<4, ScoreOptions>("ScoreOptions");
  expect_described<2, WorthOptions>("WorthOptions");
  expect_described<5, EpisodeScoreOptions>("EpisodeScoreOptions");
  expect_described<3, LogEvaluationOptions>("LogEvaluationOptions");
  expect_described<4, ForecastOptions>("ForecastOptions");
  expect_described<2, RolloutOptions>("RolloutOptions");
  expect_described<19, LogOptions>("LogOptions");
  expect_described<6, ExportOptions>("ExportOptions");
  expect_described<4, TuneOptions>("TuneOptions");
  expect_described<6, ErrorWatchOptions>("ErrorWatchOptions");
  expect_described<6, GuardOptions>("GuardOptions");
  expect_described<8, AdaptationOptions>("AdaptationOptions");
  expect_described<3, BeeWorldOptions>("BeeWorldOptions");
  expect_described<7, MarketMakerOptions>("MarketMakerOptions");
  expect_described<2, SensorOptions>("SensorOptions");
  expect_described<7, CartPoleOptions>("CartPoleOptions");
  expect_described<6, PendulumOptions>("PendulumOptions");
  expect_described<4, MountainCarOptions>("MountainCarOptions");
  expect_described<3, AcrobotOptions>("AcrobotOptions");
  expect_described<5, RecallOptions>("RecallOptions");
  expect_described<5, TigerOptions>("TigerOptions");
  expect_described<13, TanksOptions>("TanksOptions");
  expect_described<11, MackeyGlassOptions>("MackeyGlassOptions");
  expect_described<3, Narma10Options>("Narma10Options");
  expect_described<8, LorenzOptions>("LorenzOptions");
  expect_described<2, reference::NoisyLinearPolicy>("NoisyLinearPolicy");
  expect_described<5, reference::OptimalFlightOptions>("OptimalFlightOptions");
  expect_described<3, reference::SwingUpOptions>("SwingUpOptions");
  expect_described<4, reference::ClimbOptions>("ClimbOptions");
  expect_described<5, reference::AcrobotPlanOptions>("AcrobotPlanOptions");
  expect_described<8, reference::EulerLagrangeOptions>("EulerLagrangeOptions");
  expect_described<2, theory::HiddenMarkovOptions>("HiddenMarkovOptions");
  expect_described<3, theory::MeanFlowOptions>("MeanFlowOptions");
}

TEST(Describe, FilesKeepTheSeedBesideTheOptions) {
  ReservoirOptions options;
  options.seed = 7;
  EXPECT_FALSE(to_json(options).contains("seed"));
  EXPECT_EQ(to_json(options, kNothing)["seed"], 7);
  expect_error([] { from_json<ReservoirOptions>(R"({"seed": 7})", "file"); }, "file.seed",
               "given by itself");
}

TEST(Describe, WhatDoesNotFitIsRefused) {
  const auto refuse = [](const char* json, const auto&... parts) {
    expect_error([&] { from_json<LearnOptions>(json, "file", kNothing); }, parts...);
  };
  refuse(R"({"value": {"discount": "0,5"}})", "file.value.discount = \"0,5\"", "must be a number");
  refuse(R"({"rounds": 3000000000})", "file.rounds = 3000000000", "too large");
  refuse(R"({"steps": 18446744073709551615})", "18446744073709551615", "whole number");
  refuse(R"({"steps": 99999999999999999999})", "whole number");
  refuse(R"({"reservoir": {"seed": -1}})", "file.reservoir.seed = -1", "not negative");
  refuse(R"({"reservoir": {"seed": 18446744073709551616}})", "below 2^64");
  refuse(R"({"sweepz": 3})", "file.sweepz: no such option", "'sweeps'");
  refuse(R"({"sweeps": [3]})", "file.sweeps = a list", "whole number");
  expect_error(
      [] {
        const toml::table table = toml::parse("seed = \"18446744073709551616\"");
        ReservoirOptions options;
        app::TomlReader reader(table, "file", kNothing);
        describe(reader, options);
      },
      "file.seed", "below 2^64");
}

}  // namespace
}  // namespace waggle
