#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/log.h>

#include "expect_error.h"

namespace waggle {
namespace {

TEST(ColumnsTable, IsRefusedAsAFileWouldBe) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers = {1, 2, 3};
  const auto map = [&] {
    return LogColumn{"reward", {numbers.data(), 3, Eigen::InnerStride<>(1)}};
  };
  LogColumn action = map();
  action.name = "action";
  expect_error([&] { Log({}, "table"); }, "'table'", "no columns");
  expect_error([&] { Log({map(), map()}, "table"); }, "two columns 'reward'");
  LogColumn shorter{"x", {numbers.data(), 2, Eigen::InnerStride<>(1)}};
  expect_error([&] { Log({map(), action, shorter}, "table"); }, "column 'x' has 2 rows", "3");
  expect_error([&] { Log({map()}, "table"); }, "action");
  numbers[1] = infinity;
  expect_error([&] { Log({map(), action}, "table"); }, "'table', row 2", "'reward'", "not finite");
  numbers[1] = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { Log({map(), action}, "table"); }, "row 2", "empty");
}

}  // namespace
}  // namespace waggle
