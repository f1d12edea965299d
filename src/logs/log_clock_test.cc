#include "logs/log_clock.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/log.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Names = std::vector<std::string>;

TEST(ParseTime, KnowsDatesTimesAndOffsets) {
  EXPECT_EQ(parse_time("1970-01-01"), 0.0);
  EXPECT_EQ(parse_time("1970-01-02T00:00"), 86400.0);
  EXPECT_EQ(parse_time("2000-03-01 00:00:00"), 951868800.0);  // after a 29th of February
  EXPECT_EQ(parse_time("2024-03-31T12:00:00Z"), 1711886400.0);
  EXPECT_EQ(parse_time("2024-03-31T12:00:00.25Z"), 1711886400.25);
  EXPECT_EQ(parse_time("2024-03-31 14:00:00+02:00"), 1711886400.0);
  EXPECT_EQ(parse_time("2024-03-31T07:00:00-0500"), 1711886400.0);
  EXPECT_EQ(parse_time("2024-03-31T14:00:00 +02"), 1711886400.0);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59"), -1.0);
  for (const char* text :
       {"", "12:30", "2024", "2024-3-31", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10",
        "2024-03-31T", "2024-03-31T25:00", "2024-03-31T12:60", "31.03.2024", "2024-03-31T12:00:00X",
        "2024-03-31T12:00:00+1", "2024-03-31T12:00:00Z and more", "2024-03-31T12:00:00.",
        "20240331T120000Z", "2024-03-31x12:00", "2024-03-31.0"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

class LogTime : public testing::Test {
 protected:
  /// A log with a row for each time.
  std::string log(const Names& times, const std::string& more = "", const Names& cells = {}) {
    std::string text = "when,reward,action,x" + more + "\n";
    for (std::size_t k = 0; k < times.size(); ++k) {
      text += fmt::format("{},{},{},{}{}\n", times[k], k, 0.5 * static_cast<double>(k % 2), k * k,
                          cells.empty() ? "" : "," + cells[k]);
    }
    return folder_.write("log.csv", text);
  }

  LogOptions options_{.time = "when"};
  TemporaryFolder folder_;
};

TEST_F(LogTime, AGapStartsARecord) {
  // Usual steps of 10, one of 14, which is none, and two gaps.
  const std::string path = log({"0", "10", "20", "34", "44", "60", "70", "80", "200", "210"});
  Log found(path, options_);
  EXPECT_EQ(found.spec().observation_names, Names{"x"});
  EXPECT_EQ(found.episodes(), 3);
  EXPECT_EQ(found.rows(), 10);
  EXPECT_EQ(found.cut_out(), true);
  ASSERT_EQ(found.notes().size(), 1u);
  EXPECT_NE(found.notes()[0].find("2 gaps of more than 1.5 usual steps of 10:"), std::string::npos);
  const Trajectory t = read_log(path, options_).trajectory;
  for (Eigen::Index k = 0; k < 10; ++k) {
    EXPECT_EQ(t.end(k), k == 4 || k == 7 ? EpisodeEnd::truncated : EpisodeEnd::none) << k;
  }
  EXPECT_EQ(read_log(path).trajectory.episodes(), 1);
}

TEST_F(LogTime, DatesAreTimes) {
  const Names times = {"2024-12-31T23:59:58Z", "2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z",
                       "2025-01-01 02:00:01+02:00", "2025-01-01T00:00:03Z"};
  Log found(log(times), options_);
  EXPECT_EQ(found.episodes(), 2);
  EXPECT_NE(found.notes()[0].find("1 gap of more than 1.5 usual steps of 1 s:"), std::string::npos);
  expect_error([&] { Log(log(times), LogOptions()); }, "'when'", "--time", "--ignore");
}

TEST_F(LogTime, MustGrowWithinAnEpisode) {
  expect_error(
      [&] {
        Log(log({"0", "1", "1"}), options_);
      },
      "row 3 (line 4)", "'when'", "is that of the row before");
  expect_error([&] { Log(log({"0", "2", "1"}), options_); }, "row 3", "'1'", "before that", "'2'");
  expect_error([&] { Log(log({"0", "x", "1"}), options_); }, "row 2", "'x' is no time");
  expect_error([&] { Log(log({"0", "", "1"}), options_); }, "row 2", "no time");
  expect_error(
      [&] {
        Log(log({"0", "2024-01-01", "1"}), options_);
      },
      "row 2", "is a date", "are numbers");
  expect_error([&] { Log(log({"0", "1"}), {.time = "wen"}); }, "no column 'wen'", "'when'");
  // Every episode has a time of its own.
  const Log found(log({"5", "6", "0", "1", "9"}, ",episode", {"a", "a", "b", "b", "c"}), options_);
  EXPECT_EQ(found.episodes(), 3);
  EXPECT_EQ(Log(log({"5", "6", "0", "1"}, ",truncated", {"0", "1", "0", "0"}), options_).episodes(),
            2);
}

TEST_F(LogTime, WhereGapsAreFewEpisodesBeginAsTheySay) {
  const Names ends = {"0", "1", "0", "1", "0", "0"};
  const Log few(log({"0", "1", "0", "1", "0", "5"}, ",truncated", ends), options_);
  EXPECT_EQ(few.episodes(), 4);
  EXPECT_EQ(few.cut_out(), false);
  const Log most(log({"0", "1", "2", "9", "10", "19", "20", "29"}, ",truncated", Names(8, "0")),
                 options_);
  EXPECT_EQ(most.episodes(), 4);
  EXPECT_EQ(most.cut_out(), true);
}

TEST_F(LogTime, TheUsualStepIsTheMedianOfHoweverMany) {
  const auto usual = [&](const auto& step) {
    LogClock clock;
    std::string text = "t\n";
    double time = 0.0;
    for (int k = 0; k < 50'000; ++k) text += fmt::format("{}\n", time += step(k));
    const auto table = open_table(folder_.write("t.csv", text));
    while (table->next()) clock.survey(*table, 0, false);
    clock.settle();
    return clock.usual_step();
  };
  EXPECT_EQ(usual([](int k) { return k % 3 == 0 ? 9.0 : 2.0; }), 2.0);
  // Early steps count as late ones do.
  EXPECT_EQ(usual([](int k) { return k < 30'000 ? 2.0 : 9.0; }), 2.0);
}

}  // namespace
}  // namespace waggle
