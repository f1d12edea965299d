/// What the command makes of a command line: help, numbers, lists and names.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <pty.h>

#include "cli_fixture.h"

namespace {

namespace fs = std::filesystem;
using waggle::Outcome;

class UsageCli : public waggle::Cli {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return path(name);
  }
  /// Rows of an observation, a reward and two actions.
  std::string log() const {
    std::string text = "o,r,a,b\n";
    unsigned state = 7;
    const auto number = [&] {
      state = state * 1103515245u + 12345u;
      return std::to_string((state >> 16) % 1000 / 500.0 - 1.0);
    };
    for (int k = 0; k < 60; ++k) {
      text += number() + "," + number() + "," + number() + "," + number() + "\n";
    }
    return write("log.csv", text);
  }
  /// What a command says to a terminal of this kind.
  std::string said_to_terminal(const std::string& arguments, const char* kind) const {
    int terminal = 0;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      setenv("TERM", kind, 1);
      execl("/bin/sh", "sh", "-c", (WAGGLE_COMMAND " " + arguments).c_str(), nullptr);
      _exit(127);
    }
    std::string said;
    char part[4096];
    for (ssize_t size = 0; (size = ::read(terminal, part, sizeof part)) > 0;) {
      said.append(part, static_cast<std::size_t>(size));
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(terminal);
    EXPECT_EQ(WEXITSTATUS(status), 0) << said;
    return said;
  }
  bool is_clean() const {
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.path().filename().string().front() == '.') return false;
    }
    return true;
  }
};

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in:\n" << text;
  }
}

TEST_F(UsageCli, HelpFitsAScreen) {
  for (const char* command :
       {"simulate", "learn", "evaluate", "act", "export", "inspect", "forecast"}) {
    const std::string help = run(std::string(command) + " --help").out;
    EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 32) << help;
    expect_parts(help, {"Usage: waggle ", "Example"});
  }
  expect_parts(run("learn --help").out,
               {"--gamma", "(0.98)", "--units INT", "--help-all", "more, and details"});
}

TEST_F(UsageCli, HelpSaysWhatAFlagDoesAndItsDefault) {
  expect_parts(
      run("learn --help-all").out,
      {"--sweeps INT", "0 only evaluates (20)", "--ridge FLOAT|none", "(none)",
       "=false turns it off (true)", "Example:", "those without a flag are set by --config"});
  const std::string learn = run("learn --help-all").out;
  static const std::regex option("\n  (-\\w,)?--");
  EXPECT_LE(std::distance(std::sregex_iterator(learn.begin(), learn.end(), option), {}), 40);
  // The defaults are those the command has, not those of the library's own learners.
  expect_parts(run("forecast --help-all").out,
               {"relu, tanh, identity (tanh)", "before rescaling (1)", "(0.3)", "Example:"});
  for (const char* command : {"simulate", "evaluate"}) {
    expect_parts(run(std::string(command) + " --help-all").out,
                 {"how fast the nectar turns, in radians per step (0.1)",
                  "after or before a move is charged: arrival, departure (arrival)", "Example:"});
  }
}

TEST_F(UsageCli, BadInputIsOneLineAndExitCodeTwo) {
  expect_refused("", "subcommand");
  expect_refused("fly", "fly");
  expect_refused("--bogus", "--bogus");
  expect_refused("learn log.csv --threads -1", "--threads -1", "must not be negative");
  EXPECT_EQ(run("--version").out.rfind("waggle ", 0), 0u);
}

TEST_F(UsageCli, HelpIsACommandToo) {
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help learn").out, run("learn --help").out);
  EXPECT_EQ(run("help learn").code, 0);
  expect_refused("help lern", "there is no command 'lern'", "'learn'");
}

TEST_F(UsageCli, MisspeltNamesGetTheNearest) {
  expect_refused("lern log.csv --reward r", "there is no command 'lern'; did you mean 'learn'?",
                 "(see waggle --help)");
  expect_refused("learn --gama 0.5 log.csv --reward r --action a",
                 "there is no option '--gama'; did you mean '--gamma'?",
                 "(see waggle learn --help)");
  expect_refused("--gama 5 simulate bee-world -o x.csv", "--gama");
  // It is why another is missing.
  expect_refused("learn log.csv --rewrd=r --action a", "'--rewrd'; did you mean '--reward'?");
  expect_refused("forecast log.csv", "--column is required", "(see waggle forecast --help)");
  expect_refused("forecast x --column x --activation thanh", "--activation", "'thanh'",
                 "relu, tanh, identity");
  expect_refused("forecast x --column x --orthogonal=maybe", "--orthogonal", "'maybe'",
                 "true, false");
  expect_refused("forecast x --column x --config " + write("c.toml", "[reservoir]\nunts = 5\n"),
                 "reservoir.unts: no such option; did you mean 'units'?");
}

TEST_F(UsageCli, WordsThatAreNoFilesGetTheNearestName) {
  const std::string model = path("m.safetensors");
  EXPECT_EQ(run("learn " + log() + " --reward r --action a --washout 2 --units 5 -o " + model).code,
            0);
  expect_refused("evaluate " + model + " bee-wrld", "bee-wrld", "; did you mean 'bee-world'?");
  expect_refused("simulate bee-world --policy optiml -o " + path("x.csv"), "optiml",
                 "; did you mean 'optimal'?");
  expect_refused("act " + model + " --fallback hol", "hol", "; did you mean 'hold'?");
  // A file that is there is what was meant.
  const std::string here = "cd " + directory_.string() +
                           " && touch hol && " WAGGLE_COMMAND
                           " act m.safetensors --fallback hol 2>err";
  EXPECT_EQ(WEXITSTATUS(std::system(here.c_str())), 2);
  EXPECT_EQ(waggle::read(path("err")).find("did you mean"), std::string::npos);
  const Outcome gone = run("evaluate " + model + " " + path("gone.csv"));
  EXPECT_EQ(gone.err.find("did you mean"), std::string::npos) << gone.err;
}

TEST_F(UsageCli, NumbersThatDoNotFitAreRefused) {
  const std::string out = " -o " + path("x.csv");
  const std::string huge = "99999999999999999999";
  expect_refused("simulate bee-world --steps " + huge + out, "--steps", huge, "does not fit");
  expect_refused("simulate bee-world --steps 5e3" + out, "--steps", "'5e3'", "whole number");
  expect_refused("simulate bee-world --seed 18446744073709551616" + out, "--seed",
                 "18446744073709551616", "18446744073709551615");
  expect_refused("simulate bee-world --seed -1" + out, "--seed", "'-1'", "not negative");
  expect_refused("simulate bee-world --policy optimal --gamma 0,5" + out, "--gamma: '0,5'", "0.5");
  expect_refused("simulate bee-world --max-move 1e999" + out, "--max-move: 1e999", "fit");
  expect_refused("simulate bee-world --steps=" + out, "--steps");
  expect_refused("learn " + log() + " --reward r --action a --gamma 0,5 -o x", "--gamma: '0,5'",
                 "must be a number", "0.5");
  expect_refused("learn " + log() + " --reward r --action a --discount 0,5 -o x", "'0,5'",
                 "must be a number", "0.5");
  expect_refused("learn " + log() + " --reward r --action a --units " + huge + " -o x", "--units",
                 huge);
  expect_refused("learn " + log() + " --reward r --action a --members 3000000000 -o x",
                 "members = 3000000000");
  for (const char* bounds : {"-1e999,1", "-1,1e999"}) {
    expect_refused("learn " + log() + " --reward r --action a -o x --action-bounds=" + bounds,
                   "--action-bounds: ", "1e999 does not fit");
  }
  expect_refused("learn " + log() + " --reward r --action a --washout 9223372036854775808 -o x",
                 "--washout: 9223372036854775808 does not fit");
  expect_refused("learn " + log() + " --reward r --action a --washout 1.5 -o x",
                 "--washout: '1.5' must be a whole number");
  expect_refused("evaluate m bee-world --steps " + huge, "--steps");
  expect_refused("evaluate m bee-world --steps 9000000000000000000 --episodes 3", "too many");
  expect_refused("act m --seed 18446744073709551616", "--seed");
  expect_refused("export m -o x --seed 18446744073709551616", "--seed");
  expect_refused("play --port 4294967376", "--port: 4294967376 does not fit");
  expect_refused("forecast s.csv --column x --horizon " + huge, "--horizon");
  expect_refused("forecast s.csv --column x --test-fraction 0,3", "--test-fraction", "0.3");
  expect_refused("forecast x --column x --json=maybe", "--json: 'maybe' must be true or false");
  // From a file too.
  expect_refused("simulate bee-world --config " + write("a.toml", "steps = " + huge + "\n") + out,
                 "a.toml", "line 1");
  expect_refused(
      "simulate bee-world --config " + write("b.toml", "steps = \"" + huge + "\"\n") + out,
      "b.toml", "steps", huge);
  expect_refused("simulate bee-world --config " + write("c.toml", "seed = -1\n") + out, "c.toml",
                 "not negative");
  EXPECT_FALSE(fs::exists(path("x.csv")));
  // Decimal, whatever C makes of a leading zero.
  EXPECT_EQ(run("simulate bee-world --steps 010" + out).code, 0);
  const std::string rows = waggle::read(path("x.csv"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 11);
}

TEST_F(UsageCli, WhatStandardOutputIsAppendedToIsNotReplaced) {
  const std::string all = write("all.csv", "precious\n");
  const std::string command =
      WAGGLE_COMMAND " simulate bee-world --steps 3 -o /dev/stdout 2>" + path("err") + " >>" + all;
  EXPECT_EQ(std::system(command.c_str()), 0) << waggle::read(path("err"));
  EXPECT_TRUE(waggle::read(all).starts_with("precious\nnectar,move\n")) << waggle::read(all);
  const std::string piped =
      WAGGLE_COMMAND " simulate bee-world --steps 3 -o /dev/stdout | cat >" + path("piped");
  EXPECT_EQ(std::system(piped.c_str()), 0);
  EXPECT_TRUE(waggle::read(path("piped")).starts_with("nectar,move\n"));
}

TEST_F(UsageCli, AFileThatMayNotGrowFurtherIsSaidAndNotLeftBehind) {
  const std::string command = "ulimit -f 10; " WAGGLE_COMMAND
                              " simulate bee-world --steps 5000 -o " +
                              path("x.csv") + " 2>" + path("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  expect_parts(waggle::read(path("err")), {"cannot write", "File too large"});
  EXPECT_FALSE(fs::exists(path("x.csv")));
  EXPECT_TRUE(is_clean());
}

TEST_F(UsageCli, ListsLeaveArgumentsAlone) {
  const std::string file = log();
  const std::string rest = " --units 5 --washout 2 --dump-config";
  const auto said = [&](const std::string& arguments) {
    const Outcome outcome = run("learn " + arguments + rest);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    EXPECT_NE(outcome.out.find("logs = [\"" + file + "\"]"), std::string::npos) << outcome.out;
    return outcome.out;
  };
  expect_parts(said("--reward r --action a " + file), {"action = [\"a\"]"});
  expect_parts(said("--reward r --action a,b " + file), {"action = [\"a\", \"b\"]"});
  expect_parts(said("--reward r --action a --action b " + file), {"action = [\"a\", \"b\"]"});
  expect_parts(said("--action a --reward r --observe o " + file), {"observe = [\"o\"]"});
  expect_parts(said("--action a --reward r --action-bounds -1,1 " + file),
               {"action-bounds = [-1.0, 1.0]"});
  expect_parts(said("--action a --reward r --choices off,on " + file),
               {"choices = [\"off\", \"on\"]"});
  expect_parts(said("--action a --reward r --ignore o " + file), {"ignore = [\"o\"]"});
  expect_parts(said("--action a --reward r --labelled o " + file), {"labelled = [\"o\"]"});
  // Lists in files are lists.
  const std::string config =
      write("c.toml", "action = [\"a\", \"b\"]\nreward = \"r\"\nlogs = [\"" + file + "\"]\n");
  expect_parts(said("--config " + config), {"action = [\"a\", \"b\"]"});
  EXPECT_EQ(run("forecast --column r --column a " + file + " --washout 5 --units 5").code, 0);
  EXPECT_EQ(run("forecast --column r " + file + " --washout 5 --units 5").code, 0);
}

TEST_F(UsageCli, WhatTheMemoryCannotHoldIsRefusedBeforehand) {
  const std::string learn =
      "learn " + log() + " --preset direct --reward r --action a -o " + path("m") + " --units ";
  expect_refused(learn + "100000", "units = 100000, members = 3: needs about", "GB of memory");
  expect_refused("forecast " + log() + " --column r --washout 5 --units 100000 --members 100",
                 "units = 100000, members = 100", "GB of memory");
#ifndef __SANITIZE_ADDRESS__  // which takes terabytes of addresses for itself
  // What the process is allowed counts, not what the machine has.
  const auto expect_too_large = [&](const char* kilobytes, const std::string& arguments,
                                    std::initializer_list<const char*> parts) {
    const std::string command = std::string("ulimit -v ") + kilobytes + "; timeout 20 " +
                                WAGGLE_COMMAND + " " + arguments + " 2>" + path("err");
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 2) << arguments;
    expect_parts(waggle::read(path("err")), parts);
  };
  expect_refused(learn + "100 --members 100000", "members = 100000: must be in [1, 1000]");
  // Predictive states.
  const std::string given = log() + " --reward r --action a -o " + path("m") + " ";
  expect_too_large("8000000", "learn " + given + "--units 9000",
                   {"9021 numbers would be remembered", "up to 5000"});
  const auto with = [&](const std::string& option) {
    return "learn " + given + "--config " + write("large.toml", "predictive." + option + "\n");
  };
  expect_too_large("8000000", with("dynamics = 40000"),
                   {"dynamics = 40000: needs", "there are 8.19 GB"});
  expect_too_large("8000000", with("features = 30000"),
                   {"features = 30000: needs", "there are 8.19 GB"});
#endif
}

TEST_F(UsageCli, PathsThatLeadNowhereAreNamed) {
  fs::create_symlink("loop", path("loop"));
  expect_refused("simulate bee-world -o " + path("loop"), "cannot write '",
                 "loop': Too many levels");
  expect_refused("simulate bee-world -o " + directory_.string(), "is a directory");
  const std::string long_name(300, 'x');
  expect_refused("simulate bee-world -o " + path(long_name), "File name too long");
}

TEST_F(UsageCli, ADumbTerminalGetsNoEscapeCodes) {
  const std::string command = "simulate bee-world --steps 100000 -o " + path("x.csv");
  EXPECT_NE(said_to_terminal(command, "xterm").find('\033'), std::string::npos);
  EXPECT_EQ(said_to_terminal(command, "dumb").find('\033'), std::string::npos);
  EXPECT_EQ(said_to_terminal(command, "").find('\033'), std::string::npos);
}

}  // namespace
