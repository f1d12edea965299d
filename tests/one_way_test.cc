/// Data walks through the rooms one way, and so do the includes: a room sees itself and those
/// before it. docs/design.md says what is in which.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Room {
  std::string name;
  /// Its part of include/waggle, without .h, but for those that tell it by a source of their name.
  Names headers;
};

const std::vector<Room> kRooms = {
    {"core", {"error", "names", "progress", "version", "detail/require", "detail/text"}},
    {"linalg", {}},
    {"files",
     {"detail/atomic_file", "detail/json", "detail/options_json", "detail/options_reader"}},
    {"data", {"environment"}},
    {"env", {}},
    {"reservoir", {}},
    {"prediction", {"predictive"}},
    {"value", {}},
    {"control", {"q_function"}},
    {"environments", {}},
    {"learn", {}},
    {"guard", {}},
    {"logs", {"detail/table"}},
    {"export", {"export"}},
    {"options", {"describe", "detail/describe_records", "detail/results_json"}},
    {"models", {}},
};
std::size_t rank_of(const std::string& room) {
  const auto found = std::find_if(kRooms.begin(), kRooms.end(),
                                  [&](const Room& other) { return other.name == room; });
  return static_cast<std::size_t>(found - kRooms.begin());
}

/// The one that lists it, or else the first that has a source of its name. Folders of the public
/// headers say what they are about, not which room they are of.
std::string room_of_header(const std::string& path) {
  const bool internal = path.starts_with("detail/");
  const std::string header = internal ? path : path.substr(path.rfind('/') + 1);
  for (const Room& room : kRooms) {
    if (std::count(room.headers.begin(), room.headers.end(), header) > 0) return room.name;
  }
  for (const Room& room : kRooms) {
    if (fs::exists(WAGGLE_SOURCE_DIR "/src/" + room.name + "/" + header + ".cc")) return room.name;
  }
  return "";
}

/// The rooms a file includes from: quoted "room/file.h", and <waggle/header.h>.
std::set<std::string> included_rooms(const fs::path& file,
                                     const std::set<std::string>& others = {}) {
  static const std::regex include(R"(^#include (?:"([a-z]+)/[a-z_/]+\.h"|<waggle/([a-z_/]+)\.h>))");
  std::set<std::string> rooms;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, include)) continue;
    const std::string room = found[1].matched ? found[1].str() : room_of_header(found[2]);
    EXPECT_TRUE(rank_of(room) < kRooms.size() || others.contains(room))
        << file << ": " << line << ": in none of the rooms";
    rooms.insert(room);
  }
  return rooms;
}

void expect_one_way(const fs::path& file, const std::string& room) {
  for (const std::string& seen : included_rooms(file)) {
    EXPECT_LE(rank_of(seen), rank_of(room)) << file << " of " << room << " includes from " << seen;
  }
}

TEST(OneWay, SourcesIncludeFromTheirOwnRoomAndThoseBefore) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(WAGGLE_SOURCE_DIR "/src")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.ends_with("_test.cc")) continue;
    expect_one_way(entry.path(), entry.path().parent_path().filename().string());
    ++files;
  }
  EXPECT_GT(files, 80u);
}

TEST(OneWay, HeadersIncludeFromTheirOwnRoomAndThoseBefore) {
  const fs::path include = WAGGLE_SOURCE_DIR "/include/waggle";
  for (const auto& entry : fs::recursive_directory_iterator(include)) {
    if (entry.path().extension() != ".h" || entry.path().filename() == "waggle.h") continue;
    const std::string header = fs::relative(entry.path(), include).replace_extension().string();
    EXPECT_NE(room_of_header(header), "") << header << " is in none of the rooms";
    expect_one_way(entry.path(), room_of_header(header));
  }
}

TEST(OneWay, WaggleHHasEveryHeader) {
  std::ifstream stream(WAGGLE_SOURCE_DIR "/include/waggle/waggle.h");
  const std::string all{std::istreambuf_iterator<char>(stream), {}};
  std::size_t included = 0;
  const fs::path include = WAGGLE_SOURCE_DIR "/include/waggle";
  for (const auto& entry : fs::recursive_directory_iterator(include)) {
    const std::string name = fs::relative(entry.path(), include).string();
    if (entry.path().extension() != ".h" || name == "waggle.h" || name.starts_with("detail/")) {
      continue;
    }
    EXPECT_NE(all.find("#include <waggle/" + name + ">\n"), std::string::npos) << name;
    ++included;
  }
  // version.h is made by the build.
  EXPECT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), '<')), included + 1);
}

TEST(OneWay, NothingOfTheLibraryNeedsThePaper) {
  for (const char* part : {"/src", "/include", "/python/src"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(std::string(WAGGLE_SOURCE_DIR) + part)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream stream(entry.path());
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      EXPECT_EQ(text.find("<waggle_paper/"), std::string::npos) << entry.path();
    }
  }
}

/// The exact references are independent judges: they see what environments are, and nothing else.
TEST(OneWay, ReferencesSeeNoLearner) {
  const std::set<std::string> seen_by_them = {"core", "data", "env", "environments", "reference"};
  for (const char* part : {"/paper/reference", "/paper/include/waggle_paper/reference"}) {
    for (const auto& entry : fs::directory_iterator(std::string(WAGGLE_SOURCE_DIR) + part)) {
      if (entry.path().filename().string().ends_with("_test.cc")) continue;
      for (const std::string& room : included_rooms(entry.path(), {"reference"})) {
        EXPECT_TRUE(seen_by_them.contains(room)) << entry.path() << " includes from " << room;
      }
    }
  }
}

TEST(OneWay, ProgramsIncludePublicHeadersAlone) {
  std::size_t files = 0;
  for (const char* folder : {"/apps", "/python/src", "/web"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(std::string(WAGGLE_SOURCE_DIR) + folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h") continue;
      ++files;
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) {
        for (const Room& room : kRooms) {
          EXPECT_FALSE(line.starts_with("#include \"" + room.name + "/"))
              << entry.path() << ": " << line;
        }
      }
    }
  }
  EXPECT_GT(files, 50u);
}

}  // namespace
