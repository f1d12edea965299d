#include "models/kinds.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <waggle/greedy_policy.h>
#include <waggle/neighbours.h>
#include <waggle/q_function.h>

#include "random_heads.h"
#include "random_numbers.h"

/// What holds for every kind of value, whichever it is.
namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Kind {
  std::string title;
  std::shared_ptr<const ReservoirSystem> (*make)(const InputLayout&);
};

EchoStateNetwork rectified_network(const InputLayout& layout) {
  ReservoirOptions options = plain_reservoir(12, 5);
  options.input_scaling = 1.0;
  options.recurrent_scaling = 1.0;
  options.operator_norm = 0.8;
  options.slowest_leak = 0.3;
  options.direct_inputs = true;
  return {options, layout.size()};
}

std::shared_ptr<const ReservoirSystem> network(const InputLayout& layout) {
  return std::make_shared<const EchoStateNetwork>(rectified_network(layout));
}
std::shared_ptr<const ReservoirSystem> predictive(const InputLayout& layout) {
  const RandomHead bent{.size = 4, .layer = 5, .reward = true, .rewarded = true, .squared = 2};
  return random_network(layout, {bent, {.size = 3, .knots = 2}});
}
std::shared_ptr<const ReservoirSystem> neighbours(const InputLayout& layout) {
  EchoStateNetwork memory = rectified_network(layout);
  RandomNumbers numbers(3);
  const Index n = memory.units();
  return std::make_shared<const NeighbourSystem>(std::move(memory), numbers.matrix(n, 40),
                                                 VectorXd::Ones(n), 4);
}

class KindOfValue : public testing::TestWithParam<std::tuple<Kind, int>> {
 protected:
  const int choices_ = std::get<1>(GetParam());
  const InputLayout layout_{
      .reward = true, .action_size = 1, .choices = choices_, .observation_size = 2};
  const std::shared_ptr<const ReservoirSystem> system_ = std::get<0>(GetParam()).make(layout_);
  const VectorXd weights_ = RandomNumbers(7).vector(system_->features());
  RandomNumbers numbers_{11};

  /// A history: some steps from the start.
  VectorXd history() {
    VectorXd state = VectorXd::Zero(system_->units());
    VectorXd next = state;
    for (int k = 0; k < 5; ++k) {
      system_->step(state, input(action()), next);
      state.swap(next);
    }
    return state;
  }
  VectorXd action() {
    if (choices_ == 0) return numbers_.vector(1);
    return VectorXd::Unit(choices_, static_cast<Index>(numbers_.vector(1)[0] > 0.0 ? 1 : 0));
  }
  VectorXd input(const VectorXd& channels) {
    VectorXd z = numbers_.vector(layout_.size());
    z.segment(layout_.action_offset(), layout_.action_channels()) = channels;
    return z;
  }
  /// Wᵀφ(F(x, z)), by the definition.
  double by_definition(const VectorXd& x, const VectorXd& z) const {
    VectorXd next = VectorXd::Zero(system_->units());
    system_->step(x, z, next);
    MatrixXd features(system_->features(), 1);
    system_->map_features(next, features);
    return weights_.dot(features.col(0));
  }
};

TEST_P(KindOfValue, IsWhatAWholeStepSays) {
  const auto q = system_->q_function(layout_);
  q->set_weights(weights_);
  for (int k = 0; k < 20; ++k) {
    const VectorXd x = history();
    const VectorXd v = action();
    VectorXd z = input(v);
    const double wanted = by_definition(x, z);
    z.segment(layout_.action_offset(), v.size()).setZero();
    q->prepare(x, z);
    EXPECT_NEAR(q->at(v), wanted, 1e-9 * (1.0 + std::abs(wanted)));
    VectorXd next = x;
    q->step(v, next);
    EXPECT_NEAR(q->of_state(next), wanted, 1e-9 * (1.0 + std::abs(wanted)));
    EXPECT_NEAR(q->features().dot(weights_), wanted, 1e-9 * (1.0 + std::abs(wanted)));
  }
}

TEST_P(KindOfValue, IsGreatestWhereItSays) {
  const auto q = system_->q_function(layout_);
  if (choices_ > 0 || !q->is_piecewise_linear()) return;
  q->set_weights(weights_);
  for (int k = 0; k < 10; ++k) {
    q->prepare(history(), input(VectorXd::Zero(1)));
    const Maximum found = q->along(0, VectorXd::Zero(1), -0.8, 0.9, 0.0);
    double greatest = -1e300;
    for (int i = 0; i <= 400; ++i) {
      greatest = std::max(greatest, q->at(VectorXd::Constant(1, -0.8 + 1.7 * i / 400.0)));
    }
    EXPECT_GE(found.value, greatest - 1e-9);
    EXPECT_NEAR(q->at(VectorXd::Constant(1, found.action)), found.value, 1e-9);
  }
}

TEST_P(KindOfValue, ComesBackFromAFileWithTheSameBits) {
  Safetensors file;
  write_kind(*system_, file);
  const Safetensors read = parse_safetensors(serialise(file), "file");
  Tensors tensors(read.tensors);
  const auto again = read_kind(read, layout_, tensors);
  tensors.finish();
  EXPECT_EQ(again->kind(), system_->kind());
  const auto before = system_->q_function(layout_);
  const auto after = again->q_function(layout_);
  before->set_weights(weights_);
  after->set_weights(weights_);
  const VectorXd x = history();
  const VectorXd z = input(VectorXd::Zero(layout_.action_channels()));
  before->prepare(x, z);
  after->prepare(x, z);
  const VectorXd v = action();
  EXPECT_EQ(before->at(v), after->at(v));
}

TEST_P(KindOfValue, ActsByTheGreatestValue) {
  const ActionSpace actions =
      choices_ > 0 ? ActionSpace::discrete(choices_) : ActionSpace::box(-1.0, 1.0);
  Controller controller{
      .reservoir = system_, .layout = layout_, .actions = actions, .weights = weights_};
  controller.greedy.smoothing = 0.0;
  GreedyPolicy policy(controller);
  VectorXd chosen(1);
  for (std::uint64_t k = 0; k < 10; ++k) {
    const VectorXd before = policy.state();
    const VectorXd seen = numbers_.vector(3);
    Draws draws = Random(1).at(Purpose::policy, k);
    policy.act({.reward = seen[0], .observation = seen.tail(2)}, draws, chosen);
    EXPECT_NEAR(policy.features().dot(weights_), policy.value(), 1e-9);
    VectorXd z(layout_.size());
    for (int i = 0; i < 3; ++i) {
      const VectorXd other = VectorXd::Constant(1, choices_ > 0 ? i % choices_ : 0.9 * (i - 1));
      layout_.write(seen[0], other, seen.tail(2), z);
      if (system_->kind() == NeighbourSystem::kKind && choices_ == 0) break;  // some are tried
      EXPECT_LE(by_definition(before, z), policy.value() + 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KindOfValue,
                         testing::Combine(testing::Values(Kind{"network", &network},
                                                          Kind{"predictive", &predictive},
                                                          Kind{"neighbours", &neighbours}),
                                          testing::Values(0, 2)),
                         [](const auto& info) {
                           return std::get<0>(info.param).title +
                                  (std::get<1>(info.param) > 0 ? "Choices" : "Quantity");
                         });

}  // namespace
}  // namespace waggle
