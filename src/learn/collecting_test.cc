#include "learn/collecting.h"

#include <gtest/gtest.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Two rows of each of two copies, whose rewards count them from `first` on; of those the first is
/// said to be by no random action.
Collected round_of(double first) {
  Collected round;
  for (int copy = 0; copy < 2; ++copy) {
    Trajectory& rows = round.rows.emplace_back(1, 0);
    for (int k = 0; k < 2; ++k) {
      rows.append(first + 10.0 * copy + k, VectorXd::Zero(1), VectorXd(0), EpisodeEnd::none);
    }
    round.random.push_back({false});
  }
  return round;
}

struct Record {
  Trajectory rows{1, 0};
  std::vector<bool> random;
};
Record record_of(const Collected& joined) {
  Record record;
  joined.write(record.rows, record.random);
  return record;
}

TEST(Collected, OneCopyComesAfterTheOtherAndEndsThere) {
  Collected joined;
  joined.append(round_of(0.0));
  joined.append(round_of(2.0));
  ASSERT_EQ(joined.rows.size(), 2u);
  const Record record = record_of(joined);
  EXPECT_EQ(record.rows.rewards(), (VectorXd(8) << 0, 1, 2, 3, 10, 11, 12, 13).finished());
  for (Index k = 0; k < 8; ++k) {
    EXPECT_EQ(record.rows.end(k), k == 3 ? EpisodeEnd::truncated : EpisodeEnd::none) << k;
  }
  EXPECT_EQ(record.random, (std::vector<bool>{false, true, false, true, false, true, false, true}));
}

TEST(Collected, AfterAResetAnEpisodeStarts) {
  Collected joined;
  joined.append(round_of(0.0));
  joined.cut();
  joined.append(round_of(2.0));
  const Record record = record_of(joined);
  for (const Index k : {1, 3, 5}) EXPECT_EQ(record.rows.end(k), EpisodeEnd::truncated) << k;
  EXPECT_EQ(record.rows.end(7), EpisodeEnd::none);
}

}  // namespace
}  // namespace waggle
