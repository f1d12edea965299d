#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <waggle/detail/atomic_file.h>

#include "expect_error.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AtomicFile : public testing::Test {
 protected:
  // Of its own, since tests run side by side.
  AtomicFile()
      : directory_(fs::path(testing::TempDir()) /
                   ("waggle-atomic-file-" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
  }
  ~AtomicFile() override { fs::remove_all(directory_); }

  fs::path directory_;
};

TEST_F(AtomicFile, WritesReplacesAndLeavesNothingElse) {
  require_writable_directory(directory_ / "deep");
  const fs::path path = directory_ / "deep" / "file";
  const std::string large(3'000'000, 'x');
  write_file(path, "old");
  write_file(path, large);
  EXPECT_EQ(read(path), large);
  write_file(path, "");
  EXPECT_EQ(read(path), "");
  // A temporary file is for its owner alone; what it becomes is for others to read too.
  EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(0644));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "deep"), {}), 1);
}

TEST_F(AtomicFile, ALinkIsFollowedAndAPipeIsWrittenTo) {
  require_writable_directory(directory_);
  write_file(directory_ / "target", "old");
  fs::create_symlink("target", directory_ / "link");
  write_file(directory_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(read(directory_ / "target"), "new");

  const fs::path pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file(pipe, "through");
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(AtomicFile, WhatADescriptorHasOpenIsWrittenToAndNotReplaced) {
  fs::create_directories(directory_);
  const fs::path path = directory_ / "all";
  write_file(path, "precious\n");
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(descriptor, 0);
  write_file(fs::path("/dev/fd") / std::to_string(descriptor), "more\n");
  write_file(fs::path("/proc/self/fd") / std::to_string(descriptor), "and more\n");
  close(descriptor);
  EXPECT_EQ(read(path), "precious\nmore\nand more\n");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  write_file(fs::path("/dev/fd") / std::to_string(ends[1]), "piped");
  char text[5];
  EXPECT_EQ(::read(ends[0], text, sizeof text), 5);
  EXPECT_EQ(std::string(text, 5), "piped");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(AtomicFile, ALinkThatLeadsToItselfIsNamed) {
  require_writable_directory(directory_);
  fs::create_symlink("loop", directory_ / "loop");
  try {
    write_file(directory_ / "loop", "new");
    ADD_FAILURE() << "no error was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("loop': Too many levels"), std::string::npos)
        << error.what();
  }
}

TEST_F(AtomicFile, WhatIsNotCommittedCanBeDiscarded) {
  require_writable_directory(directory_);
  const auto leave_in_the_middle = [&] {
    write_file(directory_ / "whole", "kept");
    waggle::AtomicFile begun(directory_ / "begun");
    begun.write("half");
    discard_temporary_files();
    _exit(7);
  };
  EXPECT_EXIT(leave_in_the_middle(), testing::ExitedWithCode(7), "");
  EXPECT_EQ(read(directory_ / "whole"), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(AtomicFile, WhatKilledProgramsLeftGoesAfterADay) {
  require_writable_directory(directory_);
  const auto now = fs::file_time_type::clock::now();
  for (const char* name : {".waggle-oldold", ".waggle-newnew", ".waggle-notes.txt", "old"}) {
    std::ofstream(directory_ / name) << "half";
    const bool recent = std::string(name) == ".waggle-newnew";
    fs::last_write_time(directory_ / name, now - std::chrono::hours(recent ? 23 : 25));
  }
  fs::create_directory(directory_ / ".waggle-folder");
  write_file(directory_ / "next", "whole");
  EXPECT_FALSE(fs::exists(directory_ / ".waggle-oldold"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 5);
}

TEST_F(AtomicFile, AFailureLeavesTheOldFile) {
  require_writable_directory(directory_);
  const fs::path path = directory_ / "occupied";
  fs::create_directories(path / "by a directory");
  EXPECT_THROW(write_file(path, "new"), std::runtime_error);
  EXPECT_THROW(write_file(directory_ / "nowhere" / "file", "new"), std::runtime_error);
  EXPECT_TRUE(fs::is_directory(path));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(AtomicFile, AnUnwritableDirectoryIsNamed) {
  require_writable_directory(directory_);
  std::ofstream(directory_ / "file") << "mine";
  expect_error([&] { require_writable_directory(directory_ / "file"); }, "file", "cannot write");
}

}  // namespace
}  // namespace waggle
