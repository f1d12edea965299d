/// Every field of every options struct is described, and comes back from JSON and TOML as it was.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <waggle_paper/waggle_paper.h>

#include <waggle/base/describe.h>
#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/detail/options_reader.h>
#include <waggle/env/sensor.h>
#include <waggle/environments.h>
#include <waggle/presets.h>

#include "config.h"
#include "expect_error.h"

namespace waggle {
namespace {

const std::set<std::string> kNothing;  // is left out

/// The members of an aggregate of at most 20: as many as it takes initialisers.
template <typename T>
auto members(T& o) {
  // clang-format off
  if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t, u] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t, u);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = o; return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i, j] = o; return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h, i] = o; return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g, h] = o; return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f, g] = o; return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e, f] = o; return std::tie(a, b, c, d, e, f);
  } else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) {
    auto& [a, b, c, d, e] = o; return std::tie(a, b, c, d, e);
  } else if constexpr (requires { T{{}, {}, {}, {}}; }) {
    auto& [a, b, c, d] = o; return std::tie(a, b, c, d);
  } else if constexpr (requires { T{{}, {}, {}}; }) {
    auto& [a, b, c] = o; return std::tie(a, b, c);
  } else if constexpr (requires { T{{}, {}}; }) {
    auto& [a, b] = o; return std::tie(a, b);
  } else if constexpr (requires { T{{}}; }) {
    auto& [a] = o; return std::tie(a);
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
      value = (std::isfinite(value) ? value : 0.0) + 0.1 * count++;
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

/// A struct that may be left out but is there by default begins with its own defaults where it is
/// given in part: they must be those of the whole.
template <typename Member>
void expect_own_defaults(Member& member, int index) {
  if constexpr (is_optional<Member>) {
    if constexpr (is_struct<typename Member::value_type>) {
      if (member) EXPECT_EQ(texts(*member), texts(typename Member::value_type())) << index;
    }
  }
}

/// Whether files may say it: a struct without describe() is for programs alone.
template <typename Member>
constexpr bool is_for_files = !is_callback<Member>;
template <typename Member>
requires is_struct<Member> &&(!requires(Texts & all, Member& member) {
  describe(all, member);
}) constexpr bool is_for_files<Member> = false;

template <typename T>
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
    bool found = !is_for_files<Member>;
    for (const Visited::Field& field : visited.fields) {
      const char* its = static_cast<const char*>(field.at);
      found = found || (its >= at && its + field.size <= at + sizeof(Member));
    }
    EXPECT_TRUE(found) << "member " << index << " is not described";
    expect_own_defaults(member, index);
    ++index;
  };
  std::apply([&](auto&... each) { (expect_visited(each), ...); }, members(options));

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
  expect_described<RidgeOptions>("RidgeOptions");
  expect_described<ProcedureOne>("ProcedureOne");
  expect_described<ReservoirOptions>("ReservoirOptions");
  expect_described<ValueOptions>("ValueOptions");
  expect_described<SupervisedOptions>("SupervisedOptions");
  expect_described<GreedyOptions>("GreedyOptions");
  expect_described<ActuatorLimits>("ActuatorLimits");
  expect_described<Exploration>("Exploration");
  expect_described<CollectExploration>("CollectExploration");
  expect_described<FinalExploration>("FinalExploration");
  expect_described<FitOptions>("FitOptions");
  expect_described<PredictiveOptions>("PredictiveOptions");
  expect_described<CollectOptions>("CollectOptions");
  expect_described<LearnOptions>("LearnOptions");
  expect_described<LogOptions>("LogOptions");
  expect_described<ExportOptions>("ExportOptions");
  expect_described<TuneOptions>("TuneOptions");
  expect_described<GuardOptions>("GuardOptions");
  expect_described<AdaptationOptions>("AdaptationOptions");
  expect_described<SensorOptions>("SensorOptions");
  for_each_environment([](const auto& entry) {
    expect_described<typename std::decay_t<decltype(entry)>::Options>(entry.name);
  });
  expect_described<reference::NoisyLinearPolicy>("NoisyLinearPolicy");
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The list above is by hand: whoever adds options is told what is missing in it. An environment's
/// are there if it is in the table.
TEST(Describe, NoOptionsAreForgotten) {
  const std::string source = WAGGLE_SOURCE_DIR;
  const std::string listed = text_of(__FILE__);
  const std::string table = text_of(source + "/include/waggle/environments.h");
  static const std::regex declared(R"(describe\(Visitor& v, (\w*(Options|Exploration))& o\))");
  std::size_t structs = 0;
  std::vector<std::filesystem::path> headers;
  for (const char* include : {"/include/waggle", "/paper/include/waggle_paper"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source + include)) {
      if (entry.path().extension() == ".h") headers.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& header : headers) {
    const std::string text = text_of(header);
    for (std::sregex_iterator found(text.begin(), text.end(), declared), end; found != end;
         ++found) {
      const std::string name = (*found)[1];
      EXPECT_TRUE(listed.find("\"" + name + "\");") != std::string::npos ||
                  table.find("BuiltInEnvironment<" + name + ">") != std::string::npos)
          << name << " of " << header << " is not in the list of this test";
      ++structs;
    }
  }
  EXPECT_GT(structs, 25U);
}

TEST(Describe, ForecastsBeginWithWhatTheCommandBeginsWith) {
  EXPECT_EQ(texts(ForecastOptions().model), texts(presets::forecasting()));
}

TEST(Describe, FilesKeepTheSeedBesideTheOptions) {
  ReservoirOptions options;
  options.seed = 7;
  EXPECT_FALSE(to_json(options).contains("seed"));
  EXPECT_EQ(to_json(options, kNothing)["seed"], 7);
  expect_error([] { from_json<ReservoirOptions>(R"({"seed": 7})", "file"); }, "file.seed",
               "given by itself");
}

/// Whether each of the two was taken back of what is given.
template <typename Source>
std::pair<bool, bool> taken_back(typename Source::Table given) {
  settle<Source>(given);
  const auto is_none = [&](const char* name) {
    const typename Source::Node* node = Source::find(given, name);
    return node != nullptr && Source::is_none(*node);
  };
  return {is_none("operator_norm"), is_none("spectral_radius")};
}

TEST(Settle, OfTwoWaysToRescaleTheOneNotAskedForIsTakenBack) {
  const auto expect = [](const char* json, const char* text, bool norm, bool radius) {
    const std::pair<bool, bool> expected{norm, radius};
    EXPECT_EQ(taken_back<JsonSource>(nlohmann::json::parse(json)), expected) << json;
    EXPECT_EQ(taken_back<app::TomlSource>(toml::parse(text)), expected) << text;
  };
  expect("{}", "", false, false);
  expect(R"({"operator_norm": 0.5})", "operator_norm = 0.5", false, true);
  expect(R"({"spectral_radius": 0.5})", "spectral_radius = 0.5", true, false);
  // Who only takes one back leaves the other.
  expect(R"({"operator_norm": null})", "operator_norm = 'none'", true, false);
  expect(R"({"spectral_radius": null})", "spectral_radius = 'none'", false, true);
  // Both are left for whoever validates.
  expect(R"({"operator_norm": 0.5, "spectral_radius": 0.5})",
         "operator_norm = 0.5\nspectral_radius = 0.5", false, false);
}

TEST(Settle, LooksIntoTables) {
  nlohmann::json json = nlohmann::json::parse(R"({"fit": {"reservoir": {"spectral_radius": 1}}})");
  settle<JsonSource>(json);
  EXPECT_TRUE(json["fit"]["reservoir"].at("operator_norm").is_null());
  toml::table table = toml::parse("fit.reservoir.spectral_radius = 1");
  settle<app::TomlSource>(table);
  EXPECT_EQ(table.at_path("fit.reservoir.operator_norm").value_or(""), std::string("none"));
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
