/// What there is of an experiment whose work does not end when it is asked to.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "experiment.h"
#include "experiment_file.h"
#include "progress.h"
#include "reproduce.h"

namespace waggle::app {

namespace {

constexpr int kDone = 2;  // seeds that are done before one hears nothing any more

void run_deaf(const ReproduceOptions& options, const SeedProgress& progress, Results& results) {
  results.push_back(start_result(options, "whole", "any"));
  std::vector<double> outcomes(static_cast<std::size_t>(options.seeds));
  const auto run = [&](int i, std::uint64_t seed) {
    if (i == kDone) {
      std::raise(SIGINT);
      std::this_thread::sleep_for(std::chrono::seconds(60));
    }
    outcomes[static_cast<std::size_t>(i)] = static_cast<double>(seed);
  };
  const auto result_of = [&](std::size_t done) {
    ExperimentResult result = start_result(options, "deaf", "any");
    result.seeds = static_cast<int>(done);
    return result;
  };
  results.push_back(result_of(for_each_seed(options, "deaf", progress, run, result_of)));
}

/// What `waggle-paper reproduce` does, which ends the program.
void reproduce_deaf() {
  heed_interrupts();
  Results results([](ExperimentResult& result) { result.among_learners = true; });
  const auto abandon = [&] {
    std::string text;
    for (const ExperimentResult& result : results.abandon()) {
      text += fmt::format("{} {} {}; ", result.experiment, result.seeds, result.among_learners);
    }
    return text;
  };
  const auto no_progress = [](const std::string& /*what*/, int /*done*/, int /*total*/) {};
  run_interruptibly(
      [&] { reproduce({.experiment = "deaf", .seeds = 5, .threads = 1}, no_progress, results); },
      abandon);
}

TEST(Abandon, KeepsTheResultsAndTheSeedsThatAreDone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(reproduce_deaf(), testing::ExitedWithCode(kInterrupted),
              "waggle: interrupted; whole 5 true; deaf 2 true; ");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 4.0);
}

TEST(Abandon, SaysWhyNothingCouldBeSaved) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto deaf = [] {
    heed_interrupts();
    std::raise(SIGTERM);
    run_interruptibly([] { std::this_thread::sleep_for(std::chrono::seconds(60)); },
                      []() -> std::string { throw std::runtime_error("the disk is full"); });
  };
  EXPECT_EXIT(deaf(), testing::ExitedWithCode(kFailed), "waggle: the disk is full");
}

}  // namespace

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {.name = "deaf",
       .results = {{.name = "whole", .title = "", .text = ""},
                   {.name = "deaf", .title = "", .text = ""}},
       .run = run_deaf}};
  return all;
}

std::string_view experiment_text(std::string_view /*name*/) { return ""; }

}  // namespace waggle::app
