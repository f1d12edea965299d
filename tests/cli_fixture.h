#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace waggle {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Cli : public testing::Test {
 protected:
  Cli()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   ("waggle-cli-" + std::to_string(getpid()) + "-" +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~Cli() override { std::filesystem::remove_all(directory_); }

  /// A file in the test's own directory.
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  Outcome run(const std::string& arguments) const {
    const std::string command = std::string(WAGGLE_COMMAND) + " " + arguments + " >" +
                                (directory_ / "stdout").string() + " 2>" +
                                (directory_ / "stderr").string();
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, read(directory_ / "stdout"), read(directory_ / "stderr")};
  }

  /// Expects exit code 2, silence on stdout and one line on stderr with every part in it.
  template <typename... Parts>
  void expect_refused(const std::string& arguments, const Parts&... parts) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    const auto has = [&](const std::string& part) {
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " not in: " << outcome.err;
    };
    (has(parts), ...);
  }

  std::filesystem::path directory_;
};

}  // namespace waggle
