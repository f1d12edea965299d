#include "core/memory.h"

#include <cmath>

#include <gtest/gtest.h>

#include <waggle/fit/value.h>
#include <waggle/reservoir.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;

TEST(Memory, IsAskedForBeforeItIsTaken) {
  const double available = available_memory();
  ASSERT_GT(available, 1e8);
  EXPECT_NO_THROW(require_memory(0.5 * available, "half of it"));
  expect_error([&] { require_memory(2.0 * available, "twice of it"); }, "twice of it: needs about",
               "GB of memory, there are");
}

TEST(Memory, AReservoirTooLargeIsRefused) {
  expect_error([&] { EchoStateNetwork({.units = 20'000}, 1, 1000); },
               "units = 20000, members = 1000: needs about", "GB of memory");
  ProcedureOne procedure{.features = 100'000, .delay = 10'000, .input_bound = 1.0};
  expect_error([&] { EchoStateNetwork({.procedure_one = procedure}, 10, 1000); },
               "procedure_one: features = 100000, delay = 10000, members = 1000", "GB of memory");
  // 80 GB for A, and as much again twice while it is decomposed.
  if (available_memory() > 240e9) GTEST_SKIP() << "this machine is large enough";
  expect_error([&] { EchoStateNetwork({.units = 100'000}, 1); },
               "units = 100000, members = 1: needs about 240 GB");
}

/// Many features of a state that is small.
class Wide final : public ReservoirSystem {
 public:
  explicit Wide(Index features) : features_(features) {}
  Index units() const override { return 1; }
  Index inputs() const override { return 2; }
  Index features() const override { return features_; }
  void step(const Eigen::Ref<const Eigen::VectorXd>&, const Eigen::Ref<const Eigen::VectorXd>&,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    next.setZero();
  }

 private:
  Index features_;
};

TEST(Memory, AFitTooLargeIsRefused) {
  // As many features as make one matrix of them larger than the machine's memory.
  const Wide reservoir(static_cast<Index>(std::sqrt(available_memory() / 8.0)) + 1);
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 0};
  Trajectory log(1, 0);
  for (int k = 0; k < 10; ++k) log.append(1.0, Eigen::VectorXd::Zero(1), Eigen::VectorXd(0));
  for (const Method method : {Method::lstd, Method::bellman_residual}) {
    expect_error([&] { fit_value(reservoir, layout, log, {.method = method}); },
                 "features: needs about", "GB of memory");
  }
  expect_error([&] { td_moments(reservoir, layout, log, 0.5); }, "GB of memory");
}

}  // namespace
}  // namespace waggle
