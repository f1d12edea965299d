#pragma once

#include <filesystem>

#include <Eigen/Core>

namespace waggle::app {

/// Says how large a file of so many rows will be where that is worth knowing. Throws Error for one
/// that the disk cannot hold. `row` is the bytes of a row.
void announce_size(const std::filesystem::path& out, Eigen::Index steps, double row);

}  // namespace waggle::app
