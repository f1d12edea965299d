#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waggle/base/random.h>
#include <waggle/model.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>

#include "damage.h"
#include "expect_error.h"
#include "predictive_cases.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Spoils a file in one of many ways.
std::string mutated(std::string bytes, Draws& draws) {
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const auto position = [&] {
    // Every second time in the header, which is where the trouble is.
    const std::size_t size = draws.uniform() < 0.5 ? 8 + header : bytes.size();
    return static_cast<std::size_t>(draws.index(static_cast<Index>(std::min(size, bytes.size()))));
  };
  const Index count = 1 + draws.index(3);
  for (Index i = 0; i < count && !bytes.empty(); ++i) {
    const std::size_t at = position();
    const auto length = static_cast<std::size_t>(1 + draws.index(16));
    const Index kind = draws.index(9);
    switch (kind) {
      case 5:
        bytes.insert(at, length, static_cast<char>(draws.index(256)));
        break;
      case 6: {  // another digit, where there is one
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        if (digit != std::string::npos) bytes[digit] = static_cast<char>('0' + draws.index(10));
        break;
      }
      case 7: {  // a number, whole in the data
        const double numbers[] = {NAN, INFINITY, 1e308, -1e300, 5e-324, 0.0, -1.0};
        const std::size_t start = 8 + header + draws.index(100) * 8;
        if (start + 8 <= bytes.size()) std::memcpy(&bytes[start], &numbers[draws.index(7)], 8);
        break;
      }
      case 8: {  // another length of the header
        header += static_cast<std::uint64_t>(draws.index(64)) - 32;
        if (bytes.size() >= 8) std::memcpy(bytes.data(), &header, 8);
        break;
      }
      default:  // what any file may suffer
        damage(bytes, static_cast<Damage>(kind), at, position(), length, draws);
    }
  }
  return bytes;
}

TEST(Model, SurvivesCorruption) {
  const long tried = mutations(2000);
  const std::string originals[] = {
      serialise(bee(6).model), serialise(market().model), serialise(countdown().model),
      serialise(predictive_tanks().model), serialise(predictive_recall().model)};
  long loaded = 0;
  for (long i = 0; i < tried; ++i) {
    Draws draws = Random(42).at(Purpose::user, static_cast<std::uint64_t>(i));
    const std::string bytes = mutated(originals[i % 5], draws);
    try {
      const Model model = parse_model(bytes, "file");
      ++loaded;
      GreedyPolicy policy = model.policy();
      VectorXd action(model.controller.actions.size());
      Percept percept;
      percept.reward = 0.5;
      percept.observation.setOnes(model.environment.observation_size());
      for (int step = 0; step < 3; ++step) policy.act(percept, draws, action);
    } catch (const Error& error) {
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      FAIL() << "mutation " << i << ": " << error.what();
    }
  }
  // Some change a weight and no more; most do not pass.
  EXPECT_GT(loaded, tried / 100);
  EXPECT_LT(loaded, tried / 2);
}

class ModelFile : public testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(ModelFile, IsSavedAndLoaded) {
  const Case test = market();
  save_model(folder_.path("m.safetensors"), test.model);
  expect_same_actions(test.model, load_model(folder_.path("m.safetensors")), test.recorded);
  expect_error([&] { load_model(folder_.path("none")); }, "none", "no such file");
  EXPECT_THROW(save_model(folder_.path("no/m"), test.model), std::runtime_error);
}

TEST_F(ModelFile, IsTheOldOneOrTheNewOneAfterAKill) {
  const fs::path path = folder_.path("m.safetensors");
  const Model models[] = {bee(40).model, bee(80).model};
  const std::string bytes[] = {serialise(models[0]), serialise(models[1])};
  const auto start = std::chrono::steady_clock::now();
  save_model(path, models[0]);
  const std::chrono::duration<double, std::micro> once = std::chrono::steady_clock::now() - start;
  int seen[] = {0, 0};
  for (std::uint64_t kill_number = 0; kill_number < 30; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        for (int i = 1;; ++i) save_model(path, models[i % 2]);
      } catch (const std::exception&) {
        _exit(1);
      }
    }
    // Some time within its first few writes, however fast the disk is.
    const double most = std::clamp(4.0 * once.count(), 10'000.0, 900'000.0);
    usleep(static_cast<useconds_t>(Random(5).at(Purpose::user, kill_number).uniform(0.0, most)));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string now = serialise(load_model(path));
    ASSERT_TRUE(now == bytes[0] || now == bytes[1]) << "kill " << kill_number;
    ++seen[now == bytes[1] ? 1 : 0];
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
}

TEST(ReadoutFile, HoldsTheSameBits) {
  MatrixXd z(2, 300);
  for (Index k = 0; k < 300; ++k) {
    z(0, k) = std::sin(0.1 * static_cast<double>(k));
    z(1, k) = std::cos(0.17 * static_cast<double>(k));
  }
  for (const double density : {1.0, 0.2}) {
    SupervisedOptions options = presets::forecasting();
    options.reservoir.units = 20;
    options.reservoir.density = density;
    options.members = 2;
    const Supervised model = fit_supervised(z.leftCols(299), z.rightCols(299), options);
    const std::string bytes = serialise(model);
    const Supervised read = parse_supervised(bytes, "bytes");
    EXPECT_EQ(serialise(read), bytes);
    EXPECT_EQ(forecast(read, read.state, 20).predictions,
              forecast(model, model.state, 20).predictions);
    Draws draws = Random(3).at(Purpose::user);
    for (int i = 0; i < 200; ++i) {
      try {
        parse_supervised(mutated(bytes, draws), "spoilt");
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("spoilt"), std::string::npos);
      }
    }
    expect_error([&] { parse_model(bytes, "bytes"); }, "not a waggle model");
  }
}

}  // namespace
}  // namespace waggle
