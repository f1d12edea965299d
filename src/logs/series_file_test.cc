#include <gtest/gtest.h>

#include <waggle/log.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

class SeriesFile : public testing::Test {
 protected:
  Series read(const std::string& text, const std::vector<std::string>& names) const {
    return read_series(folder_.write("series.csv", text), names);
  }

  TemporaryFolder folder_;
};

TEST_F(SeriesFile, ReadsTheColumnsAskedForInTheirOrder) {
  const Series series = read("day,x,y\nMon,1,2.5\nTue,-3e-2,4\n", {"y", "x"});
  Eigen::MatrixXd wanted(2, 2);
  wanted << 2.5, 4.0, 1.0, -0.03;
  EXPECT_EQ(series.values, wanted);
  EXPECT_EQ(series.names, (std::vector<std::string>{"y", "x"}));
}

TEST_F(SeriesFile, BadFilesAreRefused) {
  const auto refuse = [&](const std::string& text, const auto&... parts) {
    expect_error([&] { read(text, {"x"}); }, parts...);
  };
  refuse("", "empty");
  refuse("x\n", "no rows");
  refuse("price,xx,y\n1,2,3\n", "no column 'x'", "'xx'");
  refuse("x,y\n1,2\n3\n", "line 3");
  refuse("x,y\n1,2\nabc,3\n", "line 3", "column 'x'", "abc");
  refuse("x\nnan\n", "line 2", "column 'x'", "nan");
  expect_error([&] { read("x\n1\n", {"x", "x"}); }, "'x' was asked for twice");
  expect_error([&] { read("x\n1\n", {}); }, "no column was asked for");
  expect_error([] { read_series("/nowhere/s.csv", {"x"}); }, "/nowhere/s.csv");
}

}  // namespace
}  // namespace waggle
