#include "logs/log_clock.h"

#include <algorithm>
#include <sstream>

// g++ 12 does not see that the header uses no number that it has not read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <date/date.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <waggle/detail/text.h>

#include "core/check.h"
#include "logs/csv.h"

namespace waggle {

namespace {

constexpr std::size_t kMostSteps = 8192;
constexpr double kGap = 1.5;  // usual steps

/// Takes the digits behind the seconds' point or comma out of a time; they are a fraction of one.
double take_fraction(std::string& text) {
  const std::size_t mark = text.find_first_of(".,");
  if (mark == std::string::npos) return 0.0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", mark + 1), text.size());
  text[mark] = '.';
  const double fraction = parse_number("0" + text.substr(mark, end - mark)).value;
  if (end > mark + 1) text.erase(mark, end - mark);  // else the mark stays, and is refused
  return fraction;
}

}  // namespace

std::optional<double> parse_time(std::string_view given) {
  if (given.size() < 10 || given[4] != '-' || given[7] != '-') return std::nullopt;
  std::string text(given);
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  const double fraction = take_fraction(text);
  const std::string_view time =
      std::string_view(text).substr(std::min<std::size_t>(text.size(), 11));
  const std::size_t zone = std::min(time.find_first_of("Z+-"), time.size());
  const auto colons = [](std::string_view part) {
    return std::count(part.begin(), part.end(), ':');
  };
  const bool seconds = colons(time.substr(0, zone)) == 2;
  if (text.size() < given.size() && !seconds) return std::nullopt;  // a fraction of what?
  std::string format = text.size() <= 10 ? "%F" : seconds ? "%FT%T" : "%FT%R";
  if (zone < time.size())
    format += time[zone] == 'Z' ? " Z" : colons(time.substr(zone)) > 0 ? " %Ez" : " %z";
  std::istringstream stream(text);
  date::sys_seconds moment;
  stream >> date::parse(format, moment);
  if (stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return static_cast<double>(moment.time_since_epoch().count()) + fraction;
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
