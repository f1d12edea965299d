#include "logs/log_clock.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "core/check.h"
#include "core/text.h"

namespace waggle {

namespace {

constexpr std::size_t kMostSteps = 8192;
constexpr double kGap = 1.5;  // usual steps

/// Takes texts apart from the front.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool accept(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok_ = accept(c) && ok_; }

  /// A number of so many digits, at most `largest`.
  int digits(std::size_t count, int largest) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool digit = i < rest_.size() && rest_[i] >= '0' && rest_[i] <= '9';
      ok_ = ok_ && digit;
      if (digit) value = 10 * value + (rest_[i] - '0');
    }
    rest_.remove_prefix(std::min(count, rest_.size()));
    ok_ = ok_ && value <= largest;
    return value;
  }

  /// What follows a point.
  double fraction() {
    double value = 0.0, unit = 0.1;
    ok_ = ok_ && !rest_.empty();
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value += unit * (rest_.front() - '0');
      unit *= 0.1;
      rest_.remove_prefix(1);
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Z, +01, +0100 or +01:00, in seconds.
int read_offset(TimeReader& reader) {
  if (reader.accept('Z') || reader.done()) return 0;
  const bool west = reader.next_is('-');
  if (!reader.accept('-')) reader.expect('+');
  const int hours = reader.digits(2, 23);
  reader.accept(':');
  const int minutes = reader.done() ? 0 : reader.digits(2, 59);
  return (west ? -60 : 60) * (60 * hours + minutes);
}

}  // namespace

std::optional<double> parse_time(std::string_view text) {
  TimeReader reader(text);
  const std::chrono::year year(reader.digits(4, 9999));
  reader.expect('-');
  const std::chrono::month month(static_cast<unsigned>(reader.digits(2, 12)));
  reader.expect('-');
  const std::chrono::day day(static_cast<unsigned>(reader.digits(2, 31)));
  double seconds = 0.0;
  if (!reader.done()) {
    if (!reader.accept('T')) reader.expect(' ');
    const int hours = reader.digits(2, 24);
    reader.expect(':');
    seconds = 3600.0 * hours + 60.0 * reader.digits(2, 59);
    if (reader.accept(':')) seconds += reader.digits(2, 60);  // a leap second
    if (reader.accept('.') || reader.accept(',')) seconds += reader.fraction();
    reader.accept(' ');
    seconds -= read_offset(reader);
  }
  const std::chrono::year_month_day date = year / month / day;
  if (!reader.ok() || !reader.done() || !date.ok()) return std::nullopt;
  const std::chrono::sys_days days = date;
  return 86400.0 * static_cast<double>(days.time_since_epoch().count()) + seconds;
}

double LogClock::read(const Table& row, std::size_t column) {
  const Table::Cell cell = row.cell(column);
  const bool number = cell.kind == Table::Cell::Kind::number && is_usable(cell.value);
  const std::optional<double> date =
      cell.kind == Table::Cell::Kind::text ? parse_time(row.text(column)) : std::nullopt;
  if (!number && !date) {
    throw Error(fmt::format("{}: {} is no time: must be a number or a date such as {}",
                            row.cell_name(column), shown(row.text(column)),
                            "2024-03-31T12:00:00Z"));
  }
  if (!numbers_) numbers_ = number;
  if (*numbers_ != number) {
    throw Error(fmt::format("{}: {} is {}, but the times before are {}", row.cell_name(column),
                            shown(row.text(column)), number ? "a number" : "a date",
                            number ? "dates" : "numbers"));
  }
  return number ? cell.value : *date;
}

std::optional<double> LogClock::advance(const Table& row, std::size_t column, bool begins) {
  const double now = read(row, column);
  std::optional<double> step;
  if (last_ && !begins) {
    step = now - *last_;
    if (!(*step > 0.0)) {
      throw Error(fmt::format("{}: the time {} {}: times must grow from row to row of an episode",
                              row.cell_name(column), shown(row.text(column)),
                              *step == 0.0
                                  ? "is that of the row before, too"
                                  : "is before that of the row before, " + shown(last_text_)));
    }
  }
  last_ = now;
  last_text_ = row.text(column);
  return step;
}

void LogClock::survey(const Table& row, std::size_t column, bool begins) {
  const std::optional<double> step = advance(row, column, begins);
  if (!step || passed_++ % stride_ != 0) return;
  steps_.push_back(*step);
  if (steps_.size() < kMostSteps) return;
  for (std::size_t i = 0; 2 * i < steps_.size(); ++i) steps_[i] = steps_[2 * i];
  steps_.resize((steps_.size() + 1) / 2);
  stride_ *= 2;
}

void LogClock::settle() {
  if (steps_.empty()) return;
  const auto middle = steps_.begin() + std::ssize(steps_) / 2;
  std::nth_element(steps_.begin(), middle, steps_.end());
  usual_step_ = *middle;
}

bool LogClock::gap_before(const Table& row, std::size_t column, bool begins) {
  const std::optional<double> step = advance(row, column, begins);
  return step && *step > kGap * usual_step_;
}

}  // namespace waggle
