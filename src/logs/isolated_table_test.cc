#include "logs/isolated_table.h"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "expect_error.h"

namespace waggle {
namespace {

/// Rows (k, 10k, empty), and something else in one of them.
class Troubled final : public Table {
 public:
  Troubled(int rows, int bad_row, std::function<void()> trouble)
      : rows_(rows), bad_row_(bad_row), trouble_(std::move(trouble)) {
    if (bad_row_ == 0) trouble_();
  }
  const std::vector<std::string>& columns() const override { return columns_; }
  void use(const std::vector<std::size_t>&) override { rewind(); }
  void rewind() override { row_ = 0; }
  bool next() override {
    if (row_ == rows_) return false;
    if (++row_ == bad_row_) trouble_();
    return true;
  }
  Cell cell(std::size_t column) const override {
    if (column == 2) return {};
    return {Cell::Kind::number, column == 0 ? row_ : 10.0 * row_};
  }
  std::string_view text(std::size_t) const override { return {}; }
  std::string row_name() const override { return "row " + std::to_string(row_); }

 private:
  std::vector<std::string> columns_ = {"a", "b", "c"};
  int rows_, bad_row_, row_ = 0;
  std::function<void()> trouble_;
};

std::unique_ptr<Table> troubled(int bad_row, const std::function<void()>& trouble,
                                int patience = 60) {
  return isolate(
      "file", [=] { return std::make_unique<Troubled>(20'000, bad_row, trouble); }, patience);
}

TEST(IsolatedTable, IsTheTable) {
  const auto table = troubled(-1, [] {});
  EXPECT_EQ(table->columns(), (std::vector<std::string>{"a", "b", "c"}));
  table->use({1, 2});
  for (int pass = 0; pass < 2; ++pass) {
    for (int k = 1; k <= 20'000; ++k) {
      ASSERT_TRUE(table->next());
      ASSERT_EQ(table->number(1), 10.0 * k);
      ASSERT_EQ(table->cell(2).kind, Table::Cell::Kind::empty);
    }
    EXPECT_EQ(table->row_name(), "row 20000");
    EXPECT_EQ(table->text(1), "200000");
    EXPECT_EQ(table->text(2), "");
    EXPECT_FALSE(table->next());
    EXPECT_FALSE(table->next());
    table->rewind();
  }
  ASSERT_TRUE(table->next());  // left in the middle
}

TEST(IsolatedTable, TroubleArrivesAsAnError) {
  const auto read = [](Table& table) {
    table.use({0});
    while (table.next()) continue;
  };
  const auto crash = [] { raise(SIGKILL); };
  for (const int row : {1, 7000}) {
    const auto table = troubled(row, crash);
    for (int pass = 0; pass < 2; ++pass) {
      expect_error([&] { read(*table); }, "'file'", "damaged", "crashes");
    }
    expect_error([&] { read(*troubled(row, [] { throw Error("as it is"); })); }, "as it is");
    EXPECT_THROW(read(*troubled(row, [] { throw std::runtime_error("disk"); })),
                 std::runtime_error);
  }
  expect_error([&] { troubled(0, crash); }, "crashes");
  expect_error([&] { troubled(0, [] { throw Error("no such file"); }); }, "no such file");
  expect_error(
      [&] {
        troubled(
            0, [] { pause(); }, 0);
      },
      "does not come to an end");
}

}  // namespace
}  // namespace waggle
