/// The loop of waggle act on lines that no program should send, but some will.
#include "act_loop.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <waggle/guard.h>
#include <waggle/learner.h>

#include "damage.h"
#include "plain_learner.h"

namespace waggle {
namespace {

using Eigen::VectorXd;

/// Reads a reward, a number and a label, and chooses a number.
const Model& small_model() {
  static const Model model = [] {
    EnvironmentSpec spec;
    spec.name = "small";
    spec.actions = ActionSpace::box(-1.0, 1.0);
    spec.action_names = {"a"};
    spec.observation_names = {"o", "mode=on", "mode=off"};
    Trajectory log(1, 3);
    for (int k = 0; k < 300; ++k) {
      const double phase = 0.1 * k * k;
      const bool on = k % 3 == 0;
      log.append(std::sin(phase), VectorXd::Constant(1, std::cos(phase)),
                 Eigen::Vector3d(std::sin(0.7 * k), on ? 1.0 : 0.0, on ? 0.0 : 1.0));
    }
    FitOptions options = plain_learner(15).fit;
    options.confidence = true;
    return Model(learn_from_log(spec, log, options));
  }();
  return model;
}

const std::vector<std::string> kLines = {
    "{\"reward\":0.5,\"o\":0.25,\"mode\":\"on\"}",
    "{\"reward\":NaN,\"observation\":[-Infinity,1,0]}",
    "{\"reset\":true,\"reward\":1e300,\"o\":-1e300,\"mode=on\":0,\"mode=off\":1}",
    "{\"reset\":true}"};
const std::string kApplied = "{\"reward\":0.5,\"o\":0.25,\"mode\":\"off\",\"applied\":0.125}";

/// A line with some damage, often none.
std::string damaged(const std::vector<std::string>& lines, Draws& draws) {
  std::string line = lines[static_cast<std::size_t>(draws.index(static_cast<int>(lines.size())))];
  for (int times = draws.index(4); times > 0 && !line.empty(); --times) {
    const auto size = static_cast<int>(line.size());
    const auto at = static_cast<std::size_t>(draws.index(size));
    const auto from = static_cast<std::size_t>(draws.index(size));
    const auto kind = static_cast<Damage>(draws.index(5));
    damage(line, kind, at, from, static_cast<std::size_t>(draws.index(9)), draws);
  }
  return line;
}

app::ActLoop loop_with(bool hold, bool fallback) {
  app::ActLoop::Guard guard;
  guard.options.hold = hold;
  guard.options.novelty_limit = 0.7;
  guard.options.watch = {.block = 1, .settling = 5, .threshold = 2.0};
  if (fallback) guard.fallback = std::make_unique<HoldPolicy>();
  return app::ActLoop(small_model(), 0, Start::fresh, std::move(guard));
}

TEST(ActLoop, EveryLineHasAnAnswerThatIsOne) {
  const auto tried = static_cast<std::uint64_t>(mutations(8000));
  for (const bool hold : {true, false}) {
    app::ActLoop loop = loop_with(hold, hold);
    std::uint64_t answered = 0, refused = 0;
    std::vector<std::string> lines = kLines;
    if (!hold) lines.push_back(kApplied);
    for (std::uint64_t k = 0; k < tried; ++k) {
      Draws draws = Random(3).at(Purpose::environment, k);
      const std::string line = damaged(lines, draws);
      const nlohmann::json answer = nlohmann::json::parse(loop.answer(line), nullptr, false);
      ASSERT_TRUE(answer.is_object()) << line;
      if (answer.contains("error")) {
        ++refused;
      } else if (answer.contains("action")) {
        ++answered;
        // Where nothing wild is read, nothing wild is answered.
        if (!hold) continue;
        ASSERT_LE(std::abs(answer["action"].get<double>()), 1.0) << line;
        ASSERT_LT(std::abs(answer["value"].get<double>()), 1e3) << line;
        ASSERT_TRUE(answer["novelty"].is_number()) << line << answer;
      }
    }
    EXPECT_GT(answered, tried / (hold ? 8 : 27));
    EXPECT_GT(refused, tried / 4);
    EXPECT_NE(loop.summary(), "");
  }
}

}  // namespace
}  // namespace waggle
