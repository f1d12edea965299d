#include <filesystem>

#include <waggle/base/error.h>
#include <waggle/log.h>

#include "memory_file.h"

/// A CSV log through everything that is made of it. The format goes by the name, so that the file
/// in memory gets one through a link.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  const std::string link =
      std::filesystem::temp_directory_path() / ("waggle-fuzz-" + std::to_string(getpid()) + ".csv");
  unlink(link.c_str());
  if (symlink(file.path().c_str(), link.c_str()) != 0) return 0;
  // Once as it is, once with all that can be asked for; a log without the column t is soon refused.
  const waggle::LogOptions all{.reward_next = true,
                               .missing = waggle::LogOptions::Missing::hold,
                               .time = "t",
                               .needs = {.chunk_rows = 3}};
  for (const waggle::LogOptions& options : {waggle::LogOptions{.needs = {.chunk_rows = 3}}, all}) {
    try {
      waggle::Log log(link, options);
      log.for_each_chunk([](const waggle::Trajectory&) {});
    } catch (const waggle::Error&) {
    }
  }
  unlink(link.c_str());
  return 0;
}
