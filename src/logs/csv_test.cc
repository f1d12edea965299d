#include "logs/csv.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Cells = std::vector<std::string>;

class Csv : public testing::Test {
 protected:
  std::vector<Cells> rows(std::string_view content) {
    const auto table = open_csv(folder_.write("t.csv", content));
    columns_ = table->columns();
    std::vector<Cells> found;
    while (table->next()) {
      found.emplace_back();
      for (std::size_t i = 0; i < columns_.size(); ++i) found.back().emplace_back(table->text(i));
    }
    return found;
  }
  template <typename... Parts>
  void expect_refused(std::string_view content, const Parts&... parts) {
    expect_error(
        [&] {
          const auto table = open_csv(folder_.write("t.csv", content));
          while (table->next()) {
            for (std::size_t i = 0; i < table->columns().size(); ++i) table->number(i);
          }
        },
        "t.csv", parts...);
  }

  TemporaryFolder folder_;
  Cells columns_;
};

TEST_F(Csv, ReadsRfc4180) {
  const std::vector<Cells> expected = {{"1", "x, \"y\"\r\nz", ""}, {"2", "", "b"}};
  EXPECT_EQ(rows("a,\"b \"\"q\"\"\",c\r\n1,\"x, \"\"y\"\"\r\nz\",\r\n2,\"\",b\r\n"), expected);
  EXPECT_EQ(columns_, (Cells{"a", "b \"q\"", "c"}));
}

TEST_F(Csv, LineEndsMarksAndBlanksDoNotMatter) {
  const std::vector<Cells> expected = {{"1", "2"}, {"3", "4"}};
  for (const char* text :
       {"a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r\n1,2\r\n3,4\r",
        "\xEF\xBB\xBF"  // NOLINT(bugprone-suspicious-missing-comma)
        "a,b\n1,2\n3,4\n\n\r\n\n",
        " a ,\tb\n1 , 2\n 3,4 \n", "\"a\",\"b\"\n\"1\",2\n3,\"4\""}) {
    EXPECT_EQ(rows(text), expected) << text;
    EXPECT_EQ(columns_, (Cells{"a", "b"})) << text;
  }
  EXPECT_EQ(rows("a,b\n\" 1\",\"2 \"\n"), (std::vector<Cells>{{" 1", "2 "}}));
  EXPECT_EQ(rows("a,b\n"), std::vector<Cells>{});
}

TEST_F(Csv, TheSeparatorIsWhatTheHeaderHasMostOften) {
  const std::vector<Cells> expected = {{"1", "2"}, {"3", "4"}};
  for (const char* text : {"a;b\n1;2\n3;4\n", "a\tb\n1\t2\n3\t4\n", "a ; b\r\n1;2\r\n3;4"}) {
    EXPECT_EQ(rows(text), expected) << text;
    EXPECT_EQ(columns_, (Cells{"a", "b"})) << text;
  }
  EXPECT_EQ(rows("a, mean;b;c\n1,5;2;x\n"), (std::vector<Cells>{{"1,5", "2", "x"}}));
  EXPECT_EQ(rows("\"a;b;c\",b\n\"1;2;3\",2\n"), (std::vector<Cells>{{"1;2;3", "2"}}));
  EXPECT_EQ(rows("a\tb\n\t2\n"), (std::vector<Cells>{{"", "2"}}));
  EXPECT_EQ(rows("a;b\n"), std::vector<Cells>{});
  EXPECT_EQ(rows("a\n1\n"), (std::vector<Cells>{{"1"}}));
}

TEST_F(Csv, DecimalsMayBeBehindAComma) {
  const auto table = open_csv(folder_.write("t.csv", "a;b\n-1,5;7\n2,5e-1;+0,25\n"));
  EXPECT_EQ(table->notes(), Cells{"columns are separated by semicolons"});
  ASSERT_TRUE(table->next());
  EXPECT_EQ(table->number(0), -1.5);
  EXPECT_EQ(table->number(1), 7.0);
  EXPECT_EQ(table->text(0), "-1,5");
  ASSERT_TRUE(table->next());
  EXPECT_EQ(table->number(0), 0.25);
  EXPECT_EQ(table->number(1), 0.25);
  EXPECT_EQ(table->notes(), Cells{"columns are separated by semicolons, decimals by a comma"});
  EXPECT_EQ(open_csv(folder_.write("p.csv", "a,b\n1,2\n"))->notes(), Cells{});

  expect_refused("a;b\n1,5;2\n3;4.5\n", "row 2 (line 3)", "column 'b'", "behind a point",
                 "row 1, column 'a': '1,5'");
  expect_refused("a\tb\n1.5\t2\n3\t4,5\n", "row 2 (line 3)", "column 'b'", "behind a comma",
                 "'1.5'");
  expect_refused("a;b\n1.234,5;2\n", "'1.234,5' is not a number");
  expect_refused("a;b\n1,234,5;2\n", "'1,234,5' is not a number");
  expect_refused("a,b\n\"1,5\",2\n", "'1,5' is not a number");
}

TEST_F(Csv, ColumnsMayBeManyMore) {
  // A header and rows beyond the buffer, read again and again.
  std::string text = "c0";
  for (int i = 1; i < 300'000; ++i) text += ",c" + std::to_string(i);
  for (int row = 0; row < 3; ++row) {
    text += "\n" + std::to_string(row);
    for (int i = 1; i < 300'000; ++i) text += ",1.2345";
  }
  const auto table = open_csv(folder_.write("t.csv", text));
  ASSERT_EQ(table->columns().size(), 300'000u);
  EXPECT_EQ(table->columns().back(), "c299999");
  for (int pass = 0; pass < 2; ++pass) {
    for (int row = 0; row < 3; ++row) {
      ASSERT_TRUE(table->next());
      EXPECT_EQ(table->number(0), row);
      EXPECT_EQ(table->number(299'999), 1.2345);
    }
    EXPECT_FALSE(table->next());
    table->rewind();
  }
}

TEST_F(Csv, RewindsAndCrossesBuffers) {
  // 3 MB with rows of every length, quotes and doubled quotes across the buffer's edges.
  std::string text = "a,b\r\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    std::string cell(static_cast<std::size_t>(i * 7919 % 2000), static_cast<char>('a' + i % 26));
    text += std::to_string(i) + ",\"" + cell + "\"\"\n\"\r\n";
    expected.push_back(cell + "\"\n");
  }
  const auto table = open_csv(folder_.write("t.csv", text));
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 3000; ++i) {
      ASSERT_TRUE(table->next());
      ASSERT_EQ(table->number(0), i);
      ASSERT_EQ(table->text(1), expected[static_cast<std::size_t>(i)]);
    }
    EXPECT_NE(table->row_name().find("row 3000 (line 6000)"), std::string::npos);
    EXPECT_FALSE(table->next());
    EXPECT_FALSE(table->next());
    table->rewind();
  }
}

TEST_F(Csv, EveryEndOfTheBufferIsTheSame) {
  // The same few rows with the buffer's edge at each of their bytes.
  const std::string tail = "1,\"q\"\"r\"\r\n-2.5e-3,\"\"\r\n,z\r\n";
  const std::string filler = "0," + std::string(1000, 'f') + "\n";
  for (std::size_t shift = 0; shift <= tail.size(); ++shift) {
    std::string text = "a,b\n";
    const std::size_t edge = (std::size_t{1} << 20) - shift;
    while (text.size() + filler.size() + 8 < edge) text += filler;
    text += "0," + std::string(edge - text.size() - 3, 'g') + "\n" + tail;
    const std::vector<Cells> found = rows(text);
    ASSERT_GT(found.size(), 3u);
    EXPECT_EQ(found[found.size() - 3], (Cells{"1", "q\"r"})) << shift;
    EXPECT_EQ(found[found.size() - 2], (Cells{"-2.5e-3", ""})) << shift;
    EXPECT_EQ(found[found.size() - 1], (Cells{"", "z"})) << shift;
  }
}

TEST_F(Csv, ParsesNumbersExactly) {
  using Kind = Table::Cell::Kind;
  EXPECT_EQ(parse_number("0.1").value, 0.1);
  EXPECT_EQ(parse_number(" +1e3\t").value, 1000.0);
  EXPECT_EQ(parse_number(".5").value, 0.5);
  EXPECT_EQ(parse_number("4.9406564584124654e-324").value,
            std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(parse_number("1.7976931348623157e308").value, std::numeric_limits<double>::max());
  EXPECT_TRUE(std::signbit(parse_number("-0").value));
  for (const char* text :
       {"x", "1.5.2", "1,5", "0x10", "+-1", "++1", "1 2", "-", "+", "1e", "--1"}) {
    EXPECT_EQ(parse_number(text).kind, Kind::text) << text;
  }
  for (const char* text : {"nan", "NaN", "inf", "-Infinity", "+inf"}) {
    EXPECT_EQ(parse_number(text).kind, Kind::not_finite) << text;
  }
  EXPECT_EQ(parse_number("1e999").kind, Kind::out_of_range);
  EXPECT_EQ(parse_number("").kind, Kind::empty);
  EXPECT_EQ(parse_number("  ").kind, Kind::empty);
}

TEST_F(Csv, BadCellsAreNamedByRowLineAndColumn) {
  std::string text = "a,nectar\n";
  for (int i = 1; i <= 5000; ++i) text += i == 4711 ? "1,nan\n" : "1,2\n";
  expect_refused(text, "row 4711 (line 4712)", "column 'nectar'", "'nan' is not finite");
  expect_refused("a,b\n1,\"x\ny\"\n", "row 1 (line 2)", "'x\\x0Ay' is not a number");
  expect_refused("\"a\n\",b\n1,2\n3,\n", "row 2 (line 4)", "column 'b'", "empty");
  expect_refused("a,b\n1,-inf\n", "not finite");
  expect_refused("a,b\n1,1e400\n", "outside the range");
}

TEST_F(Csv, BadRowsAreNamed) {
  expect_refused("a,b\n1,2\n1,2,3\n", "row 2 (line 3)", "3 cells", "2 columns");
  expect_refused("a,b\n1,2\n1\n", "row 2 (line 3)", "1 cells");
  expect_refused("a,b\n1,2\n\n3,4\n", "row 2 (line 3)", "blank");
  expect_refused("a,b\n1,2\n3,\"4\n5,6\n7,8\n", "row 2 (line 3)", "never closed");
  expect_refused("a,b\n1,2\n3,\"4\"5\n", "row 2 (line 3)", "cell 2", "closing quote");
  expect_refused("a,b\n1,2\n3,4\"5\"\n", "row 2 (line 3)", "cell 2", "middle");
  expect_refused("a,b\n1," + std::string(1 << 26, '2') + "\n", "row 1 (line 2)", "64 MiB");
  expect_refused("a,b\n1,\"" + std::string(65 << 20, '\n'), "row 1 (line 2)", "64 MiB");
}

TEST_F(Csv, BadHeadersAreNamed) {
  expect_refused("", "the file is empty");
  expect_refused("\xEF\xBB\xBF", "the file is empty");
  expect_refused("\n\n", "the file is empty");
  expect_refused("a,b,a\n", "two columns 'a'");
  expect_refused("a,,b\n", "column 2 of 3 has no name");
  expect_refused("1,2.5\n3,4\n", "header");
  expect_refused("a|b\n1|2\n", "'a|b'", "commas, semicolons or tabs");
  expect_refused("\x93NUMPY\x01", "no CSV");
  expect_refused("\"a,b\n", "line 1", "never closed");
  expect_refused(std::string_view("\xFF\xFE"
                                  "a\0",
                                  4),
                 "UTF-16");
  expect_refused(std::string(1'000'000, ','), "1000001 columns", "at most 1000000");
  expect_refused(std::string((1 << 26) + 1, 'a'), "line 1", "longer than 64 MiB");
}

TEST_F(Csv, PathsThatAreNoFilesAreRefused) {
  expect_error([&] { open_csv(folder_.path("none.csv")); }, "none.csv", "No such file");
  expect_error([&] { open_csv(folder_.path("")); }, "directory");
  ASSERT_EQ(mkfifo(folder_.path("pipe.csv").c_str(), 0600), 0);
  expect_error([&] { open_csv(folder_.path("pipe.csv")); }, "pipe");
}

TEST(CsvCell, IsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a, \"b\""), "\"a, \"\"b\"\"\"");
  EXPECT_EQ(csv_cell(""), "\"\"");
  EXPECT_EQ(csv_cell(" x"), "\" x\"");
}

}  // namespace
}  // namespace waggle
