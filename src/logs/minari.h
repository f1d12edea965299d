#pragma once

#include <filesystem>
#include <memory>

#include "logs/table.h"

namespace waggle {

/// Opens a Minari dataset (HDF5) as a table with the columns reward, action, observation, episode,
/// terminated and truncated; vectors as action_0, action_1, …; dictionaries and tuples of
/// observations or actions, which are groups in the file, by their path: observation/goal_0, ….
///
/// A group episode_N of T steps holds the observations o_0 … o_T, actions a_0 … a_{T−1} and
/// rewards, the one at t being what followed a_t, which is r_{t+1} here. As rows (r_k, a_k, o_k) of
/// what is seen and the action then chosen:
///
///     k = 0            r_0 = 0: nothing has been earned yet
///     0 < k < T        r_k = rewards[k−1]
///     k = T            r_T = rewards[T−1], only if the episode terminated: this row is its end and
///                      its action, which was never taken, an empty cell
///
/// An episode that was truncated, or just stops, has T rows, the last one truncated. Its o_T and
/// last reward belong to a row whose action is not known: to learn from that row one would have to
/// invent the action. The last known action is not lost: the value after it is bootstrapped from
/// the state it led to.
///
/// Throws Error, naming the episode and the row, for files that are not so, numbers that are not
/// finite, data that is claimed but absent. The file is read in a process of its own: HDF5 is not
/// safe for threads, nor from damaged files. Without HDF5 (WAGGLE_WITH_HDF5 off) every file is
/// refused, saying so.
std::unique_ptr<Table> open_minari(const std::filesystem::path& path);

}  // namespace waggle
