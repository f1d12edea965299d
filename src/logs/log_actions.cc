#include "logs/log_actions.h"

#include <cmath>
#include <limits>
#include <utility>

#include <waggle/detail/text.h>

#include "core/check.h"
#include "logs/csv.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kChoiceLimit = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

VectorXd bounds_for(const std::vector<double>& given, std::size_t size, double otherwise,
                    const char* which) {
  require(given.size() <= 1 || given.size() == size,
          "{} action bounds: {}, but there {} {} actions", which, given.size(),
          size == 1 ? "is" : "are", size);
  VectorXd bounds = VectorXd::Constant(static_cast<Index>(size), otherwise);
  for (std::size_t i = 0; i < size && !given.empty(); ++i) {
    bounds[static_cast<Index>(i)] = given[given.size() == 1 ? 0 : i];
  }
  return bounds;
}

}  // namespace

LogActions::LogActions(const LogOptions& options, std::vector<std::string> names)
    : options_(options), names_(std::move(names)) {
  using Kind = LogOptions::ActionKind;
  const bool bounds = !options.lower.empty() || !options.upper.empty();
  const bool discrete = options.action_kind == Kind::discrete || !options.choices.empty();
  require(!discrete || names_.size() == 1,
          "discrete actions: there must be one action column, not {} ({})", names_.size(),
          listed(names_));
  may_be_discrete_ =
      discrete || (options.action_kind == Kind::automatic && !bounds && names_.size() == 1);
  lower_ = bounds_for(options.lower, names_.size(), -kInfinity, "lower");
  upper_ = bounds_for(options.upper, names_.size(), kInfinity, "upper");
  least_ = VectorXd::Constant(lower_.size(), kInfinity);
  greatest_ = -least_;
  if (!options.choices.empty()) set_choices(options.choices);
}

void LogActions::set_choices(std::vector<std::string> labels) {
  labels_ = std::move(labels);
  texts_.clear();
  numbers_.clear();
  numeric_ = true;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const Table::Cell cell = parse_number(labels_[i]);
    numeric_ = numeric_ && cell.kind == Table::Cell::Kind::number;
    texts_.emplace(labels_[i], static_cast<int>(i));
    numbers_.emplace(cell.value, static_cast<int>(i));
  }
  space_ = ActionSpace::discrete(static_cast<int>(labels_.size()));
}

int LogActions::choice(const Table& row, std::size_t column, const Table::Cell& cell) const {
  if (numeric_) {
    const auto found = numbers_.find(cell.value);
    return cell.kind == Table::Cell::Kind::number && found != numbers_.end() ? found->second : -1;
  }
  const auto found = texts_.find(row.text(column));
  return found == texts_.end() ? -1 : found->second;
}

void LogActions::survey(const Table& row, const std::vector<std::size_t>& columns, VectorXd& seen) {
  ++surveyed_;
  seen.resize(std::ssize(columns));
  if (!labels_.empty()) {
    read(row, columns, false, seen);
    return;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Table::Cell cell = row.cell(columns[i]);
    const bool text = cell.kind == Table::Cell::Kind::text;
    const auto k = static_cast<Index>(i);
    if (may_be_discrete_) seen[k] = survey_choice(row, columns[i], cell);
    if (text && may_be_discrete_) continue;
    const double value = bounded(row, columns[i], i);
    seen[k] = value;
    least_[k] = std::min(least_[k], value);
    greatest_[k] = std::max(greatest_[k], value);
  }
}

int LogActions::survey_choice(const Table& row, std::size_t column, const Table::Cell& cell) {
  using Kind = Table::Cell::Kind;
  if (cell.kind != Kind::text && cell.kind != Kind::number) row.refuse(column, cell.kind);
  const bool text = cell.kind == Kind::text;
  if (first_.empty()) {
    first_ = fmt::format("{}: {}", row.cell_name(column), shown(row.text(column)));
    text_ = text;
  } else if (text != text_) {
    throw Error(fmt::format(
        "{}: {} is {}, but the action before was {}: actions must be all numbers or all text ({})",
        row.cell_name(column), shown(row.text(column)), text ? "text" : "a number",
        text ? "a number" : "text", first_));
  }
  const bool forced = options_.action_kind == LogOptions::ActionKind::discrete;
  int which = 0;
  if (text) {
    const auto found = texts_.find(row.text(column));
    which = found == texts_.end() ? static_cast<int>(texts_.size()) : found->second;
    if (found == texts_.end()) texts_.emplace(row.text(column), which);
  } else if (forced || cell.value == std::floor(cell.value)) {
    // A map already over the limit needs no more: the answer is known.
    if (numbers_.size() <= kChoiceLimit) numbers_.emplace(cell.value, 0);
  } else {
    may_be_discrete_ = false;
  }
  const bool many = texts_.size() > kChoiceLimit || numbers_.size() > kChoiceLimit;
  if (many && (text || forced)) {
    throw Error(
        fmt::format("{}: more than {} different actions with this one: too many to choose from",
                    row.cell_name(column), kChoiceLimit));
  }
  // Not so few as choices would be. Text later on is then refused as text.
  if (many) may_be_discrete_ = false;
  return which;
}

double LogActions::bounded(const Table& row, std::size_t column, std::size_t i) const {
  const double value = row.number(column);
  const double lower = lower_[static_cast<Index>(i)], upper = upper_[static_cast<Index>(i)];
  if (value < lower || value > upper) {
    throw Error(fmt::format("{}: the action {} is outside its bounds [{}, {}]",
                            row.cell_name(column), value, lower, upper));
  }
  return value;
}

void LogActions::settle() {
  require(surveyed_ > 0, "no row of the log has an action that was taken: all are terminated");
  if (!labels_.empty()) return;
  if (may_be_discrete_) {
    std::vector<std::string> labels;
    for (const auto& [text, unused] : texts_) labels.push_back(text);
    for (const auto& [number, unused] : numbers_) labels.push_back(fmt::format("{}", number));
    require(
        labels.size() >= 2,
        "the action {} is {} in every row: there is nothing to choose from (name its choices or "
        "bounds if there are others)",
        shown(names_[0]), shown(labels[0]));
    set_choices(std::move(labels));
    return;
  }
  for (Index i = 0; i < least_.size(); ++i) {
    if (options_.lower.empty()) lower_[i] = least_[i];
    if (options_.upper.empty()) upper_[i] = greatest_[i];
    require(lower_[i] < upper_[i],
            "the action {} is {} in every row: give its bounds if it can be anything else",
            shown(names_[static_cast<std::size_t>(i)]), least_[i]);
  }
  space_ = ActionSpace::box(lower_, upper_);
}

void LogActions::read(const Table& row, const std::vector<std::size_t>& columns, bool terminated,
                      VectorXd& action) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    double& to = action[static_cast<Index>(i)];
    if (terminated || space_.is_discrete()) {
      const Table::Cell cell = row.cell(columns[i]);
      if (space_.is_discrete()) {
        const int found = choice(row, columns[i], cell);
        if (found < 0 && !terminated) {
          throw Error(fmt::format("{}: {}", row.cell_name(columns[i]),
                                  missing_name("action", row.text(columns[i]), labels_)));
        }
        to = std::max(found, 0);
      } else {
        to = cell.kind == Table::Cell::Kind::number && is_usable(cell.value) ? cell.value : 0.0;
      }
    } else {
      to = bounded(row, columns[i], i);
    }
  }
}

}  // namespace waggle
