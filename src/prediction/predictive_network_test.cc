#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/predictive.h>

#include "expect_error.h"
#include "prediction/foresight.h"
#include "random_heads.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using Numbers = std::vector<double>;

Numbers rectified(const RectifiedFeatures& features, const Numbers& s) {
  Numbers result;
  for (Index i = 0; i < features.offsets.size(); ++i) {
    double sum = features.offsets[i];
    for (std::size_t j = 0; j < s.size(); ++j) {
      sum += features.directions(i, static_cast<Index>(j)) * s[j];
    }
    result.push_back(std::max(sum, 0.0));
  }
  return result;
}

Numbers product(const MatrixXd& matrix, const Numbers& x) {
  Numbers result(static_cast<std::size_t>(matrix.rows()), 0.0);
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      result[static_cast<std::size_t>(i)] += matrix(i, static_cast<Index>(j)) * x[j];
    }
  }
  return result;
}

/// s, as predictive.h defines it.
Numbers state_of(const PredictiveHead& head, const Numbers& m) {
  Numbers first = product(head.first, m);
  if (head.second.size() == 0) return first;
  Numbers both = m;
  for (const double feature : rectified(head.layer, first)) both.push_back(feature);
  return product(head.second, both);
}

/// u, as predictive.h defines it.
Numbers after_of(const PredictiveHead& head, const Numbers& s, const Numbers& v) {
  Numbers u = product(head.base, rectified(head.dynamics, s));
  const auto q = static_cast<Index>(s.size());
  for (std::size_t i = 0; i <= v.size(); ++i) {
    const double factor = i == 0 ? 1.0 : v[i - 1];
    const Index block = static_cast<Index>(i) * (1 + q);
    for (Index row = 0; row < static_cast<Index>(u.size()); ++row) {
      double sum = head.drift(row, block);
      for (Index j = 0; j < q; ++j) {
        sum += head.drift(row, block + 1 + j) * s[static_cast<std::size_t>(j)];
      }
      u[static_cast<std::size_t>(row)] += factor * sum;
    }
  }
  return u;
}

/// r̂ of a head, as predictive.h defines it.
double reward_of(const PredictiveHead& head, const Numbers& m, const Numbers& v) {
  double sum = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto row = static_cast<Index>(i);
    for (Index j = 0; j < head.reward.cols(); ++j) {
      sum += v[i] * head.reward(row, j) * m[static_cast<std::size_t>(j)];
    }
    for (Index k = 0; k < head.knots.cols(); ++k) {
      sum += head.bends(row, k) * std::max(v[i] - head.knots(row, k), 0.0);
    }
  }
  return sum;
}

TEST(PredictiveNetwork, StepsAsItIsDefined) {
  const InputLayout layouts[] = {
      {.reward = true, .action_size = 2, .choices = 0, .observation_size = 2},
      {.reward = false, .action_size = 1, .choices = 3, .observation_size = 2},
      {.reward = false, .action_size = 1, .choices = 0, .observation_size = 1}};
  const std::vector<RandomHead> kinds[] = {{{.size = 3}},
                                           {{.size = 2, .layer = 5, .reward = true, .squared = 2},
                                            {.size = 4, .knots = 3, .rewarded = true}},
                                           {{.size = 1, .layer = 4, .reward = true, .knots = 2},
                                            {.size = 3, .layer = 2, .rewarded = true, .squared = 3},
                                            {.size = 2}}};
  for (const InputLayout& layout : layouts) {
    for (const std::vector<RandomHead>& kind : kinds) {
      const auto network = random_network(layout, kind);
      const HistoryMemory& memory = network->memory();
      const Index n = memory.size();
      const Index c = layout.action_channels();
      Index units = n + c + 1;
      Index features = 1;
      for (const RandomHead& head : kind) {
        const Index after = head.rewarded ? head.size + 1 : head.size;
        units += after;
        features += 1 + after + 11 + head.squared * (head.squared + 1) / 2;
      }
      ASSERT_EQ(network->units(), units);
      ASSERT_EQ(network->features(), features);
      ASSERT_EQ(network->inputs(), layout.size());
      const MatrixXd inputs = RandomNumbers(9).matrix(layout.size(), 12);
      VectorXd x = VectorXd::Zero(units);
      VectorXd m = VectorXd::Zero(n);
      VectorXd last = VectorXd::Zero(c);  // the action before
      for (Index k = 0; k < inputs.cols(); ++k) {
        SCOPED_TRACE(k);
        const VectorXd z = inputs.col(k);
        VectorXd next(units);
        network->step(x, z, next);

        // The memory takes in what is known before the action: the one before, and what is seen.
        VectorXd known = z;
        known.segment(layout.action_offset(), c) = last;
        VectorXd m_next(n);
        memory.step(m, known, m_next);
        EXPECT_EQ(next.head(n), m_next);
        const VectorXd v = z.segment(layout.action_offset(), c);
        EXPECT_EQ(next.segment(n, c), v);

        const Numbers m_numbers(m_next.begin(), m_next.end());
        const Numbers v_numbers(v.begin(), v.end());
        double reward = 0.0;
        Index at = n + c;
        Index feature = 1;
        MatrixXd phi(features, 1);
        network->map_features(next, phi);
        for (std::size_t h = 0; h < kind.size(); ++h) {
          const PredictiveHead& head = network->heads()[h];
          const Numbers s = state_of(head, m_numbers);
          const MatrixXd fast = predictive_state(network->heads()[h], m_next);
          for (std::size_t i = 0; i < s.size(); ++i) {
            EXPECT_NEAR(fast(static_cast<Index>(i), 0), s[i], 1e-11);
          }
          const Numbers u = after_of(head, s, v_numbers);
          for (std::size_t i = 0; i < u.size(); ++i) {
            EXPECT_NEAR(next[at + static_cast<Index>(i)], u[i], 1e-9 * (1.0 + std::abs(u[i])));
          }
          reward += reward_of(head, m_numbers, v_numbers) / static_cast<double>(kind.size());
          // (1, u, max(Vu + b, 0), products), of the u in the state.
          const VectorXd own = next.segment(at, head.after());
          EXPECT_EQ(phi(feature, 0), 1.0);
          EXPECT_EQ(phi.col(0).segment(feature + 1, own.size()), own);
          const Numbers bent = rectified(head.value, {own.begin(), own.end()});
          Index of = feature + 1 + own.size();
          for (const double value : bent) EXPECT_NEAR(phi(of++, 0), value, 1e-9 * (1.0 + value));
          for (Index j = 0; j < head.squared; ++j) {
            for (Index i = 0; i <= j; ++i) EXPECT_EQ(phi(of++, 0), own[i] * own[j]);
          }
          EXPECT_EQ(of, feature + head.features());
          const VectorXd weights = VectorXd::LinSpaced(head.products(), -1.0, 2.0);
          const VectorXd low = own.head(head.squared);
          const double form = low.dot(head.form(weights) * low);
          EXPECT_NEAR(form, weights.dot(phi.col(0).segment(of - head.products(), head.products())),
                      1e-9 * (1.0 + std::abs(form)));
          at += head.after();
          feature += head.features();
        }
        EXPECT_NEAR(next[at], reward, 1e-10 * (1.0 + std::abs(reward)));
        EXPECT_EQ(phi(0, 0), next[at]);
        x = next;
        m = m_next;
        last = v;
      }
      EXPECT_EQ(network->constant_feature(), 1);
    }
  }
}

TEST(PredictiveNetwork, NamesThePartThatDoesNotFit) {
  const InputLayout layout{.reward = true, .action_size = 2, .choices = 0, .observation_size = 1};
  const auto good = random_network(layout, {{.size = 3, .layer = 4, .reward = true, .knots = 2}});
  const auto expect_refused = [&](const std::function<void(PredictiveHead&)>& spoil,
                                  const char* part) {
    std::vector<PredictiveHead> heads = good->heads();
    spoil(heads[0]);
    expect_error([&] { PredictiveNetwork(good->memory(), std::move(heads)); },
                 "predictive state: ", part);
  };
  const auto wider = [](MatrixXd& matrix) {
    matrix = MatrixXd::Zero(matrix.rows(), matrix.cols() + 1);
  };
  expect_refused([&](PredictiveHead& h) { wider(h.first); }, "first is 4 ×");
  expect_refused([&](PredictiveHead& h) { wider(h.layer.directions); }, "layer is");
  expect_refused([&](PredictiveHead& h) { wider(h.second); }, "second is 3 ×");
  expect_refused([&](PredictiveHead& h) { h.dynamics.offsets.setZero(2); }, "dynamics is");
  expect_refused([&](PredictiveHead& h) { wider(h.base); }, "base is");
  expect_refused([&](PredictiveHead& h) { wider(h.drift); }, "drift is 3 × 13, must be 3 × 12");
  expect_refused([&](PredictiveHead& h) { wider(h.reward); }, "reward is");
  expect_refused([&](PredictiveHead& h) { wider(h.bends); }, "bends is 2 × 3, must be 2 × 2");
  expect_refused([&](PredictiveHead& h) { h.knots = MatrixXd::Zero(1, 2); }, "knots is");
  expect_refused([&](PredictiveHead& h) { wider(h.value.directions); }, "value is");
  expect_refused([](PredictiveHead& h) { h.base(1, 2) = NAN; }, "entry (1, 2) of base");
  expect_refused([](PredictiveHead& h) { h.value.offsets[3] = INFINITY; }, "entry (3, 0) of value");
  expect_refused([](PredictiveHead& h) { h.base.resize(0, 7); }, "3 numbers are followed by 0");
  expect_refused([](PredictiveHead& h) { h.dynamics.directions.resize(7, 0); }, "no dimension");
  expect_refused([](PredictiveHead& h) { h.squared = 4; }, "squared = 4: must be in [0, 3]");
  expect_refused([](PredictiveHead& h) { h.second.resize(0, 0); }, "3 numbers are predicted");
  expect_error([&] { PredictiveNetwork(good->memory(), {}); }, "there is none");
}

TEST(PredictionQuality, KnowsWhetherAnythingIsPredicted) {
  PredictionQuality quality;
  EXPECT_FALSE(quality.any());
  quality.explained = MatrixXd::Constant(2, 2, NAN);
  EXPECT_FALSE(quality.any());
  quality.explained(1, 0) = -0.5;
  EXPECT_FALSE(quality.any());
  quality.explained(0, 1) = 0.01;
  EXPECT_TRUE(quality.any());
}

TEST(PredictiveNetwork, WhatIsSeenComesLastInAPredictiveState) {
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 1};
  const auto network = random_network(layout, {{.size = 3, .rewarded = true}, {.size = 2}});
  VectorXd state = VectorXd::Zero(network->units());
  // m, the action, u of both heads, the reward.
  state.tail(4 + 2 + 1) << 9.0, 1.0, 2.0, 9.0, 3.0, 6.0, 9.0;
  EXPECT_EQ(network->forecast(state), Eigen::Vector2d(2.0, 4.0));
  const auto blind = random_network(layout, {{.size = 1}});
  EXPECT_EQ(blind->forecast(VectorXd::Zero(blind->units())).size(), 0);
}

}  // namespace
}  // namespace waggle
