#include "logs/columns_table.h"

#include <cmath>
#include <utility>

#include <waggle/detail/text.h>

#include "core/check.h"
#include "logs/csv.h"

namespace waggle {

namespace {

class ColumnsTable final : public Table {
 public:
  ColumnsTable(std::vector<MemoryColumn> columns, std::string name)
      : columns_(std::move(columns)), name_(std::move(name)) {
    require(!columns_.empty(), "'{}': there are no columns", name_);
    for (const MemoryColumn& column : columns_) names_.push_back(column.name);
    require_column_names(names_, name_);
  }

  const std::vector<std::string>& columns() const override { return names_; }

  void use(const std::vector<std::size_t>& columns) override {
    rewind();
    rows_ = columns.empty() ? 0 : columns_[columns[0]].rows;
    for (const std::size_t i : columns) {
      const MemoryColumn& column = columns_[i];
      column.prepare();
      require(column.rows == rows_, "'{}': column {} has {} rows, column {} has {}", name_,
              shown(column.name), column.rows, shown(names_[columns[0]]), rows_);
    }
  }

  void rewind() override { passed_ = 0; }
  bool next() override { return passed_ < rows_ && ++passed_ > 0; }

  Cell cell(std::size_t column) const override {
    const MemoryColumn& from = columns_[column];
    if (from.texts != nullptr) return parse_number((*from.texts)[passed_ - 1]);
    const double value = from.number(passed_ - 1);
    if (std::isnan(value)) return {Cell::Kind::empty, value};
    return {std::isfinite(value) ? Cell::Kind::number : Cell::Kind::not_finite, value};
  }

  std::string_view text(std::size_t column) const override {
    const MemoryColumn& from = columns_[column];
    if (from.texts != nullptr) return (*from.texts)[passed_ - 1];
    const double value = from.number(passed_ - 1);
    text_ = std::isnan(value) ? "" : fmt::format("{}", value);
    return text_;
  }

  std::string row_name() const override { return fmt::format("'{}', row {}", name_, passed_); }

 private:
  std::vector<MemoryColumn> columns_;
  std::string name_;
  std::vector<std::string> names_;
  std::uint64_t rows_ = 0;
  std::uint64_t passed_ = 0;
  mutable std::string text_;
};

}  // namespace

std::unique_ptr<Table> open_columns(std::vector<MemoryColumn> columns, const std::string& name) {
  return std::make_unique<ColumnsTable>(std::move(columns), name);
}

std::unique_ptr<Table> open_columns(const std::shared_ptr<const std::vector<LogColumn>>& columns,
                                    const std::string& name) {
  std::vector<MemoryColumn> all;
  for (const LogColumn& column : *columns) {
    const auto number = [columns, &column](std::uint64_t row) {
      return column.numbers[static_cast<Eigen::Index>(row)];
    };
    all.push_back({column.name, static_cast<std::uint64_t>(column.rows()), number,
                   column.texts.empty() ? nullptr : &column.texts});
  }
  return open_columns(std::move(all), name);
}

}  // namespace waggle
