#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/fit/history.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "random_heads.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Shape {
  InputLayout layout;
  Index frames;
  Index seen;
};

const Shape kShapes[] = {
    {{.reward = true, .action_size = 2, .choices = 0, .observation_size = 2}, 3, 4},
    {{.reward = false, .action_size = 1, .choices = 3, .observation_size = 2}, 1, 1},
    {{.reward = false, .action_size = 1, .choices = 0, .observation_size = 3}, 0, 5},
    {{.reward = true, .action_size = 1, .choices = 2, .observation_size = 0}, 4, 0},
    {{.reward = false, .action_size = 1, .choices = 2, .observation_size = 0}, 0, 0},
};

/// The states after each column of z, from a new episode on.
MatrixXd remembered(const HistoryMemory& memory, const MatrixXd& z) {
  MatrixXd m(memory.size(), z.cols());
  VectorXd before = VectorXd::Zero(memory.size());
  for (Index k = 0; k < z.cols(); ++k) {
    memory.step(before, z.col(k), m.col(k));
    before = m.col(k);
  }
  return m;
}

/// The numbers of a scaled input that are seen: all but the action's.
VectorXd seen_of(const HistoryMemory& memory, const VectorXd& scaled) {
  const InputLayout& layout = memory.layout();
  VectorXd seen(memory.seen_size());
  if (layout.reward) seen[0] = scaled[0];
  seen.tail(layout.observation_size) = scaled.tail(layout.observation_size);
  return seen;
}

TEST(HistoryMemory, HoldsExactlyThePast) {
  for (const Shape& shape : kShapes) {
    const HistoryMemory memory = small_memory(shape.layout, shape.frames, shape.seen);
    const Index inputs = shape.layout.size();
    const Index width = memory.seen_size();
    const Index steps = 20;
    ASSERT_EQ(memory.size(), 6 + inputs + 1 + shape.frames * inputs + (shape.seen + 1) * width + 1);
    const MatrixXd z = RandomNumbers(5).matrix(inputs, steps);
    const MatrixXd m = remembered(memory, z);
    const MatrixXd scaled = m.middleRows(memory.input_offset(), inputs);
    // Before the episode there was nothing.
    const auto input_at = [&](Index k) -> VectorXd {
      return k < 0 ? VectorXd::Zero(inputs) : VectorXd(scaled.col(k));
    };
    for (Index k = 0; k < steps; ++k) {
      SCOPED_TRACE(k);
      EXPECT_EQ(m(memory.constant(), k), 1.0);
      for (Index j = 0; j < shape.frames; ++j) {
        EXPECT_EQ(m.col(k).segment(memory.frames_offset() + j * inputs, inputs),
                  input_at(k - 1 - j));
      }
      for (Index j = 0; j < shape.seen; ++j) {
        EXPECT_EQ(m.col(k).segment(memory.seen_offset() + j * width, width),
                  seen_of(memory, input_at(k - 1 - shape.frames - j)));
      }
      EXPECT_EQ(m.col(k).segment(memory.first_offset(), width), seen_of(memory, input_at(0)));
      EXPECT_NEAR(m(memory.age_offset(), k), 1.0 - std::pow(63.0 / 64.0, k + 1), 1e-14);
    }
    // A new episode knows nothing of the last.
    EXPECT_EQ(remembered(memory, z.rightCols(5)),
              remembered(small_memory(shape.layout, shape.frames, shape.seen), z.rightCols(5)));
  }
}

TEST(HistoryMemory, BeginsAsTheEchoStateNetworkDoes) {
  for (const Shape& shape : kShapes) {
    const HistoryMemory memory = small_memory(shape.layout, shape.frames, shape.seen);
    const EchoStateNetwork& network = memory.network();
    const MatrixXd z = RandomNumbers(6).matrix(shape.layout.size(), 30);
    MatrixXd x = MatrixXd::Zero(network.units(), 31);
    network.drive(z, x);
    EXPECT_EQ(remembered(memory, z).topRows(network.units()), x.rightCols(30));
  }
}

TEST(HistoryMemory, TheInputIsScaled) {
  const InputLayout layout = kShapes[0].layout;
  ReservoirOptions options = plain_reservoir(4);
  options.direct_inputs = true;
  RandomNumbers numbers(2);
  const InputScaling scaling{numbers.vector(5), VectorXd::LinSpaced(5, 0.5, 4.0)};
  const HistoryMemory memory(EchoStateNetwork(options, 5).with_input_scaling(scaling), layout, 1,
                             0);
  const MatrixXd z = numbers.matrix(5, 3);
  const MatrixXd m = remembered(memory, z);
  for (Index k = 0; k < 3; ++k) {
    const VectorXd expected = (z.col(k) - scaling.mean).cwiseQuotient(scaling.spread);
    EXPECT_LT((m.col(k).segment(memory.input_offset(), 5) - expected).norm(), 1e-12);
  }
}

TEST(HistoryMemory, RefusesWhatDoesNotFit) {
  const InputLayout layout = kShapes[0].layout;
  ReservoirOptions options = plain_reservoir(4);
  options.direct_inputs = true;
  const EchoStateNetwork network(options, 5);
  expect_error([&] { HistoryMemory(network, layout, -1, 0); }, "frames = -1");
  expect_error([&] { HistoryMemory(network, layout, 0, -2); }, "seen = -2");
  expect_error([&] { HistoryMemory(EchoStateNetwork(options, 4), layout, 0, 0); },
               "the network has 4 inputs, the layout 5");
  options.direct_inputs = false;
  expect_error([&] { HistoryMemory(EchoStateNetwork(options, 5), layout, 0, 0); },
               "must have direct_inputs");
}

}  // namespace
}  // namespace waggle
