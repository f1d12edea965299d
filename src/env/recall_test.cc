#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/env/recall.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

Draws draws_at(std::uint64_t step) { return Random(3).at(Purpose::environment, step); }

Index shown_in(const Percept& percept) {
  Index symbol = 0;
  EXPECT_EQ(percept.observation.maxCoeff(&symbol), 1.0);
  EXPECT_EQ(percept.observation.sum(), 1.0);
  return symbol;
}

/// The return of an episode, and the number of answers, if a_k is answer(k, symbols seen so far).
template <typename Answer>
std::pair<double, Index> play(Recall& recall, Answer&& answer, std::uint64_t seed = 0) {
  Percept percept;
  percept.observation.setZero(recall.spec().observation_size());
  Draws draws = draws_at(1000 * seed);
  recall.reset(draws, percept);
  EXPECT_EQ(percept.reward, 0.0);
  std::vector<Index> seen;
  double sum = 0.0;
  Index answers = 0;
  while (!percept.terminated && answers < 100'000) {
    seen.push_back(shown_in(percept));
    Draws next = draws_at(1000 * seed + static_cast<std::uint64_t>(++answers));
    recall.step(VectorXd::Constant(1, static_cast<double>(answer(seen))), next, percept);
    EXPECT_FALSE(percept.truncated);
    sum += percept.reward;
  }
  return {sum, answers};
}

/// Answers what was seen so many percepts ago.
auto look_back(Index back) {
  return [back](const std::vector<Index>& seen) {
    const Index asked = std::ssize(seen) - 1 - back;
    return asked < 0 ? 0 : seen[static_cast<std::size_t>(asked)];
  };
}

TEST(Recall, WhoRemembersEarnsOneAndWhoIsAStepOffDoesNot) {
  for (const Index back : {0, 1, 3, 4, 32, 50}) {
    Recall recall({.back = back});
    const auto [sum, answers] = play(recall, look_back(back));
    EXPECT_NEAR(sum, 1.0, 1e-12) << back;
    EXPECT_EQ(answers, 51) << back;
    if (back > 32) continue;  // then few answers count, and may be right by chance
    EXPECT_LT(play(recall, look_back(back + 1)).first, 0.2) << back;
    if (back == 0) continue;
    EXPECT_LT(play(recall, look_back(back - 1)).first, 0.2) << back;
  }
}

TEST(Recall, TheFirstCanBeAskedFor) {
  Recall recall({.answer = RecallAnswer::first, .decks = 2});
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto first = [](const std::vector<Index>& seen) { return seen.front(); };
    const auto [sum, answers] = play(recall, first, seed);
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_EQ(answers, 103);
    EXPECT_LT(play(recall, look_back(0), seed).first, 0.0);
  }
}

TEST(Recall, AnswersBeforeThereIsSomethingToRecallCountNothing) {
  Recall recall({.back = 4});
  Percept percept;
  percept.observation.setZero(4);
  Draws draws = draws_at(0);
  recall.reset(draws, percept);
  const std::vector<int> cards = recall.cards();
  for (int k = 0; k < 51; ++k) {
    EXPECT_EQ(shown_in(percept), cards[static_cast<std::size_t>(k)]);
    const bool right = k % 3 == 0;
    const int asked = k < 4 ? 0 : cards[static_cast<std::size_t>(k - 4)];
    recall.step(VectorXd::Constant(1, right ? asked : (asked + 1) % 4), draws, percept);
    EXPECT_EQ(percept.reward, k < 4 ? 0.0 : (right ? 1.0 : -1.0) / 47.0) << k;
    EXPECT_EQ(percept.terminated, k == 50) << k;
  }
  EXPECT_EQ(shown_in(percept), cards.back());
}

TEST(Recall, EveryDeckHasThirteenOfEachAndIsShuffledWell) {
  Recall recall({.symbols = 3, .decks = 2});
  const int cards = 3 * 13 * 2;
  const int episodes = 3000;
  std::vector<double> at_place(cards * 3, 0.0);
  double repeats = 0.0;
  Percept percept;
  percept.observation.setZero(3);
  for (int e = 0; e < episodes; ++e) {
    Draws draws = draws_at(static_cast<std::uint64_t>(e));
    recall.reset(draws, percept);
    std::vector<int> count(3, 0);
    ASSERT_EQ(std::ssize(recall.cards()), cards);
    for (std::size_t k = 0; k < cards; ++k) {
      const int symbol = recall.cards()[k];
      ++count[static_cast<std::size_t>(symbol)];
      at_place[3 * k + static_cast<std::size_t>(symbol)] += 1.0 / episodes;
      if (k > 0) repeats += symbol == recall.cards()[k - 1];
    }
    EXPECT_EQ(count, std::vector<int>(3, 26));
  }
  // Each symbol is as likely at every place; of two neighbours the second is the same in 25 of 77.
  const double deviation = std::sqrt(1.0 / 3.0 * 2.0 / 3.0 / episodes);
  for (const double share : at_place) EXPECT_NEAR(share, 1.0 / 3.0, 4.5 * deviation);
  EXPECT_NEAR(repeats / episodes / (cards - 1), 25.0 / 77.0, 0.004);
}

TEST(Recall, GuessesEarnAsMuchAsTheirChance) {
  for (const Index symbols : {2, 4, 8}) {
    Recall recall({.symbols = symbols});
    const int episodes = 300;
    double mean = 0.0;
    Draws guesses = Random(1).at(Purpose::policy);
    const auto guess = [&](const std::vector<Index>&) { return guesses.index(symbols); };
    for (std::uint64_t e = 0; e < episodes; ++e) mean += play(recall, guess, e).first / episodes;
    EXPECT_NEAR(mean, 2.0 / static_cast<double>(symbols) - 1.0, 0.05) << symbols;
  }
}

TEST(Recall, IsSeenThroughItsSensor) {
  Recall recall({.sensor = {.delay = 2}});
  Percept percept;
  percept.observation.setZero(4);
  Draws draws = draws_at(0);
  recall.reset(draws, percept);
  for (std::size_t k = 0; k < 51; ++k) {
    EXPECT_EQ(shown_in(percept), recall.cards()[k < 2 ? 0 : k - 2]) << k;
    recall.step(VectorXd::Zero(1), draws, percept);
  }
  Recall noisy({.sensor = {.noise = 0.1}});
  noisy.reset(draws, percept);
  EXPECT_NE(percept.observation.sum(), 1.0);
}

TEST(Recall, BadOptionsAreNamed) {
  expect_error([] { Recall({.back = -1}); }, "back = -1", "[0, 50]");
  expect_error([] { Recall({.back = 51}); }, "back = 51", "52 cards");
  expect_error([] { Recall({.symbols = 1}); }, "symbols = 1", "[2, 64]");
  expect_error([] { Recall({.decks = 0}); }, "decks = 0", "[1, 1000]");
  expect_error([] { Recall({.sensor = {.noise = -1.0}}); }, "noise = -1");
}

}  // namespace
}  // namespace waggle
