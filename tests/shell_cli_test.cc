/// The completions, in the shells themselves.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "cli_fixture.h"

namespace {

class Shell : public waggle::Cli {
 protected:
  static bool has(const char* shell) {
    return std::system(("command -v " + std::string(shell) + " >/dev/null").c_str()) == 0;
  }
  /// What a script says, with waggle on the path and nothing of the user's.
  std::string say(const std::string& shell, const std::string& script) const {
    std::ofstream(path("script")) << script;
    const std::filesystem::path bin = std::filesystem::path(WAGGLE_COMMAND).parent_path();
    const std::string command = "cd " + directory_.string() + " && HOME=" + directory_.string() +
                                " TERM=dumb PATH=" + bin.string() + ":$PATH " + shell + " " +
                                path("script") + " >" + path("said") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << waggle::read(path("said"));
    return waggle::read(path("said"));
  }
};

TEST_F(Shell, FishCompletes) {
  if (!has("fish")) GTEST_SKIP() << "there is no fish";
  const auto completed = [&](const std::string& line) {
    return say("fish --no-config", "waggle completions fish | source\ncomplete -C'" + line + "'\n");
  };
  EXPECT_EQ(completed("waggle le"), "learn\tLearn a controller from a log\n");
  EXPECT_NE(completed("waggle learn --gam").find("--gamma"), std::string::npos);
  EXPECT_NE(completed("waggle simulate b").find("bee-world\n"), std::string::npos);
  EXPECT_EQ(completed("waggle inspect --gam"), "");
}

TEST_F(Shell, ZshCompletesAtOnce) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh";
  if (say("zsh -f", "zmodload zsh/zpty 2>/dev/null || echo none").find("none") == 0) {
    GTEST_SKIP() << "there is no zsh/zpty";
  }
  // An interactive shell in a pseudo-terminal: types the line and one tab, and waits for the rest.
  const auto expect_completed = [&](const std::string& line, const std::string& rest) {
    const std::string said = say("zsh -f", R"(zmodload zsh/zpty
mkdir -p functions
waggle completions zsh >functions/_waggle
zpty -b shell zsh -f -i
zpty -w shell 'PS1=; fpath=(functions $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy'
typeset all part
waited() {
  for i in {1..200}; do
    while zpty -r -t shell part; do all+=$part; done
    [[ $all == *${~1}* ]] && return
    sleep 0.05
  done
}
waited ready$'\r'
zpty -w -n shell ')" + line + R"('$'\t'
waited ')" + line + "*" + rest + R"('
print -r -- $all
zpty -d shell
)");
    // It may ring a bell between what was typed and what was completed.
    std::string shown = said;
    std::erase(shown, '\a');
    EXPECT_NE(shown.find(line + rest), std::string::npos) << said;
    EXPECT_EQ(shown.find("bad option"), std::string::npos) << said;
  };
  expect_completed("waggle le", "arn");
  expect_completed("waggle learn --gam", "ma");
  expect_completed("waggle simulate be", "e-world");
}

}  // namespace
