#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <waggle/fit/least_squares.h>

namespace waggle::app {

/// The data behind one figure: named columns of equal length.
struct Figure {
  std::string name;  ///< becomes name.csv
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  ///< what is not finite becomes an empty cell
  std::string learner = {};               ///< whose it is, if not the experiment's
  std::string missing = {};               ///< why it could not be made; then no file is written
};

/// A figure that could not be made.
Figure missing_figure(const std::string& name, const std::string& why);

/// The error of a λ, NaN where cross-validation could not say.
double known_error(const RidgeCandidate& candidate);

/// How every result begins: {"version": …, "kind": …, "command": …}. `command` repeats the run.
nlohmann::ordered_json start_json(const std::string& kind, const std::string& command);

/// A JSON document as it is printed and written. Numbers that are not finite are null, bytes that
/// are no UTF-8 (of a file's name) are replaced.
std::string to_text(const nlohmann::ordered_json& json);

/// Writes the figures as CSV into directory/folder (an empty one: the directory itself) and returns
/// how they are listed: [{"name": …, "file": relative to the directory}, …].
nlohmann::ordered_json write_figures(const std::filesystem::path& directory,
                                     const std::string& folder, const std::vector<Figure>& figures);

}  // namespace waggle::app
