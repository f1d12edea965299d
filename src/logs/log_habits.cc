#include "logs/log_habits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"

namespace waggle {

namespace {

constexpr std::size_t kMostRows = 10'000;
constexpr std::size_t kMostNumbers = 1'000'000;  // of these rows
constexpr Eigen::Index kFewestRows = 20;         // by which anything is said
constexpr double kMarked = 0.03;                 // a share of what was not explained
constexpr double kClear = 50.0;                  // that share in rows: more than chance explains
constexpr double kMore = 3.0;                    // times the share of the row before

constexpr std::array<std::string_view, 8> kClockNames = {"time",     "t",  "timestamp", "date",
                                                         "datetime", "ts", "step",      "index"};
constexpr std::array<std::string_view, 2> kEndNames = {"done", "dones"};

/// One number more, 0 and −0 being the same.
void mix(std::uint64_t& hash, double value) {
  hash ^= Eigen::numext::bit_cast<std::uint64_t>(value + 0.0);
  hash *= 0x9E3779B97F4A7C15u;
  hash ^= hash >> 29;
}

template <std::size_t N>
bool is_one_of(std::string name, const std::array<std::string_view, N>& names) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

LogHabits::LogHabits(const LogNames& names)
    : names_(names),
      columns_(names.observations.size()),
      actions_(names.actions.size()),
      most_kept_(std::min(kMostRows, kMostNumbers / (1 + columns_.size() + actions_.size()))) {}

void LogHabits::add(const SurveyedRow& row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    const double value = row.observations[static_cast<Eigen::Index>(i)];
    if (std::isnan(value)) column.numbers = false;
    if (rows_ == 0) column.first = value;
    column.varies = column.varies || value != column.first;
    // Where an episode begins, so may the clock.
    column.grows = column.grows && (row.begins || value > column.last);
    column.last = value;
    mix(column.all, value);
    if (row.acts) mix(column.acting, value);
  }
  for (std::size_t i = 0; i < actions_.size() && row.acts; ++i) {
    mix(actions_[i], row.actions[static_cast<Eigen::Index>(i)]);
  }
  if (!row.begins) follow(row);
  last_ = row;
  if (kept_.size() < most_kept_) kept_.push_back(row);
  ++rows_;
}

void LogHabits::follow(const SurveyedRow& row) {
  mix(rewards_, row.reward);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    mix(columns_[i].followed, last_.observations[static_cast<Eigen::Index>(i)]);
  }
}

std::string LogHabits::twin(std::size_t column) const {
  const Column& it = columns_[column];
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (it.acting == actions_[i]) {
      return fmt::format("is the action {} of the same row: it is not known when that is chosen",
                         shown(names_.actions[i]));
    }
  }
  if (it.followed == rewards_) {
    return "is the reward of the next row: it is not known when the action is chosen";
  }
  for (std::size_t i = 0; i < column; ++i) {
    if (columns_[i].numbers && it.all == columns_[i].all) {
      return fmt::format("is the same as {} in every row", shown(names_.observations[i]));
    }
  }
  return "";
}

std::vector<std::string> LogHabits::notes() const {
  std::vector<std::string> found;
  if (rows_ < kFewestRows) return found;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const std::string& name = names_.observations[i];
    const auto say = [&](std::string_view what) {
      found.push_back(
          fmt::format("the column {} {}; to leave it out: --ignore", shown(name), what));
    };
    if (!column.numbers) continue;
    const std::string same = twin(i);
    if (!column.varies) {
      say(fmt::format("is {} in every row", column.first));
    } else if (!same.empty()) {
      say(same);
    } else if (is_one_of(name, kClockNames) && column.grows) {
      found.push_back(fmt::format(
          "the column {} is observed, but looks like a clock: give it as --time, or --ignore it",
          shown(name)));
    } else if (is_one_of(name, kEndNames)) {
      found.push_back(fmt::format(
          "the column {} is observed; if it ends episodes, give it as --terminated or --truncated",
          shown(name)));
    }
  }
  const ActionEffect effect = measure_action_effect(kept_);
  const bool clear = effect.same_row * static_cast<double>(kept_.size()) >= kClear;
  if (clear && effect.same_row >= kMarked && effect.same_row > kMore * effect.row_before) {
    found.push_back(fmt::format(
        "the reward seems to be that of the action in its own row, which explains {:.0f} % of what "
        "is not explained otherwise (the one before {:.0f} %): if so, give --reward-next",
        100.0 * effect.same_row, 100.0 * effect.row_before));
  }
  return found;
}

}  // namespace waggle
