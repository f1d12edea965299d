#include "core/number_text.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace waggle {
namespace {

std::from_chars_result read(std::string_view text, double& value) {
  return read_number(text.data(), text.data() + text.size(), value);
}

TEST(NumberText, ReadsBackAsTheSameBits) {
  for (const double value :
       {0.0, -0.0, 0.1, 1.0 / 3.0, -1e-310, 5e-324, 1e22, std::numeric_limits<double>::max()}) {
    std::string text = "before ";
    append_number(value, text);
    ASSERT_TRUE(text.starts_with("before "));
    double again = 7.0;
    const auto [end, code] = read(std::string_view(text).substr(7), again);
    EXPECT_EQ(code, std::errc()) << text;
    EXPECT_EQ(end, text.data() + text.size()) << text;
    EXPECT_EQ(std::memcmp(&again, &value, sizeof value), 0) << text;
  }
  std::string shortest;
  append_number(0.1, shortest);
  EXPECT_EQ(shortest, "0.1");
}

TEST(NumberText, StopsWhereTheNumberDoes) {
  const auto expect = [](const std::string& text, double value, std::ptrdiff_t length) {
    double found = 7.0;
    const auto [end, code] = read(text, found);
    EXPECT_EQ(code, std::errc()) << text;
    EXPECT_EQ(found, value) << text;
    EXPECT_EQ(end - text.data(), length) << text;
  };
  expect("1.5V", 1.5, 3);
  expect("-2e3,4", -2000.0, 4);
  expect("0x10", 0.0, 1);
  expect("-0X1p3", 0.0, 2);
  for (const char* text : {"", "-", "+1", "-+1", "--1", " 1", "-\t1", "V", ".", "e5"}) {
    double found = 7.0;
    EXPECT_EQ(read(text, found).ec, std::errc::invalid_argument) << text;
    EXPECT_EQ(found, 7.0) << text;
  }
  double found = 7.0;
  EXPECT_EQ(read("1e999", found).ec, std::errc::result_out_of_range);
  EXPECT_EQ(read("-1e-999", found).ec, std::errc::result_out_of_range);
  EXPECT_EQ(read("inf", found).ec, std::errc());
  EXPECT_TRUE(std::isinf(found));
}

}  // namespace
}  // namespace waggle
