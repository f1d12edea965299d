#include "logs/log_habits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include <waggle/detail/text.h>

namespace waggle {

using Eigen::Index;

namespace {

constexpr std::size_t kMostRows = 10'000;
constexpr std::size_t kMostNumbers = 1'000'000;  // of these rows
constexpr Index kFewestRows = 20;                // by which anything is said
constexpr double kMarked = 0.03;                 // a share of what was not explained
constexpr double kClear = 50.0;                  // that share in rows: more than chance explains
constexpr double kMore = 3.0;                    // times the share of the row before
constexpr std::size_t kMostNotes = 10;           // about columns

constexpr std::array<std::string_view, 8> kClockNames = {"time",     "t",  "timestamp", "date",
                                                         "datetime", "ts", "step",      "index"};
constexpr std::array<std::string_view, 2> kEndNames = {"done", "dones"};

template <std::size_t N>
bool is_one_of(std::string name, const std::array<std::string_view, N>& names) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

LogHabits::LogHabits(const LogNames& names)
    : names_(names),
      varies_(names.observations.size(), false),
      numbers_(names.observations.size(), true),
      most_kept_(std::min(kMostRows,
                          kMostNumbers / (1 + names.observations.size() + names.actions.size()))) {}

void LogHabits::add(const SurveyedRow& row) {
  if (rows_++ == 0) first_ = row.observations;
  for (std::size_t i = 0; i < varies_.size(); ++i) {
    const double value = row.observations[static_cast<Index>(i)];
    if (std::isnan(value)) numbers_[i] = false;
    if (value != first_[static_cast<Index>(i)]) varies_[i] = true;
  }
  if (kept_.size() < most_kept_) kept_.push_back(row);
}

std::string LogHabits::oddity(Index column) const {
  const auto seen = [&](const SurveyedRow& row) { return row.observations[column]; };
  const auto in_all = [&](const auto& holds) {
    return std::all_of(kept_.begin(), kept_.end(), holds);
  };
  const auto after_another = [&](const auto& holds) {  // of its episode
    bool any = false;
    for (std::size_t k = 1; k < kept_.size(); ++k) {
      if (kept_[k].begins) continue;
      if (!holds(kept_[k - 1], kept_[k])) return false;
      any = true;
    }
    return any;
  };
  const double first = seen(kept_[0]);
  if (in_all([&](const auto& row) { return seen(row) == first; })) return "";  // varies later
  for (Index a = 0; a < std::ssize(names_.actions); ++a) {
    if (in_all([&](const auto& row) { return !row.acts || seen(row) == row.actions[a]; })) {
      return fmt::format(
          "is the action {} of the same row: it is not known when that is chosen; to leave it out: "
          "--ignore",
          shown(names_.actions[static_cast<std::size_t>(a)]));
    }
  }
  if (after_another([&](const auto& row, const auto& next) { return seen(row) == next.reward; })) {
    return "is the reward of the next row: it is not known when the action is chosen; to leave it "
           "out: --ignore";
  }
  for (Index i = 0; i < column; ++i) {
    if (in_all([&](const auto& row) { return seen(row) == row.observations[i]; })) {
      return fmt::format("is the same as {}; to leave it out: --ignore",
                         shown(names_.observations[static_cast<std::size_t>(i)]));
    }
  }
  const std::string& name = names_.observations[static_cast<std::size_t>(column)];
  const auto grows = [&](const auto& row, const auto& next) { return seen(next) > seen(row); };
  if (is_one_of(name, kClockNames) && after_another(grows)) {
    return "is observed, but looks like a clock: give it as --time, or --ignore it";
  }
  if (is_one_of(name, kEndNames)) {
    return "is observed; if it ends episodes, give it as --terminated or --truncated";
  }
  return "";
}

void LogHabits::note_constants(std::vector<std::string>& found) const {
  std::vector<std::string> constant;
  double value = 0.0;
  for (std::size_t i = 0; i < varies_.size(); ++i) {
    if (!numbers_[i] || varies_[i]) continue;
    constant.push_back(names_.observations[i]);
    value = first_[static_cast<Index>(i)];
  }
  if (constant.size() == 1) {
    found.push_back(fmt::format("the column {} is {} in every row; to leave it out: --ignore",
                                shown(constant[0]), value));
  } else if (!constant.empty()) {
    found.push_back(
        fmt::format("{} of {} columns observed never change: {}; to leave them out: --ignore",
                    constant.size(), varies_.size(), listed(constant)));
  }
}

std::vector<std::string> LogHabits::notes() const {
  std::vector<std::string> found;
  if (rows_ < kFewestRows) return found;
  note_constants(found);
  std::size_t odd = 0;
  for (std::size_t i = 0; i < varies_.size(); ++i) {
    const std::string what = numbers_[i] && varies_[i] ? oddity(static_cast<Index>(i)) : "";
    if (what.empty() || ++odd > kMostNotes) continue;
    found.push_back(fmt::format("the column {} {}", shown(names_.observations[i]), what));
  }
  if (odd > kMostNotes) {
    found.push_back(fmt::format("{} more columns are odd in one of these ways", odd - kMostNotes));
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
