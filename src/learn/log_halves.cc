#include "learn/log_halves.h"

#include <fmt/format.h>

namespace waggle {

using Eigen::Index;

namespace {

constexpr Index kFewestHalvedRows = 600;
constexpr Index kFewestEpisodes = 20;

/// The middle, or the end of an episode within a tenth of the rows from it.
Index middle_of(const Trajectory& rows) {
  const Index middle = rows.steps() / 2;
  for (Index i = 0; i < rows.steps() / 10; ++i) {
    if (rows.end(middle + i - 1) != EpisodeEnd::none) return middle + i;
    if (rows.end(middle - i - 1) != EpisodeEnd::none) return middle - i;
  }
  return middle;
}

}  // namespace

std::string too_few_for_halves(const Trajectory& rows) {
  const Index episodes = rows.episodes();
  bool terminates = false;
  for (Index k = 0; k < rows.steps(); ++k) {
    terminates = terminates || rows.end(k) == EpisodeEnd::terminated;
  }
  if (terminates && (rows.steps() < kFewestHalvedRows || episodes < kFewestEpisodes)) {
    return fmt::format(
        "{} rows of {} episodes are too few to try settings on: at least {} and {} are needed",
        rows.steps(), episodes, kFewestHalvedRows, kFewestEpisodes);
  }
  if (rows.steps() < kFewestHalvedRows) {
    return fmt::format("{} rows are too few to try settings on: at least {} are needed",
                       rows.steps(), kFewestHalvedRows);
  }
  return "";
}

std::array<Trajectory, 2> halves_of(const Trajectory& rows) {
  const Trajectory none(rows.action_size(), rows.observation_size());
  std::array<Trajectory, 2> halves = {none, none};
  if (rows.episodes() < kFewestEpisodes) {
    const Index middle = middle_of(rows);
    halves[0].append(rows, 0, middle);
    halves[1].append(rows, middle, rows.steps() - middle);
    return halves;
  }
  std::size_t half = 0;
  for (Index begin = 0; begin < rows.steps(); half = 1 - half) {
    Index end = begin;
    while (end + 1 < rows.steps() && rows.end(end) == EpisodeEnd::none) ++end;
    Trajectory& part = halves[half];
    part.append(rows, begin, end + 1 - begin);
    if (part.end(part.steps() - 1) == EpisodeEnd::none) part.end_episode(EpisodeEnd::truncated);
    begin = end + 1;
  }
  return halves;
}

}  // namespace waggle
