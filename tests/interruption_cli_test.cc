/// A signal ends every long command soon, and what there is by then is kept.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "product_fixture.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

constexpr double kWorks = 1.0;  // seconds before the signal
constexpr double kEnds = 2.5;   // and until the end: the command's patience, on a busy machine

class InterruptionCli : public ProductCli {
 protected:
  /// Rows of rewards, observations and actions, small enough for anything.
  std::string rows(int count = 60) const {
    std::string text = "o,r,a\n";
    unsigned state = 7;
    const auto number = [&] {
      state = state * 1103515245u + 12345u;
      return std::to_string((state >> 16) % 1000 / 500.0 - 1.0);
    };
    for (int k = 0; k < count; ++k) text += number() + "," + number() + "," + number() + "\n";
    return write("rows.csv", text);
  }
  /// A pipe that nobody reads.
  std::string full_pipe() {
    mkfifo(path("pipe").c_str(), 0600);
    pipe_ = open(path("pipe").c_str(), O_RDWR);
    return path("pipe");
  }
  ~InterruptionCli() override {
    if (pipe_ >= 0) close(pipe_);
  }
  /// Expects that the command is at work when the signal comes, and ends soon, saying `said` last.
  void expect_end(const std::string& arguments, const char* signal, const std::string& said,
                  const std::string& out = "/dev/null") const {
    const auto start = std::chrono::steady_clock::now();
    const std::string timed = std::string("timeout --foreground --preserve-status -k 20 -s ") +
                              signal + " " + std::to_string(kWorks) + " " WAGGLE_COMMAND " " +
                              arguments + " >" + out + " 2>" + path("err");
    const int status = std::system(timed.c_str());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(WEXITSTATUS(status), 130) << arguments;
    EXPECT_GE(taken.count(), kWorks) << arguments;
    EXPECT_LT(taken.count(), kWorks + kEnds) << arguments;
    EXPECT_TRUE(waggle::read(path("err")).ends_with(said)) << waggle::read(path("err"));
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
    }
  }
  static constexpr const char* kNothing = "waggle: interrupted; there was nothing to save yet\n";

 private:
  int pipe_ = -1;
};

TEST_F(InterruptionCli, DoesNotWaitForALongComputation) {
  const std::string file = rows();
  done("learn " + file + " --reward r --action a --washout 2 --units 5 -o " + path("small"));
  done("simulate bee-world --steps 300 --seed 1 -o " + path("bee.csv"));
  done("learn " + path("bee.csv") +
       " --reward nectar --action move --action-bounds=-0.1,0.1"
       " --washout 2 --units 5 --gamma 0.9999 -o " +
       path("patient"));
  const std::vector<std::pair<const char*, std::string>> commands = {
      // A factorisation.
      {"INT", "learn " + file + " --reward r --action a --washout 2 --units 3000 -o " + path("m")},
      {"TERM", "learn " + file + " --reward r --action a --washout 2 --units 3000 -o " + path("m")},
      {"INT", "forecast " + file + " --column r --washout 5 --units 3000 --out " + path("out")},
      // The optimum of somebody who looks far ahead.
      {"TERM",
       "evaluate " + path("patient") + " bee-world --steps 1 --episodes 1 --out " + path("out")},
  };
  for (const auto& [signal, command] : commands) {
    expect_end(command, signal, kNothing);
    EXPECT_FALSE(fs::exists(path("m"))) << command;
    EXPECT_FALSE(fs::exists(path("out/results.json"))) << command;
  }
}

TEST_F(InterruptionCli, KeepsTheModelWhoseFiguresAreNotDone) {
  const std::string learn =
      "learn " + rows(500) +
      " --reward r --action a --washout 2 --units 50 --preset direct"
      " --sweeps 0 --confidence=false --config " +
      write("search.toml", "greedy.maximiser = \"sampled\"\ngreedy.candidates = 1000000\n");
  expect_end(learn + " -o " + path("m") + " --results " + path("results"), "INT",
             "waggle: interrupted; what was learnt until then is saved in " + path("m") + "\n",
             path("table"));
  EXPECT_EQ(run("inspect " + path("m")).code, 0);
  EXPECT_NE(waggle::read(path("table")).find("next: waggle evaluate"), std::string::npos);
  const auto result = nlohmann::json::parse(waggle::read(path("results/results.json")));
  int missing = 0;
  for (const auto& figure : result["figures"]) missing += figure.contains("missing") ? 1 : 0;
  EXPECT_EQ(missing, 1) << result["figures"];
}

TEST_F(InterruptionCli, ReachesWhoWaitsForAReader) {
  const std::string pipe = full_pipe();
  const std::string model = bee();
  std::string lines;
  for (int k = 0; k < 5000; ++k) lines += "{\"nectar\": 1}\n";
  expect_end("act " + model + " <" + write("lines", lines), "TERM", "", pipe);
  expect_end("simulate bee-world --steps 10000000 -o " + pipe, "TERM", kNothing);
}

}  // namespace
}  // namespace waggle
