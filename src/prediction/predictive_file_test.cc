#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/model_file.h>

#include "expect_error.h"
#include "files/safetensors.h"
#include "predictive_cases.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Equal, NaN to NaN.
bool same_numbers(const MatrixXd& a, const MatrixXd& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         ((a.array() == b.array()) || (a.array().isNaN() && b.array().isNaN())).all();
}

void expect_same_features(const RectifiedFeatures& a, const RectifiedFeatures& b) {
  EXPECT_EQ(a.directions, b.directions);
  EXPECT_EQ(a.offsets, b.offsets);
}

void expect_same_head(const PredictiveHead& a, const PredictiveHead& b) {
  EXPECT_TRUE(same_numbers(a.first, b.first));
  EXPECT_TRUE(same_numbers(a.second, b.second));
  EXPECT_TRUE(same_numbers(a.base, b.base));
  EXPECT_TRUE(same_numbers(a.drift, b.drift));
  EXPECT_TRUE(same_numbers(a.reward, b.reward));
  EXPECT_TRUE(same_numbers(a.knots, b.knots));
  EXPECT_TRUE(same_numbers(a.bends, b.bends));
  expect_same_features(a.layer, b.layer);
  expect_same_features(a.dynamics, b.dynamics);
  expect_same_features(a.value, b.value);
  EXPECT_EQ(a.squared, b.squared);
}

TEST(PredictiveModel, LoadsBitExact) {
  bool reward_of_action = false;
  bool reward_of_memory = false;
  bool squared = false;
  for (const auto& make : {predictive_tanks, predictive_recall, predictive_bee}) {
    const Case test = make();
    SCOPED_TRACE(test.model.environment.name);
    const std::string bytes = serialise(test.model);
    const Model loaded = parse_model(bytes, "model");
    expect_same_actions(test.model, loaded, test.recorded);
    EXPECT_EQ(serialise(loaded), bytes);
    EXPECT_EQ(loaded.state, test.model.state);
    EXPECT_EQ(loaded.controller.weights, test.model.controller.weights);
    EXPECT_EQ(to_json(loaded.options), to_json(test.model.options));
    ASSERT_NE(as<PredictiveNetwork>(*loaded.controller.reservoir), nullptr);
    const PredictiveNetwork& before = predictive_of(test.model);
    const PredictiveNetwork& after = predictive_of(loaded);
    EXPECT_EQ(after.memory().frames(), before.memory().frames());
    EXPECT_EQ(after.memory().seen(), before.memory().seen());
    ASSERT_EQ(after.heads().size(), before.heads().size());
    for (std::size_t i = 0; i < before.heads().size(); ++i) {
      expect_same_head(before.heads()[i], after.heads()[i]);
      reward_of_action = reward_of_action || before.heads()[i].knots.size() > 0;
      reward_of_memory = reward_of_memory || before.heads()[i].reward.size() > 0;
      squared = squared || before.heads()[i].squared > 0;
    }
  }
  // Every part was there once.
  EXPECT_TRUE(reward_of_action);
  EXPECT_TRUE(reward_of_memory);
  EXPECT_TRUE(squared);
}

TEST(PredictiveModel, KeepsWhatIsPredictedAndHowWell) {
  Model model = predictive_tanks().model;
  ASSERT_TRUE(model.predictions);
  PredictionQuality quality = *model.predictions;
  const std::string level = model.environment.observation_names[0];
  EXPECT_EQ(quality.names, (std::vector<std::string>{level, model.environment.reward_name}));
  EXPECT_EQ(quality.horizons, (std::vector<Index>{1, 2, 4, 8, 16}));
  EXPECT_TRUE(quality.any());
  EXPECT_GT(quality.explained(0, 0), 0.5);
  quality.explained(1, 0) = std::nan("");
  quality.explained(2, 1) = -std::numeric_limits<double>::infinity();
  quality.explained(3, 0) = -0.1 - 0.2;
  quality.reward_model = 1.0 / 3.0;
  model.predictions = quality;
  const Model loaded = parse_model(serialise(model), "model");
  ASSERT_TRUE(loaded.predictions);
  EXPECT_TRUE(same_numbers(loaded.predictions->explained, quality.explained));
  EXPECT_EQ(loaded.predictions->names, quality.names);
  EXPECT_EQ(loaded.predictions->horizons, quality.horizons);
  EXPECT_EQ(loaded.predictions->reward_model, quality.reward_model);

  model.predictions.reset();
  EXPECT_FALSE(parse_model(serialise(model), "model").predictions);

  model.predictions = quality;
  model.predictions->names.pop_back();
  expect_error([&] { serialise(model); }, "predictions: 5 × 2 numbers, must be 5 horizons × 1");
  model.predictions = quality;
  model.predictions->horizons[0] = 0;
  expect_error([&] { serialise(model); }, "0 steps ahead");
}

TEST(PredictiveModel, NamesWhatIsSeenInTheOrderOfTheInputs) {
  const Model bee = predictive_bee().model;
  EXPECT_EQ(bee.predictions->names, std::vector<std::string>{bee.environment.reward_name});
  const Model recall = predictive_recall().model;
  std::vector<std::string> names = recall.environment.observation_names;
  if (recall.environment.reward_is_input) {
    names.insert(names.begin(), recall.environment.reward_name);
  } else {
    names.push_back(recall.environment.reward_name);
  }
  EXPECT_EQ(recall.predictions->names, names);
}

/// A file whose parts were exchanged for others that do not fit.
class BrokenPredictiveModel : public testing::Test {
 protected:
  void expect_refused(const std::function<void(Safetensors&)>& spoil,
                      const std::string& message) const {
    SCOPED_TRACE(message);
    Safetensors content = good_;
    spoil(content);
    const std::string bytes = serialise(content);
    expect_error([&] { parse_model(bytes, "bad.model"); }, "bad.model: ", message);
  }
  void expect_bad_text(const std::string& from, const std::string& to, const std::string& message,
                       const char* where = "predictive") const {
    expect_refused(
        [&](Safetensors& c) {
          std::string& text = c.metadata.at(where);
          ASSERT_NE(text.find(from), std::string::npos) << from << " not in " << text;
          text.replace(text.find(from), from.size(), to);
        },
        message);
  }
  std::vector<std::string> parts() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : good_.tensors) {
      if (name.starts_with("predictive.")) names.push_back(name);
    }
    return names;
  }

  const Model model_ = predictive_tanks().model;
  const Safetensors good_ = parse_safetensors(serialise(model_), "good");
};

TEST_F(BrokenPredictiveModel, NamesTheTensor) {
  ASSERT_GE(parts().size(), 20U);
  for (const std::string& name : parts()) {
    const std::string quoted = "tensor \"" + name + "\": ";
    // Those a head may be without take others with them.
    const bool optional = name.ends_with("second") || name.ends_with("knots");
    const bool squared = name.ends_with("squared");  // without it there are too many weights
    expect_refused([&](Safetensors& c) { c.tensors.erase(name); }, squared ? "readout.weights"
                                                                   : optional
                                                                       ? "predictive."
                                                                       : quoted + "is missing");
    expect_refused(
        [&](Safetensors& c) {
          const double bad = std::nan("");
          std::memcpy(c.tensors.at(name).bytes.data(), &bad, 8);
        },
        quoted + "entry (0, 0) is not finite");
    expect_refused([&](Safetensors& c) { c.tensors.at(name).dtype = Dtype::i64; }, quoted + "I64");
    expect_refused(
        [&](Safetensors& c) {
          Tensor& tensor = c.tensors.at(name);
          tensor.shape.push_back(1);
        },
        quoted);
    // One row more, and a claim of many rows that nothing is behind.
    expect_refused(
        [&](Safetensors& c) {
          Tensor& tensor = c.tensors.at(name);
          const std::size_t row = tensor.bytes.size() / tensor.shape[0];
          ++tensor.shape[0];
          tensor.bytes.append(row, '\0');
        },
        "predictive.");
    expect_refused(
        [&](Safetensors& c) {
          Tensor& tensor = c.tensors.at(name);
          tensor.bytes.clear();
          tensor.shape.back() = 0;
          if (tensor.shape.size() > 1) tensor.shape[0] = std::uint64_t{1} << 60;
        },
        "predictive.");
  }
  expect_refused(
      [](Safetensors& c) {
        c.tensors["predictive.2.first"] = {Dtype::u8, {1}, "x"};
      },
      "\"predictive.2.first\": does not belong");
  expect_refused([](Safetensors& c) { c.metadata.erase("predictive"); }, "'predictive' is missing");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["predictive.0.first"] = {Dtype::f64, {0, 9}, ""};
      },
      "\"predictive.0.first\": it has no row");
  // Weights and state are of the whole network.
  expect_refused(
      [](Safetensors& c) {
        c.tensors["readout.weights"] = {Dtype::f64, {1}, "12345678"};
      },
      "readout.weights: 1 numbers, must be");
  expect_refused(
      [](Safetensors& c) {
        c.tensors["state"] = {Dtype::f64, {1}, "12345678"};
      },
      "state: 1 numbers, must be");
}

TEST_F(BrokenPredictiveModel, NamesTheField) {
  expect_refused([](Safetensors& c) { c.metadata["predictive"] = "{"; }, "predictive: not JSON");
  expect_refused([](Safetensors& c) { c.metadata["predictive"] = "[]"; }, "must be a JSON object");
  expect_refused([](Safetensors& c) { c.metadata["predictive"] = "{}"; }, "predictive.heads = 0");
  expect_bad_text("\"heads\":2", "\"heads\":3", "\"predictive.2.first\": is missing");
  expect_bad_text("\"heads\":2", "\"heads\":1", "\"predictive.1.base\": does not belong");
  expect_bad_text("\"heads\":2", "\"heads\":4611686018427387904", "must be in [1, 100]");
  expect_bad_text("\"heads\":2", "\"hats\":2", "predictive.hats: no such option");
  expect_bad_text("\"frames\":2", "\"frames\":-1", "predictive.frames = -1: must be in [0, 1000]");
  expect_bad_text("\"frames\":2", "\"frames\":9223372036854775807", "predictive.frames = 92");
  expect_bad_text("\"frames\":2", "\"frames\":3", "\"predictive.0.first\": F64 of shape");
  expect_bad_text("\"seen\":3", "\"seen\":4611686018427387904", "predictive.seen = 46");
  expect_bad_text("\"seen\":3", "\"seen\":2.5", "must be a whole number");
  expect_bad_text("\"steps\":1,", "\"steps\":0,", "predictions: 0 steps ahead", "predictions");
  expect_bad_text("\"explained\":[", "\"explained\":[0.5,", "3 numbers for 2 names, 1 steps ahead",
                  "predictions");
  expect_bad_text("\"explained\":[", "\"explained\":[null,", "must be a number", "predictions");
  expect_bad_text("\"names\":[", "\"names\":[\"more\",", "2 numbers for 3 names", "predictions");
}

TEST_F(BrokenPredictiveModel, TheNetworkMustPassOnItsInputs) {
  Model plain = bee(6).model;
  Safetensors content = parse_safetensors(serialise(plain), "plain");
  content.metadata["predictive"] = good_.metadata.at("predictive");
  content.metadata["kind"] = "predictive";
  expect_error([&] { parse_model(serialise(content), "m"); }, "must have direct_inputs");
  content.metadata["kind"] = "dreamt";
  expect_error([&] { parse_model(serialise(content), "m"); }, "kind 'dreamt'", "update");
}

TEST_F(BrokenPredictiveModel, IsCutAnywhere) {
  const std::string bytes = serialise(model_);
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 97) {
    expect_error([&] { parse_model(bytes.substr(0, length), "cut.model"); }, "cut.model");
  }
}

/// Few bytes may ask for much memory: features of the value times choices.
TEST(PredictiveModel, WhatActingWouldTakeIsBounded) {
  const int choices = 4096;
  const Index features = 20'000;
  const InputLayout layout{
      .reward = false, .action_size = 1, .choices = choices, .observation_size = 0};
  ReservoirOptions options = plain_reservoir(1);
  options.direct_inputs = true;
  HistoryMemory memory(EchoStateNetwork(options, layout.size()), layout, 0, 0);
  PredictiveHead head;
  head.first = MatrixXd::Zero(1, memory.size());
  head.dynamics = {MatrixXd::Zero(1, 1), VectorXd::Zero(1)};
  head.base = MatrixXd::Zero(1, 1);
  head.drift = MatrixXd::Zero(1, (1 + choices) * 2);
  head.value = {MatrixXd::Zero(features, 1), VectorXd::Zero(features)};
  const auto network = std::make_shared<const PredictiveNetwork>(std::move(memory),
                                                                 std::vector<PredictiveHead>{head});
  Model model = predictive_recall().model;
  model.environment.actions = model.controller.actions = ActionSpace::discrete(choices);
  model.environment.choice_names.clear();
  model.environment.observation_names.clear();
  model.environment.reward_is_input = false;
  model.controller.layout = layout;
  model.controller.reservoir = network;
  model.controller.weights.setZero(network->features());
  model.state.setZero(network->units());
  model.scaling.reset();
  for (VectorXd* range : {&model.ranges.minimum, &model.ranges.maximum, &model.ranges.mean,
                          &model.ranges.deviation}) {
    range->setZero(2);
  }
  model.validate();
  expect_error([&] { serialise(model); }, "20000 features", "4096 channels", "at most 50000000");
}

TEST(PredictiveModel, TheMemoryReadsWhatTheControllerDoes) {
  Model model = predictive_recall().model;
  const Index inputs = model.controller.layout.size();
  model.environment.reward_is_input = !model.environment.reward_is_input;
  model.environment.observation_names.resize(model.environment.observation_names.size() +
                                             (model.environment.reward_is_input ? -1 : 1));
  model.controller.layout = InputLayout::of(model.environment);
  ASSERT_EQ(model.controller.layout.size(), inputs);
  expect_error([&] { model.validate(); }, "the memory reads", "the input layout says");
}

}  // namespace
}  // namespace waggle
