#include "logs/log_observations.h"

#include <algorithm>
#include <tuple>

#include "core/check.h"
#include "core/text.h"
#include "logs/csv.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

using CellKind = Table::Cell::Kind;

constexpr std::size_t kLabelLimit = 64;

/// Numbers by what they are, then texts.
bool before(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& label) {
    const Table::Cell cell = parse_number(label);
    const bool number = cell.kind == CellKind::number;
    return std::tuple(!number, number ? cell.value : 0.0, label);
  };
  return key(a) < key(b);
}

}  // namespace

LogObservations::LogObservations(const LogOptions& options, const LogNames& names)
    : named_(options.observations.has_value()) {
  for (std::size_t i = 0; i < names.observations.size(); ++i) {
    Column column{.name = names.observations[i], .labels = names.labels[i]};
    const auto& any = options.labelled;
    column.given = !column.labels.empty();
    column.any = column.given || std::find(any.begin(), any.end(), column.name) != any.end();
    if (column.any) column.kind = Column::Kind::labels;
    columns_.push_back(std::move(column));
  }
  for (const std::string& name : options.labelled) {
    const auto& known = names.observations;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("labelled: " + missing_name("observation", name, known));
    }
  }
}

void LogObservations::survey(const Table& row, const std::vector<std::size_t>& columns) {
  ++surveyed_;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns_[i];
    const std::size_t at = columns[i];
    const CellKind kind = row.cell(at).kind;
    if (column.kind == Column::Kind::unknown) {
      column.kind = kind == CellKind::text ? Column::Kind::labels : Column::Kind::numbers;
    }
    if (column.kind == Column::Kind::numbers) {
      if (kind == CellKind::text && !named_) {
        throw Error(fmt::format(
            "{}: {} is not a number; to leave this column out, name the others as observations",
            row.cell_name(at), shown(row.text(at))));
      }
      row.number(at);
      continue;
    }
    std::string found = label(row, at, column);
    if (column.given) {
      place(row, at, column, found);
    } else if (std::find(column.labels.begin(), column.labels.end(), found) ==
               column.labels.end()) {
      column.labels.push_back(std::move(found));
      if (column.labels.size() > kLabelLimit) {
        throw Error(
            fmt::format("{}: more than {} different labels with this one; to leave this column "
                        "out, name the others as observations",
                        row.cell_name(at), kLabelLimit));
      }
    }
  }
}

void LogObservations::settle() {
  for (Column& column : columns_) {
    if (column.kind != Column::Kind::labels) {
      names_.push_back(column.name);
      continue;
    }
    if (!column.given) {
      require(column.any || std::ssize(column.labels) < surveyed_,
              "the column {} has text ({}), another in every row: labels would come again; to "
              "leave it out, name the others as observations",
              shown(column.name), shown(column.labels[0]));
      std::sort(column.labels.begin(), column.labels.end(), before);
    }
    for (const std::string& label : column.labels) names_.push_back(column.name + "=" + label);
  }
}

void LogObservations::read(const Table& row, const std::vector<std::size_t>& columns,
                           VectorXd& observation) const {
  Index channel = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns_[i];
    if (column.kind != Column::Kind::labels) {
      observation[channel++] = row.number(columns[i]);
      continue;
    }
    const auto count = static_cast<Index>(column.labels.size());
    observation.segment(channel, count).setZero();
    const std::size_t found = place(row, columns[i], column, label(row, columns[i], column));
    observation[channel + static_cast<Index>(found)] = 1.0;
    channel += count;
  }
}

/// What stands in a cell of labels; a number in its shortest form, however it is written.
std::string LogObservations::label(const Table& row, std::size_t column, const Column& from) const {
  const Table::Cell cell = row.cell(column);
  if (cell.kind == CellKind::text) return std::string(row.text(column));
  if (cell.kind != CellKind::number) row.refuse(column, cell.kind);
  if (!from.any) {
    throw Error(fmt::format(
        "{}: {} is a number, but the rows before have labels such as {}: observations must be all "
        "numbers or all text, unless the column is said to be labelled",
        row.cell_name(column), shown(row.text(column)), shown(from.labels[0])));
  }
  return fmt::format("{}", cell.value);
}

std::size_t LogObservations::place(const Table& row, std::size_t column, const Column& from,
                                   const std::string& label) {
  const auto found = std::find(from.labels.begin(), from.labels.end(), label);
  if (found == from.labels.end()) {
    throw Error(
        fmt::format("{}: {}", row.cell_name(column), missing_name("label", label, from.labels)));
  }
  return static_cast<std::size_t>(found - from.labels.begin());
}

}  // namespace waggle
