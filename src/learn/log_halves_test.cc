#include "learn/log_halves.h"

#include <string>

#include <gtest/gtest.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Rows whose rewards count them. Every `length` of them are an episode, if that is not 0.
Trajectory rows_of(Index rows, Index length = 0, EpisodeEnd end = EpisodeEnd::truncated) {
  Trajectory result(1, 0);
  for (Index k = 0; k < rows; ++k) {
    const bool ends = length > 0 && k % length == length - 1;
    result.append(static_cast<double>(k), VectorXd::Zero(1), VectorXd(0),
                  ends ? end : EpisodeEnd::none);
  }
  return result;
}

TEST(LogHalves, ManyEpisodesAreDealtOutInTurn) {
  // 21 episodes, of which the last has no end.
  const Trajectory rows = rows_of(20 * 4 + 2, 4, EpisodeEnd::terminated);
  const auto halves = halves_of(rows);
  ASSERT_EQ(halves[0].steps(), 10 * 4 + 2);
  ASSERT_EQ(halves[1].steps(), 10 * 4);
  for (const std::size_t half : {0u, 1u}) {
    const Trajectory& part = halves[half];
    for (Index k = 0; k < part.steps(); ++k) {
      const Index episode = 2 * (k / 4) + static_cast<Index>(half);
      EXPECT_EQ(part.rewards()[k], static_cast<double>(4 * episode + k % 4));
      EXPECT_EQ(part.end(k), k == 41      ? EpisodeEnd::truncated
                             : k % 4 == 3 ? EpisodeEnd::terminated
                                          : EpisodeEnd::none);
    }
  }
}

TEST(LogHalves, AnEpisodeWithoutAnEndDoesNotRunIntoAnother) {
  // The one that ends a half is followed by nothing, whichever half that is.
  for (const Index episodes : {20, 21}) {
    const auto halves = halves_of(rows_of(4 * episodes + 1, 4));
    for (const Trajectory& part : halves) {
      EXPECT_EQ(part.end(part.steps() - 1), EpisodeEnd::truncated);
    }
  }
}

TEST(LogHalves, OneRecordIsCutInTheMiddle) {
  const auto halves = halves_of(rows_of(101));
  EXPECT_EQ(halves[0].steps(), 50);
  EXPECT_EQ(halves[0].rewards()[49], 49.0);
  EXPECT_EQ(halves[1].steps(), 51);
  EXPECT_EQ(halves[1].rewards()[0], 50.0);
}

TEST(LogHalves, FewEpisodesAreCutWhereOneEndsNearTheMiddle) {
  EXPECT_EQ(halves_of(rows_of(1000, 110))[0].steps(), 550);  // ends at 440 and 550
  EXPECT_EQ(halves_of(rows_of(1000, 480))[0].steps(), 480);
  EXPECT_EQ(halves_of(rows_of(1000, 500))[0].steps(), 500);
  EXPECT_EQ(halves_of(rows_of(1000, 390))[0].steps(), 500);  // ends at 390 and 780: not near
}

TEST(LogHalves, SaysWhatIsTooLittle) {
  EXPECT_EQ(too_few_for_halves(rows_of(600)), "");
  EXPECT_NE(too_few_for_halves(rows_of(599)).find("599 rows are too few"), std::string::npos);
  EXPECT_EQ(too_few_for_halves(rows_of(600, 100)), "");  // none terminates
  EXPECT_EQ(too_few_for_halves(rows_of(600, 30, EpisodeEnd::terminated)), "");
  const std::string few = too_few_for_halves(rows_of(620, 40, EpisodeEnd::terminated));
  EXPECT_NE(few.find("620 rows of 16 episodes are too few"), std::string::npos) << few;
}

}  // namespace
}  // namespace waggle
