#include "figures.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/detail/atomic_file.h>
#include <waggle/version.h>

namespace waggle::app {

using nlohmann::ordered_json;

Figure missing_figure(const std::string& name, const std::string& why) {
  return {.name = name, .columns = {}, .rows = {}, .missing = why};
}

double known_error(const RidgeCandidate& candidate) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  return candidate.error < kLargest ? candidate.error : std::numeric_limits<double>::quiet_NaN();
}

namespace {

std::string to_csv(const Figure& figure) {
  constexpr std::size_t kLong = 2000;  // rows from which on six digits are enough to draw
  const bool brief = figure.rows.size() > kLong;
  const auto cell = [&](double value) {
    if (!std::isfinite(value)) return std::string();
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return fmt::format(fmt::runtime(whole ? "{:.0f}" : brief ? "{:.6g}" : "{}"), value);
  };
  std::string text = fmt::format("{}\n", fmt::join(figure.columns, ","));
  for (const auto& values : figure.rows) {
    const char* separator = "";
    for (const double value : values) {
      text += separator;
      text += cell(value);
      separator = ",";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

ordered_json start_json(const std::string& kind, const std::string& command) {
  return {{"version", WAGGLE_VERSION}, {"kind", kind}, {"command", command}};
}

std::string to_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json write_figures(const std::filesystem::path& directory, const std::string& folder,
                           const std::vector<Figure>& figures) {
  ordered_json list = ordered_json::array();
  for (const Figure& figure : figures) {
    ordered_json entry = {{"name", figure.name}};
    if (figure.missing.empty()) {
      require_writable_directory(directory / folder);
      const std::string file =
          (std::filesystem::path(folder) / (figure.name + ".csv")).generic_string();
      write_file(directory / file, to_csv(figure));
      entry["file"] = file;
      entry["rows"] = figure.rows.size();
    } else {
      entry["missing"] = figure.missing;
    }
    if (!figure.learner.empty()) entry["learner"] = figure.learner;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace waggle::app
