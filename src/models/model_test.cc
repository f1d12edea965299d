#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/model.h>
#include <waggle/version.h>

#include "expect_error.h"
#include "files/safetensors.h"
#include "model_cases.h"
#include "plain_learner.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(Model, LoadsBitExact) {
  for (const auto& make : {+[] { return bee(); }, +[] { return market(); },
                           +[] { return countdown(); }, +[] { return delay_line(); }}) {
    const Case test = make();
    const std::string bytes = serialise(test.model);
    const Model loaded = parse_model(bytes, "model");
    expect_same_actions(test.model, loaded, test.recorded);
    EXPECT_EQ(serialise(loaded), bytes);
    EXPECT_EQ(loaded.deviation_factor, test.model.deviation_factor);
  }
}

TEST(Model, KeepsEverythingItKnows) {
  Model model = bee(12).model;
  model.warnings = {"of one\nline", "\"quoted\" \xc3\xa9"};
  model.diagnostics.condition_number = std::numeric_limits<double>::infinity();
  model.interface = "{\"observation\": \"a box\"}";
  model.singular = true;
  const Model loaded = parse_model(serialise(model), "model");
  EXPECT_EQ(to_json(loaded.options), to_json(model.options));
  EXPECT_EQ(loaded.options.reservoir.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(to_json(loaded.environment), to_json(model.environment));
  EXPECT_EQ(to_json(loaded.provenance), to_json(model.provenance));
  EXPECT_EQ(to_json(loaded.diagnostics), to_json(model.diagnostics));
  EXPECT_EQ(loaded.diagnostics.condition_number, std::numeric_limits<double>::infinity());
  EXPECT_EQ(loaded.diagnostics.ridge_path.size(), 20U);
  EXPECT_EQ(loaded.warnings, model.warnings);
  EXPECT_EQ(loaded.interface, model.interface);
  EXPECT_TRUE(loaded.singular);
  EXPECT_EQ(loaded.provenance.rows, 1000);
  EXPECT_EQ(loaded.provenance.waggle_version, WAGGLE_VERSION);
  EXPECT_EQ(loaded.divergence_limit, model.divergence_limit);
  EXPECT_EQ(loaded.scaling->mean, model.scaling->mean);
  EXPECT_EQ(loaded.scaling->spread, model.scaling->spread);
  EXPECT_EQ(loaded.ranges.deviation, model.ranges.deviation);

  model.options.value.solve.smallest = 1e-14;
  EXPECT_EQ(parse_model(serialise(model), "model").options.value.solve.smallest, 1e-14);

  const Model market_model = market().model;
  const Model market_loaded = parse_model(serialise(market_model), "model");
  EXPECT_EQ(market_loaded.collected->final_exploration->epsilon, 0.25);
  EXPECT_FALSE(market_loaded.has_confidence());
  EXPECT_EQ(market_loaded.environment.actions.lower[0], -std::numeric_limits<double>::infinity());
  EXPECT_GT(market_loaded.controller.actions.lower[0], -10.0);
  EXPECT_EQ(parse_model(serialise(countdown().model), "m").environment.choice_names[1],
            "γ: let be");
}

TEST(Model, OfAnOlderFormatSaysHowToMakeItAgain) {
  Safetensors content = parse_safetensors(serialise(bee(6).model), "m");
  content.metadata["format_version"] = "2";
  content.metadata["waggle_version"] = "0.2.0";
  expect_error([&] { parse_model(serialise(content), "m"); },
               "format version 2, written by waggle 0.2.0", "learn it again from \"plant-1.csv\"");
  content.metadata.erase("provenance");
  expect_error([&] { parse_model(serialise(content), "m"); }, "learn it again");
}

TEST(Model, RemembersHowPolicyIterationWent) {
  Model model = bee(6).model;
  ASSERT_TRUE(model.improvement);
  EXPECT_GE(model.improvement->sweeps, 1);
  EXPECT_LE(model.improvement->sweeps, 3);
  ASSERT_TRUE(market().model.improvement);
  EXPECT_EQ(market().model.improvement->sweeps, 0);
  for (const PolicyIterationEnd end :
       {PolicyIterationEnd::fixed_point, PolicyIterationEnd::cycle, PolicyIterationEnd::stopped}) {
    model.improvement = Improvement{7, end};
    const Model loaded = parse_model(serialise(model), "m");
    ASSERT_TRUE(loaded.improvement);
    EXPECT_EQ(loaded.improvement->sweeps, 7);
    EXPECT_EQ(loaded.improvement->end, end);
  }
  // A file from before this was kept.
  model.improvement.reset();
  Safetensors older = parse_safetensors(serialise(model), "m");
  EXPECT_FALSE(older.metadata.contains("improvement"));
  EXPECT_FALSE(parse_model(serialise(older), "m").improvement);

  older.metadata["improvement"] = R"({"sweeps": -1, "end": "cycle"})";
  expect_error([&] { parse_model(serialise(older), "m"); }, "improvement: -1 sweeps");
  older.metadata["improvement"] = R"({"sweeps": 1, "end": "well"})";
  expect_error([&] { parse_model(serialise(older), "m"); }, "improvement.end", "well");
}

TEST(Model, MeasuresItsExperience) {
  Trajectory log(1, 1);
  for (int k = 0; k < 50; ++k) {
    const double phase = k % 4;
    log.append(phase, VectorXd::Constant(1, phase == 1.0 ? 2.0 : -1.0),
               VectorXd::Constant(1, 10.0 + phase));
  }
  log.append(9.0, VectorXd::Constant(1, 77.0), VectorXd::Constant(1, 10.0), EpisodeEnd::terminated);
  EnvironmentSpec spec;
  spec.actions = ActionSpace::box(-80.0, 80.0);
  spec.action_names = {"a"};
  spec.observation_names = {"o"};
  LearnOptions options = plain_learner();
  options.fit.reservoir.units = 5;
  options.fit.confidence = true;
  const Learnt learnt = learn_from_log(spec, log, options.fit);
  const Model& model = learnt;
  EXPECT_EQ(model.ranges.minimum, Eigen::Vector3d(0.0, -1.0, 10.0));
  EXPECT_EQ(model.ranges.maximum, Eigen::Vector3d(9.0, 2.0, 13.0));  // 77 was never done
  EXPECT_NEAR(model.ranges.mean[0], log.rewards().mean(), 1e-12);
  EXPECT_NEAR(model.ranges.deviation[0],
              std::sqrt((log.rewards().array() - log.rewards().mean()).square().mean()), 1e-12);
  EXPECT_EQ(model.divergence_limit, 1300.0);

  // The standard error is the norm it claims to be, and the policy goes on where training ended.
  const VectorXd state = VectorXd::LinSpaced(5, -1.0, 1.0);
  EXPECT_NEAR(model.standard_error(state), (model.deviation_factor.transpose() * state).norm(),
              1e-12);
  EXPECT_EQ(model.policy(Start::training_ended).state(), learnt.state);
  EXPECT_EQ(model.policy().state(), VectorXd::Zero(5));
  expect_error([&] { model.standard_error(VectorXd::Zero(4)); }, "4 features", "must be 5");
  Model silent = model;
  silent.deviation_factor.resize(0, 0);
  expect_error([&] { silent.standard_error(state); }, "without confidence");

  Model other = model;
  other.environment.observation_names = {"o", "p"};
  expect_error([&] { other.validate(); }, "3 inputs", "4 channels");
}

TEST(Model, RefusesWhatIsInconsistent) {
  const Safetensors good = parse_safetensors(serialise(bee(6).model), "good");
  const auto expect_refused = [&](const std::function<void(Safetensors&)>& spoil,
                                  const std::string& message) {
    SCOPED_TRACE(message);
    Safetensors content = good;
    spoil(content);
    const std::string bytes = serialise(content);
    expect_error([&] { parse_model(bytes, "bad.model"); }, "bad.model: ", message);
  };
  const auto expect_bad_number = [&](const std::string& name, double value,
                                     const std::string& message) {
    expect_refused([&](Safetensors& c) { std::memcpy(c.tensors.at(name).bytes.data(), &value, 8); },
                   message);
  };
  const auto expect_bad_text = [&](const std::string& key, const std::string& from,
                                   const std::string& to, const std::string& message) {
    expect_refused(
        [&](Safetensors& c) {
          std::string& text = c.metadata.at(key);
          ASSERT_NE(text.find(from), std::string::npos) << from << " not in " << text;
          text.replace(text.find(from), from.size(), to);
        },
        message);
  };
  const double nan = std::nan("");

  expect_refused([](Safetensors& c) { c.metadata.clear(); }, "not a waggle model");
  expect_refused([](Safetensors& c) { c.metadata.erase("format_version"); },
                 "'format_version' is missing");
  expect_refused([](Safetensors& c) { c.metadata["format_version"] = "one"; }, "whole number");
  expect_refused(
      [](Safetensors& c) {
        c.metadata["format_version"] = "4";
        c.metadata["waggle_version"] = "9.0\n.1";
      },
      "format version 4, written by waggle 9.0\\n.1: this is waggle");
  expect_refused([](Safetensors& c) { c.metadata["seed"] = "-1"; }, "'seed'");
  for (const char* key : {"environment", "options", "network", "fit", "provenance", "seed"}) {
    expect_refused([&](Safetensors& c) { c.metadata.erase(key); },
                   fmt::format("'{}' is missing", key));
    if (std::string(key) == "seed") continue;
    expect_refused([&](Safetensors& c) { c.metadata[key] = "{"; },
                   fmt::format("{}: not JSON", key));
    expect_refused([&](Safetensors& c) { c.metadata[key] = "[]"; }, "must be a JSON object");
  }
  for (const auto& [name, tensor] : good.tensors) {
    const std::string& known = name;
    if (known.starts_with("readout.deviation") || known == "network.recurrent.0") continue;
    // Then the others have no owner.
    if (known == "scaling.mean" || known == "baseline.forecast") continue;
    expect_refused([&](Safetensors& c) { c.tensors.erase(known); }, "is missing");
  }
  for (const auto& [name, tensor] : good.tensors) {
    expect_bad_number(name, nan, name.ends_with("wer") || name.ends_with("per") ? "bound" : name);
  }
  expect_refused([](Safetensors& c) { c.tensors.erase("scaling.mean"); }, "scaling.spread");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["more"] = {Dtype::u8, {1}, "x"};
      },
      "\"more\": does not belong");
  expect_refused([](Safetensors& c) { c.tensors["state"].dtype = Dtype::i64; }, "must be F64");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["network.input"].shape = {2, 6};
      },
      "must be F64 of [6, 6]");
  expect_refused([](Safetensors& c) { c.tensors["network.bias"].shape = {2, 3}; }, "1 sides");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["network.bias"] = {Dtype::f64, {0}, ""};
      },
      "must be F64 of [0");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["network.bias"] = {Dtype::f64, {0, 1UL << 40}, ""};
      },
      "1 sides");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["readout.weights"] = {Dtype::f64, {1}, "12345678"};
      },
      "readout.weights: 1 numbers, must be 6");
  expect_bad_number("network.leak", 1.5, "leak = 1.5");
  expect_bad_number("scaling.spread", -1.0, "must be positive");
  expect_bad_number("actions.lower", -std::numeric_limits<double>::infinity(), "unbounded");
  expect_refused(
      [](Safetensors& c) {
        const double low = -1.7e308, high = 1.7e308;
        std::memcpy(c.tensors.at("actions.lower").bytes.data(), &low, 8);
        std::memcpy(c.tensors.at("actions.upper").bytes.data(), &high, 8);
      },
      "too far apart");
  expect_refused(
      [](Safetensors& c) {
        std::string& text = c.metadata.at("environment");
        text.replace(text.find("\"choices\":0"), 11, "\"choices\":5000");
        std::erase_if(c.tensors, [](const auto& item) {
          return item.first.ends_with("lower") || item.first.ends_with("upper");
        });
      },
      "5000 choices, must be at most 4096");

  expect_bad_text("options", "\"discount\":0.5", "\"discount\":1.5", "discount = 1.5");
  expect_bad_text("options", "\"discount\":0.5", "\"discount\":\"x\"", "options.value.discount");
  expect_bad_text("options", "\"discount\"", "\"dis\\ncount\"",
                  "options.value.dis\\ncount: no such");
  expect_bad_text("options", "\"sweeps\":3", "\"sweeps\":4294967299", "options.sweeps");
  expect_bad_text("options", "\"sweeps\":3", "\"sweeps\":3.5", "must be a whole number");
  expect_bad_text("options", "\"relu\"", "\"step\"", "must be one of relu, tanh, identity");
  expect_bad_text("options", "\"candidates\":100", "\"candidates\":1000000000000",
                  "candidates = 1000000000000");
  expect_bad_text("environment", "\"choices\":0", "\"choices\":-1", "must not be negative");
  expect_bad_text("environment", "\"choices\":0", "\"choices\":3", "does not belong");
  expect_bad_text("environment", "[\"move\"]", "[\"move\",\"more\"]", "must be F64 of [2]");
  expect_bad_text("environment", "\"observation_names\":[]", "\"observation_names\":[\"o\"]",
                  "2 inputs, the environment has 3");
  expect_bad_text("environment", "\"choice_names\":[]", "\"choice_names\":[\"x\"]",
                  "1 choice names for 0");
  expect_bad_text("network", "\"members\":1", "\"members\":4611686018427387904", "do not fit");
  expect_bad_text("network", "\"member_units\":6", "\"member_units\":0", "do not fit");
  expect_bad_text("network", "\"member_units\":6", "\"member_units\":5", "must be F64 of [5]");
  expect_bad_text("network", "\"has_constant\":false", "\"has_constant\":true", "constant unit");
  expect_bad_text("fit", "\"divergence_limit\":", "\"divergence_limit\":-", "divergence_limit = -");
}

TEST(Model, RefusesABrokenSparseMatrix) {
  const Safetensors good = parse_safetensors(serialise(market().model), "good");
  const std::string block = "network.recurrent.1";
  const auto expect_refused = [&](const std::string& tensor, std::size_t at, std::int64_t value,
                                  const std::string& message) {
    SCOPED_TRACE(message);
    Safetensors content = good;
    std::memcpy(content.tensors.at(block + tensor).bytes.data() + 8 * at, &value, 8);
    const std::string bytes = serialise(content);
    expect_error([&] { parse_model(bytes, "bad.model"); }, "bad.model", block + tensor, message);
  };
  ASSERT_GT(good.tensors.at(block + ".rows").bytes.size(), 800U);
  expect_refused(".rows", 0, 30, "30 is not in [0, 29]");
  expect_refused(".rows", 0, -1, "-1 is not in");
  expect_refused(".rows", 1, 0, "must rise inside column");
  std::int64_t first = 0;  // the same place twice
  std::memcpy(&first, good.tensors.at(block + ".rows").bytes.data(), 8);
  expect_refused(".rows", 1, first, "must rise inside column");
  expect_refused(".column_starts", 0, 1, "must rise from 0");
  expect_refused(".column_starts", 1, 100'000, "must rise from 0");
  expect_refused(".column_starts", 30, 1L << 40, "is not in");
}

TEST(Model, ActsOnlyOnWhatFits) {
  Model model = bee(6).model;
  model.controller.reservoir = nullptr;
  expect_error([&] { model.policy(); }, "no policy");
  expect_error([&] { serialise(model); }, "no reservoir");

  // Any reservoir system can act, but only those waggle has itself have a file format.
  Model own = countdown().model;
  const auto system = std::make_shared<toy::LastObservation>(6, own.controller.layout.size());
  own.controller.reservoir = system;
  own.controller.weights.setZero(6);
  own.state.setZero(6);
  own.deviation_factor.resize(0, 0);
  own.baseline.reset();
  own.validate();
  expect_error([&] { serialise(own); }, "no file format");
}

TEST(Network, IsWhatItsWeightsSay) {
  ReservoirOptions options = plain_reservoir();
  options.units = 7;
  options.direct_inputs = true;
  const EchoStateNetwork network(options, 3, 2);
  const EchoStateNetwork again(network.weights());
  const VectorXd x = VectorXd::LinSpaced(network.units(), -1.0, 2.0);
  VectorXd next(network.units()), next_again(network.units());
  network.step(x, Eigen::Vector3d(0.1, 0.0, -2.0), next);
  again.step(x, Eigen::Vector3d(0.1, 0.0, -2.0), next_again);
  EXPECT_EQ(next, next_again);
  EXPECT_EQ(again.constant_feature(), network.constant_feature());
  const auto expect_refused = [&](const std::function<void(NetworkWeights&)>& spoil,
                                  const char* message) {
    NetworkWeights weights = network.weights();
    spoil(weights);
    expect_error([&] { EchoStateNetwork{std::move(weights)}; }, message);
  };
  expect_refused([](NetworkWeights& w) { w.recurrent.clear(); }, "0 members");
  expect_refused([](NetworkWeights& w) { w.recurrent.resize(3); }, "only 18 entries");
  expect_refused([](NetworkWeights& w) { w.input.conservativeResize(17, 3); }, "17 × 3");
  expect_refused([](NetworkWeights& w) { w.leak.conservativeResize(3); }, "3 leaks for 14");
  expect_refused([](NetworkWeights& w) { w.leak[2] = 0.0; }, "leak = 0");
  expect_refused([](NetworkWeights& w) { w.bias[2] = NAN; }, "bias");
  expect_refused([](NetworkWeights& w) { w.recurrent[1].dense(2, 3) = INFINITY; }, "(2, 3)");
  expect_refused([](NetworkWeights& w) { w.recurrent[1].dense.resize(2, 2); }, "2 × 2");
  expect_refused([](NetworkWeights& w) { w.recurrent[1].sparse.resize(7, 7); }, "not several");
  expect_refused([](NetworkWeights& w) { w.bias[17] = 2.0; }, "constant unit");
}

}  // namespace
}  // namespace waggle
