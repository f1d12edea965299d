/// Limits of the actuator, from the command line to the answers of a controller.
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace {

using nlohmann::json;
using waggle::expect_parts;

class LimitsCli : public waggle::ProductCli {
 protected:
  /// A log that keeps to the limits, and a small model that knows of them.
  std::string limited(const std::string& limits) const {
    expect_parts(done("simulate bee-world --steps 600 --seed 3 " + limits + " -o " + log()),
                 {limits.c_str()});  // and so does what it says is next
    done("learn " + log() + learnt() + " --preset direct " + limits + " -o " + model());
    return model();
  }
  std::string log() const { return path("log.csv"); }
  std::string model() const { return path("bee.safetensors"); }
};

/// The second column.
std::vector<double> moves_in(const std::string& csv) {
  std::istringstream text(csv);
  std::vector<double> moves;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) moves.push_back(std::stod(line.substr(line.find(',') + 1)));
  return moves;
}

void expect_within(const std::vector<double>& moves, double change, std::size_t hold) {
  double largest = 0.0;
  for (std::size_t k = 1; k < moves.size(); ++k) {
    const double moved = std::abs(moves[k] - moves[k - 1]);
    largest = std::max(largest, moved);
    if (k % hold != 0) ASSERT_EQ(moved, 0.0) << k;
  }
  EXPECT_LE(largest, change + 1e-12);
  EXPECT_GT(largest, 0.9 * change);
}

TEST_F(LimitsCli, FromTheLogToTheActions) {
  limited("--max-change 0.02 --hold 2");
  expect_within(moves_in(waggle::read(log())), 0.02, 2);
  expect_parts(done("inspect " + model()),
               {"an action              changes by 0.02 a step at most, chosen every 2 steps"});
  const json inspected = json::parse(done("inspect --json " + model()));
  EXPECT_EQ(inspected["options"]["limits"], json({{"max_change", {0.02}}, {"hold", 2}}));

  // The model's own limits count wherever it acts.
  done("simulate bee-world --steps 300 --policy " + model() + " --epsilon 0.3 -o " +
       path("own.csv"));
  expect_within(moves_in(waggle::read(path("own.csv"))), 0.02, 2);
  const std::string answers =
      done("act " + model() + " <" +
           write("in",
                 "{\"nectar\":1}\n{\"nectar\":1.3,\"applied\":-0.06}\n{\"nectar\":1.1}\n"
                 "{\"nectar\":1.1}\n{\"reset\":true}\n{\"nectar\":1}\n"));
  std::istringstream lines(answers);
  std::vector<json> each;
  for (std::string line; std::getline(lines, line);) each.push_back(json::parse(line));
  ASSERT_EQ(each.size(), 6U);
  EXPECT_EQ(each[1]["action"], -0.06);  // kept as it was applied
  EXPECT_NEAR(each[2]["action"].get<double>(), -0.06, 0.02 + 1e-12);
  EXPECT_EQ(each[3]["action"], each[2]["action"]);
  EXPECT_EQ(each[5], each[0]);

  done("export " + model() + " --to c -o " + path("controller"));
  expect_parts(waggle::read(path("controller.h")),
               {"change          by 0.02 a step at most", "choice          every 2 steps"});
  const std::string compile = "cc -std=c99 -Wall -Wextra -Werror -pedantic -c " +
                              path("controller.c") + " -o " + path("controller.o");
  EXPECT_EQ(std::system(compile.c_str()), 0);
}

TEST_F(LimitsCli, TheSameFromAFile) {
  limited("--max-change 0.02");
  const std::string bytes = waggle::read(model());
  for (const char* text : {"max_change = 0.02", "max_change = [0.02]", "max-change = 0.02"}) {
    const bool known = std::string(text).find('-') == std::string::npos;
    const std::string file = write("learn.toml", std::string("[limits]\n") + text + "\n");
    const std::string command =
        "learn " + log() + learnt() + " --preset direct --config " + file + " -o " + model();
    if (!known) {
      expect_refused(command, "limits.max-change: no such option", "'max_change'");
      continue;
    }
    done(command);
    EXPECT_EQ(waggle::read(model()), bytes) << text;
  }
  // Flags go before it.
  const std::string file = write("learn.toml", "[limits]\nmax_change = [0.5]\nhold = 3\n");
  done("learn " + log() + learnt() + " --preset direct --config " + file +
       " --max-change 0.02 --hold 1 -o " + model());
  EXPECT_EQ(waggle::read(model()), bytes);
}

TEST_F(LimitsCli, RefusesWhatNoActuatorHas) {
  done("simulate bee-world --steps 300 -o " + log());
  const auto refuse = [&](const std::string& limits, const auto&... parts) {
    expect_refused("learn " + log() + learnt() + " " + limits + " -o " + model(), parts...);
  };
  refuse("--max-change 0", "max_change = 0", "positive");
  refuse("--max-change nan", "max_change = nan", "positive and finite");
  refuse("--max-change 0.1,0.2", "max_change: 2 numbers, an action has 1");
  refuse("--max-change 0.1,x", "--max-change", "'x' must be a number");
  refuse("--hold 0", "hold = 0", "[1, 1000000]");
  refuse("--hold 1.5", "--hold", "whole number");
  expect_refused("learn " + relay() + " --reward gain --action mode --max-change 1 -o " + model(),
                 "max_change = 1", "2 choices", "hold");
  expect_refused("simulate bee-world --max-change -1 -o " + log(), "max_change = -1");
  done("learn " + relay() + " --reward gain --action mode --units 20 --hold 3 --preset direct -o " +
       model());
  const std::string answers = done("act " + model() + " <" +
                                   write("in",
                                         "{\"temp\":1,\"gain\":0}\n{\"temp\":1,\"gain\":1}\n"
                                         "{\"temp\":1,\"gain\":0,\"applied\":\"off\"}\n"));
  expect_parts(answers.substr(answers.rfind("{")), {"\"action\":\"off\""});
}

}  // namespace
