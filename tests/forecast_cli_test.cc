/// waggle forecast as a user runs it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace {

using nlohmann::json;
using waggle::Outcome;

class ForecastCli : public waggle::Cli {
 protected:
  static void make_series(const std::string& arguments) {
    const std::string command = WAGGLE_PAPER_COMMAND " series " + arguments;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return path(name);
  }
  /// A sine with a constant and a text column beside it.
  std::string wave(int rows) const {
    std::string text = "when,x,flat\n";
    for (int k = 0; k < rows; ++k) text += "now," + std::to_string(std::sin(0.3 * k)) + ",5\n";
    return write("wave.csv", text);
  }
};

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(ForecastCli, TheGuidesFirstSteps) {
  const std::string series = path("series.csv");
  make_series("mackey-glass --steps 2000 -o " + series);
  EXPECT_EQ(lines(waggle::read(series)), 2001);
  const std::string out = path("out");
  const Outcome outcome =
      run("forecast " + series + " --column x --units 100 --closed-loop 700 --out " + out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"trained on 1500 rows", "500 after them", "echo state network",
                           "autoregression", "persistence", "closed loop, 700 steps"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  const std::string csv = waggle::read(out + "/predictions.csv");
  EXPECT_EQ(csv.rfind("row,x,x_predicted,x_closed_loop\n1500,", 0), 0u) << csv.substr(0, 80);
  EXPECT_EQ(csv.find("nan"), std::string::npos);
  // The free run goes on where the series ends, with nothing to compare it to.
  EXPECT_NE(csv.find("\n2100,,,"), std::string::npos);
  EXPECT_EQ(lines(csv), 701);
}

TEST_F(ForecastCli, TheNetworkBeatsBothBaselines) {
  make_series("lorenz --steps 3000 --seed 1 -o " + path("l.csv"));
  const Outcome outcome = run("forecast " + path("l.csv") +
                              " --column x --column z --horizon 5 --units 200 --json --seed 4");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["columns"], (json{"x", "z"}));
  EXPECT_EQ(result["horizon"], 5);
  EXPECT_EQ(result["seed"], 4);
  EXPECT_EQ(result["options"]["reservoir"]["units"], 200);
  const auto nrmse = [&](int model) -> double {
    return result["models"][model]["score"]["nrmse"].get<double>();
  };
  EXPECT_LT(nrmse(0), 0.005);
  EXPECT_LT(20.0 * nrmse(0), nrmse(1));
  EXPECT_LT(nrmse(1), nrmse(2));
  EXPECT_EQ(result["models"][0]["score"]["nrmse_by_column"].size(), 2u);
}

TEST_F(ForecastCli, ASineIsLinear) {
  const json result =
      json::parse(run("forecast " + wave(800) + " --column x --closed-loop 100 --json").out);
  // The file holds six digits.
  EXPECT_LT(result["models"][1]["score"]["nrmse"], 1e-5);
  EXPECT_EQ(result["models"][1]["closed_loop"]["valid_steps"], 100);
  EXPECT_TRUE(result["models"][1]["closed_loop"]["diverged_at"].is_null());
}

TEST_F(ForecastCli, WithoutFlagsItUsesTheLibrarysDefaults) {
  // options_test compares these with ForecastOptions{}.
  const json result = json::parse(run("forecast " + wave(400) + " --column x --json").out);
  EXPECT_EQ(result["horizon"], 1);
  EXPECT_EQ(result["closed_loop"], 0);
  EXPECT_EQ(result["tested"], 100);
  const json& reservoir = result["options"]["reservoir"];
  const json expected = json::parse(R"({"units": 300, "activation": "tanh", "leak": 1.0,
      "slowest_leak": null, "recurrent_scaling": 1.0,
      "input_scaling": 0.3, "bias_scaling": 1.0, "orthogonal": false, "density": 1.0,
      "operator_norm": null, "spectral_radius": 0.9, "procedure_one": null,
      "direct_inputs": true})");
  EXPECT_EQ(reservoir, expected);
}

TEST_F(ForecastCli, ConfigAndFlagsOnTopOfIt) {
  const std::string config = write("c.toml",
                                   "washout = 50\nridge = 1e-6\n"
                                   "[reservoir]\nunits = 40\noperator_norm = 0.8\nleak = 0.5\n");
  const std::string command = "forecast " + wave(400) + " --column x --json --config " + config;
  const json result = json::parse(run(command + " --leak 0.7").out);
  EXPECT_EQ(result["options"]["reservoir"]["units"], 40);
  EXPECT_EQ(result["options"]["reservoir"]["leak"], 0.7);
  EXPECT_EQ(result["options"]["reservoir"]["operator_norm"], 0.8);
  EXPECT_TRUE(result["options"]["reservoir"]["spectral_radius"].is_null());
  EXPECT_EQ(result["options"]["washout"], 50);
  EXPECT_EQ(result["options"]["ridge"], 1e-6);
  expect_refused("forecast " + wave(400) + " --column x --config " + write("b.toml", "uints = 3\n"),
                 "uints", "no such option");
  expect_refused("forecast x --column x --config " + write("d.toml", "a = 1\nb = = 2\n"), "d.toml",
                 "line 2");
  expect_refused("forecast x --column x --config " + path("none.toml"), "none.toml");
}

TEST_F(ForecastCli, TrainingOnEverythingForecastsBeyondTheEnd) {
  const Outcome outcome =
      run("forecast " + wave(300) +
          " --column x --units 50 --test-fraction 0 --closed-loop 20 --out " + path("p"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("beyond the end"), std::string::npos) << outcome.out;
  const std::string csv = waggle::read(path("p/predictions.csv"));
  EXPECT_EQ(csv.rfind("row,x,x_closed_loop\n300,,", 0), 0u);
  EXPECT_EQ(lines(csv), 21);
}

TEST_F(ForecastCli, ARidgeAtTheEndOfItsRangeIsSaid) {
  std::string noisy = "x\n";
  unsigned state = 7;
  for (int k = 0; k < 300; ++k) {
    state = state * 1103515245u + 12345u;
    noisy += std::to_string(std::sin(0.3 * k) + (state >> 16) % 1000 / 1000.0) + "\n";
  }
  const std::string forecast =
      "forecast " + write("noisy.csv", noisy) + " --column x --units 20 --washout 20 ";
  const auto fit = [&](const std::string& range) {
    return json::parse(run(forecast + range + " --json").out)["fit"];
  };
  const json wide = fit("--smallest-ridge 1e-12 --largest-ridge 1e3");
  EXPECT_FALSE(wide["ridge_at_end_of_range"]) << wide;
  const json narrow = fit("--smallest-ridge 1e2 --largest-ridge 1e3");
  EXPECT_TRUE(narrow["ridge_at_end_of_range"]) << narrow;
}

TEST_F(ForecastCli, BadInputIsOneLineAndExitCodeTwo) {
  const std::string series = wave(300);
  const std::string forecast = "forecast " + series + " --column x ";
  expect_refused("forecast " + path("none.csv") + " --column x", "none.csv", "No such file");
  expect_refused("forecast " + series, "--column");
  expect_refused("forecast " + series + " --column xx", "no column 'xx'", "'x'");
  expect_refused("forecast " + series + " --column when", "line 2", "'when'", "'now'");
  expect_refused("forecast " + series + " --column flat", "'flat' is constant");
  expect_refused(forecast + "--washout 300", "washout of 300");
  expect_refused(forecast + "--horizon 200", "horizon of 200");
  expect_refused(forecast + "--horizon 0", "horizon = 0");
  expect_refused(forecast + "--horizon 2 --closed-loop 9", "horizon = 2", "closed loop");
  expect_refused(forecast + "--test-fraction 1", "test_fraction = 1");
  expect_refused(forecast + "--test-fraction 0", "closed_loop");
  expect_refused(forecast + "--test-fraction 0 --closed-loop 9", "--out");
  expect_refused(forecast + "--closed-loop -1", "closed_loop = -1");
  expect_refused(forecast + "--units 0", "units = 0");
  expect_refused(forecast + "--units 99999999999999999999", "units", "whole number");
  expect_refused(forecast + "--members 4294967297", "members = 4294967297", "too large");
  expect_refused(forecast + "--ridge 1e999", "ridge", "number");
  expect_refused(forecast + "--leak=nan", "leak = nan");
  expect_refused(forecast + "--activation gelu", "gelu", "tanh");
  expect_refused(forecast + "--operator-norm 1 --spectral-radius 1", "give one of them");
  expect_refused(forecast + "--activation identity --spectral-radius 90", "without bound");
  expect_refused(forecast + "--out /proc/nowhere", "/proc/nowhere");
  expect_refused("forecast " + write("n.csv", "x\n1\nnan\n") + " --column x", "line 3", "nan");
}

TEST_F(ForecastCli, HelpHasExamples) {
  const Outcome outcome = run("forecast --help-all");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("Example:\n  waggle"), std::string::npos) << outcome.out;
}

}  // namespace
