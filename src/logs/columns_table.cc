#include "logs/columns_table.h"

#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "logs/csv.h"

namespace waggle {

using Eigen::Index;

namespace {

class ColumnsTable final : public Table {
 public:
  ColumnsTable(std::shared_ptr<const std::vector<LogColumn>> columns, std::string name)
      : columns_(std::move(columns)), name_(std::move(name)) {
    require(!columns_->empty(), "'{}': there are no columns", name_);
    for (const LogColumn& column : *columns_) names_.push_back(column.name);
    require_column_names(names_, name_);
    rows_ = columns_->front().rows();
    for (const LogColumn& column : *columns_) {
      require(column.rows() == rows_, "'{}': column {} has {} rows, column {} has {}", name_,
              shown(column.name), column.rows(), shown(names_[0]), rows_);
    }
  }

  const std::vector<std::string>& columns() const override { return names_; }
  void use(const std::vector<std::size_t>& /*columns*/) override { rewind(); }
  void rewind() override { row_ = -1; }
  bool next() override { return ++row_ < rows_; }
  Cell cell(std::size_t column) const override {
    const LogColumn& from = (*columns_)[column];
    if (!from.texts.empty()) return parse_number(from.texts[static_cast<std::size_t>(row_)]);
    const double value = from.numbers[row_];
    if (std::isnan(value)) return {Cell::Kind::empty, value};
    return {std::isfinite(value) ? Cell::Kind::number : Cell::Kind::not_finite, value};
  }
  std::string_view text(std::size_t column) const override {
    const LogColumn& from = (*columns_)[column];
    if (!from.texts.empty()) return from.texts[static_cast<std::size_t>(row_)];
    const double value = from.numbers[row_];
    text_ = std::isnan(value) ? "" : fmt::format("{}", value);
    return text_;
  }
  std::string row_name() const override { return fmt::format("'{}', row {}", name_, row_ + 1); }

 private:
  std::shared_ptr<const std::vector<LogColumn>> columns_;
  std::string name_;
  std::vector<std::string> names_;
  Index rows_ = 0;
  Index row_ = -1;
  mutable std::string text_;
};

}  // namespace

std::unique_ptr<Table> open_columns(std::shared_ptr<const std::vector<LogColumn>> columns,
                                    const std::string& name) {
  return std::make_unique<ColumnsTable>(std::move(columns), name);
}

}  // namespace waggle
