#include "io/series_csv.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "expect_error.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

class SeriesCsv : public testing::Test {
 protected:
  SeriesCsv()
      : path_(fs::path(testing::TempDir()) /
              ("waggle-series-" + std::to_string(getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv")) {}
  ~SeriesCsv() override { fs::remove(path_); }

  SeriesTable read(const std::string& text, const std::vector<std::string>& names) const {
    std::ofstream(path_, std::ios::binary) << text;
    return read_series_csv(path_, names);
  }

  fs::path path_;
};

TEST_F(SeriesCsv, ReadsTheColumnsAskedForInTheirOrder) {
  const SeriesTable table = read("day,x,y\nMon,1,2.5\nTue,-3e-2, +4 \n", {"y", "x"});
  Eigen::MatrixXd wanted(2, 2);
  wanted << 2.5, 4.0, 1.0, -0.03;
  EXPECT_EQ(table.values, wanted);
  EXPECT_EQ(table.names, (std::vector<std::string>{"y", "x"}));
}

TEST_F(SeriesCsv, QuotesCarriageReturnsAndAByteOrderMark) {
  const SeriesTable table = read(
      "\xEF\xBB\xBF\"a, \"\"b\"\"\",note\r\n\"1.5\",\"two\nlines\"\r\n2,\r\n3,plain", {"a, \"b\""});
  EXPECT_EQ(table.values, Eigen::RowVector3d(1.5, 2.0, 3.0));
  EXPECT_EQ(csv_cell("a, \"b\""), "\"a, \"\"b\"\"\"");
  EXPECT_EQ(csv_cell("plain"), "plain");
}

TEST_F(SeriesCsv, EmptyLinesAtTheEndAreNoRows) {
  EXPECT_EQ(read("x\n1\n2\n\r\n\n", {"x"}).values, Eigen::RowVector2d(1.0, 2.0));
}

TEST_F(SeriesCsv, BadFilesAreRefused) {
  const auto refuse = [&](const std::string& text, const auto&... parts) {
    expect_error([&] { read(text, {"x"}); }, parts...);
  };
  refuse("", "is empty");
  refuse("x\n", "no rows");
  refuse("price,xx,y\n1,2,3\n", "no column 'x'", "'xx', 'y', 'price'");
  refuse("x,x\n1,2\n", "more than one column 'x'");
  refuse("x,y\n1,2\n3\n", "line 3", "1 cells, must be 2");
  refuse("x,y\n1,2\nabc,3\n", "line 3, column 'x'", "'abc' is not a number");
  refuse("x\n1\n\n2\n", "line 3, column 'x'", "'' is not a number");
  refuse("x\n1\n2 3\n", "line 3", "'2 3'");
  refuse("x\nnan\n", "line 2, column 'x'", "nan is not finite");
  refuse("x\n-inf\n", "line 2", "not finite");
  refuse("x\n1e999\n", "line 2", "1e999");
  refuse("y,x\n\"a\nb\",1\nc,z\n", "line 4", "'z'");
  refuse("y,x\n\"a,1\n", "line 2", "never closed");
  refuse("y,x\n\"a\"b,1\n", "line 2", "closing quote");
  expect_error([&] { read("x\n1\n", {"x", "x"}); }, "'x' was asked for twice");
  expect_error([&] { read("x\n1\n", {}); }, "no column was asked for");
  expect_error([] { read_series_csv("/nowhere/s.csv", {"x"}); }, "/nowhere/s.csv", "No such file");
  expect_error([] { read_series_csv("/tmp", {"x"}); }, "'/tmp'", "directory");
}

}  // namespace
}  // namespace waggle
