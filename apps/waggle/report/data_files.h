#pragma once

#include <filesystem>

#include "document.h"

namespace waggle::app {

/// Adds the files that results list in `figures`, as results.json has it. One that cannot be read,
/// is not below `folder` or has lost rows has the reason in its place.
void add_files(ShownResults& results, const nlohmann::ordered_json& figures,
               const std::filesystem::path& folder);

/// The same for logs, of which running means of one column are kept: over a fiftieth of the rows.
void add_running_means(ShownResults& results, const nlohmann::ordered_json& figures,
                       const std::filesystem::path& folder, const std::string& column);

}  // namespace waggle::app
