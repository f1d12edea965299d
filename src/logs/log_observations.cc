#include "logs/log_observations.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <waggle/detail/text.h>

#include "core/check.h"
#include "logs/csv.h"
#include "logs/log_clock.h"
#include "logs/log_columns.h"

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

/// What to do about a column of texts such as this one that are no labels.
std::string leave_out(const std::string& text) {
  return parse_time(text) ? "if it is the time, give it as --time, else --ignore it"
                          : "to leave it out: --ignore";
}

}  // namespace

LogObservations::LogObservations(const LogOptions& options, const LogNames& names)
    : named_(options.observations.has_value()),
      hold_(options.missing == LogOptions::Missing::hold),
      known_(std::find(names.may_miss.begin(), names.may_miss.end(), true) !=
             names.may_miss.end()) {
  for (std::size_t i = 0; i < names.observations.size(); ++i) {
    Column column{.name = names.observations[i], .labels = names.labels[i]};
    const auto& any = options.labelled;
    column.given = !column.labels.empty();
    column.any = column.given || std::find(any.begin(), any.end(), column.name) != any.end();
    if (column.any) column.kind = Column::Kind::labels;
    column.may_miss = names.may_miss[i];
    columns_.push_back(std::move(column));
  }
  for (const std::string& name : options.labelled) {
    const auto& known = names.observations;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("labelled: " + missing_name("observation", name, known));
    }
  }
}

bool LogObservations::is_missing(const Table& row, std::size_t at, const Table::Cell& cell,
                                 const Column& column) const {
  if (cell.kind == CellKind::number || !is_nothing(cell, row.text(at))) return false;
  const bool text = cell.kind == CellKind::text;
  if (!hold_) {
    // A word for nothing is a label like others, where there are labels.
    if (text && column.kind != Column::Kind::numbers) return false;
    const std::string what = cell.kind == CellKind::empty ? "the cell is empty"
                             : text                       ? shown(row.text(at)) + " is not a number"
                                                          : shown(row.text(at)) + " is not finite";
    throw Error(fmt::format("{}: {}; to go on with the last value: --missing hold",
                            row.cell_name(at), what));
  }
  if (column.kind == Column::Kind::labels) return true;
  require(!known_ || column.may_miss,
          "{}: nothing is there, but there is no channel {} to say so: the column was always there "
          "when the channels were named",
          row.cell_name(at), shown(column.name + "=" + kMissing));
  return true;
}

void LogObservations::survey(const Table& row, const std::vector<std::size_t>& columns,
                             VectorXd& seen) {
  ++surveyed_;
  seen.resize(std::ssize(columns));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns_[i];
    const std::size_t at = columns[i];
    const Table::Cell cell = row.cell(at);
    double& number = seen[static_cast<Index>(i)];
    number = std::numeric_limits<double>::quiet_NaN();
    const bool missing = is_missing(row, at, cell, column);
    if (missing && column.kind != Column::Kind::labels) {
      column.may_miss = true;
      continue;
    }
    if (column.kind == Column::Kind::unknown) {
      column.kind = cell.kind == CellKind::text ? Column::Kind::labels : Column::Kind::numbers;
    }
    if (column.kind == Column::Kind::labels) {
      survey_label(row, at, column);
      continue;
    }
    if (cell.kind == CellKind::text && !named_) {
      throw Error(fmt::format("{}: {} is not a number; to leave this column out: --ignore",
                              row.cell_name(at), shown(row.text(at))));
    }
    number = row.number(at);
    column.sum += number;
    ++column.count;
  }
}

void LogObservations::survey_label(const Table& row, std::size_t at, Column& column) {
  std::string found = label(row, at, column);
  if (column.given) {
    place(row, at, column, found);
    return;
  }
  auto& labels = column.labels;
  if (std::find(labels.begin(), labels.end(), found) != labels.end()) return;
  labels.push_back(std::move(found));
  if (labels.size() <= kLabelLimit) return;
  throw Error(fmt::format("{}: more than {} different labels with this one; {}", row.cell_name(at),
                          kLabelLimit, leave_out(labels[0])));
}

void LogObservations::settle() {
  for (Column& column : columns_) {
    require(column.kind != Column::Kind::unknown,
            "the column {} is missing in every row; to leave it out: --ignore", shown(column.name));
    if (column.kind == Column::Kind::numbers) {
      names_.push_back(column.name);
      if (column.may_miss) names_.push_back(column.name + "=" + kMissing);
      continue;
    }
    if (!column.given) {
      require(column.any || std::ssize(column.labels) < surveyed_,
              "the column {} has text ({}), another in every row: labels would come again; {}",
              shown(column.name), shown(column.labels[0]), leave_out(column.labels[0]));
      // What came before the first text was missing.
      if (column.may_miss &&
          std::find(column.labels.begin(), column.labels.end(), kMissing) == column.labels.end()) {
        column.labels.push_back(kMissing);
      }
      std::sort(column.labels.begin(), column.labels.end(), before);
    }
    for (const std::string& label : column.labels) names_.push_back(column.name + "=" + label);
  }
}

void LogObservations::read(const Table& row, const std::vector<std::size_t>& columns, bool begins,
                           VectorXd& observation) {
  Index channel = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns_[i];
    const std::size_t at = columns[i];
    if (column.kind != Column::Kind::labels) {
      const bool missing = column.may_miss && is_missing(row, at, row.cell(at), column);
      if (!missing) {
        column.held = row.number(at);
      } else if (begins) {
        column.held = column.count > 0 ? column.mean() : 0.0;
      }
      observation[channel++] = column.held;
      if (column.may_miss) observation[channel++] = missing ? 1.0 : 0.0;
      continue;
    }
    const auto count = static_cast<Index>(column.labels.size());
    observation.segment(channel, count).setZero();
    const std::size_t found = place(row, at, column, label(row, at, column));
    observation[channel + static_cast<Index>(found)] = 1.0;
    channel += count;
  }
}

/// What stands in a cell of labels; a number in its shortest form, however it is written.
std::string LogObservations::label(const Table& row, std::size_t column, const Column& from) const {
  const Table::Cell cell = row.cell(column);
  const bool number = cell.kind == CellKind::number;
  if (hold_ && !number && is_nothing(cell, row.text(column))) return kMissing;
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
