#include "announced_size.h"

#include <cstdio>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "core/check.h"

namespace waggle::app {

void announce_size(const std::filesystem::path& out, Eigen::Index steps, double row) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(out, none);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return;  // a pipe
  const double bytes = static_cast<double>(steps) * row;
  const auto size = [](double count) {
    return count < 1e9 ? fmt::format("{:.1f} MB", count / 1e6)
                       : fmt::format("{:.1f} GB", count / 1e9);
  };
  // Where a link leads is where the room is needed.
  const std::filesystem::path file =
      std::filesystem::weakly_canonical(std::filesystem::absolute(out, none), none);
  const std::filesystem::space_info space = std::filesystem::space(file.parent_path(), none);
  require(none || bytes <= static_cast<double>(space.available),
          "--steps {}: '{}' would have about {}, and there is room for {}", steps, out.string(),
          size(bytes), size(static_cast<double>(space.available)));
  if (bytes > 1e9 || isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "'{}' will have about {}\n", out.string(), size(bytes));
  }
}

}  // namespace waggle::app
