#include "prediction/reward_fit.h"

#include <algorithm>
#include <utility>

#include "linalg/dense.h"
#include "prediction/foresight.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kWorthIt = 0.01;      // share of the reward's variance
constexpr double kNoHarm = 1e-3;       // of what is left by the state
constexpr double kRidge = 1e-4;        // of functions of u
constexpr double kMemoryRidge = 1e-2;  // of the memory
constexpr Index kKnots = 5;
constexpr Index kRewardFoldRows = 128;
constexpr Index kMostChoices = 64;  // a system of equations for each

MatrixXd ridge_system(MatrixXd gram, double ridge) {
  const double scale = gram.trace() / static_cast<double>(gram.rows());
  gram.diagonal().array() += ridge * scale + 1e-300;
  return gram;
}

/// The features of every u: what the value could tell of a reward by itself.
MatrixXd functions_of(const PredictiveHead& head, const MatrixXd& u) {
  MatrixXd result(head.features(), u.cols());
  head.write_features(u, result);
  return result;
}

struct Fit {
  VectorXd weights;
  double error = 0.0;  // sum of squares, each half judged by the other's fit
};

/// Ridge regressions of y on rows of x.
class Regression {
 public:
  Regression(const MatrixXd& x, const VectorXd& y, const std::vector<Index>& rows) : x_(x), y_(y) {
    for (Index i = 0; i < y.size(); ++i) {
      members_[(rows[static_cast<std::size_t>(i)] / kRewardFoldRows) % 2].push_back(i);
    }
    for (int half = 0; half < 2; ++half) {
      const MatrixXd part = x(Eigen::all, members_[half]);
      gram_[half] = MatrixXd::Zero(x.rows(), x.rows());
      linalg::add_square(part, gram_[half]);
      cross_[half] = part * y(members_[half]);
    }
  }

  /// On the first rows of x.
  Fit on(Index used, double ridge) const {
    const auto solved = [&](const MatrixXd& gram, const VectorXd& cross) -> VectorXd {
      return linalg::solve_positive(ridge_system(gram.topLeftCorner(used, used), ridge),
                                    cross.head(used));
    };
    Fit result;
    for (int half = 0; half < 2; ++half) {
      if (members_[half].empty() || members_[1 - half].empty()) continue;
      const VectorXd w = solved(gram_[1 - half], cross_[1 - half]);
      const VectorXd left =
          y_(members_[half]) - x_(Eigen::all, members_[half]).topRows(used).transpose() * w;
      result.error += left.squaredNorm();
    }
    result.weights = solved(gram_[0] + gram_[1], cross_[0] + cross_[1]);
    return result;
  }

 private:
  const MatrixXd& x_;
  const VectorXd& y_;
  std::vector<Index> members_[2];
  MatrixXd gram_[2];
  VectorXd cross_[2];
};

}  // namespace

RewardByState fit_reward_by_state(const Transitions& transitions, const ActionSpace& actions,
                                  PredictiveHead& head) {
  const Index count = transitions.count();
  RewardByState result;
  const double mean = result.mean = transitions.reward.mean();
  const double total = result.total = (transitions.reward.array() - mean).square().sum();
  if (!(total > 0.0)) return result;
  const MatrixXd u = after_states(head, transitions);
  const MatrixXd functions = functions_of(head, u);
  const VectorXd centred = transitions.reward.array() - mean;
  if (actions.is_discrete()) {
    if (actions.choices > kMostChoices) return result;
    Fit by_state = Regression(functions, centred, transitions.rows).on(functions.rows(), kRidge);
    result.error = by_state.error;
    result.weights = std::move(by_state.weights);
    return result;
  }
  const Index c = actions.size();
  MatrixXd knots(c, kKnots);
  MatrixXd x(functions.rows() + c * kKnots, count);
  x.topRows(functions.rows()) = functions;
  for (Index k = 0; k < kKnots; ++k) {
    knots.col(k) =
        actions.lower + (actions.upper - actions.lower) * (static_cast<double>(k) / kKnots);
    x.middleRows(functions.rows() + k * c, c) =
        (transitions.channels.colwise() - knots.col(k)).cwiseMax(0.0);
  }
  // In units of the bounds, so that one ridge suits all.
  for (Index i = 0; i < c; ++i) {
    const double unit = actions.upper[i] - actions.lower[i];
    for (Index k = 0; k < kKnots; ++k) x.row(functions.rows() + k * c + i) /= unit;
  }
  const Regression regression(x, centred, transitions.rows);
  const Fit by_state = regression.on(functions.rows(), kRidge);
  const Fit by_action = regression.on(x.rows(), kRidge);
  result.error = by_state.error;
  result.share = (by_state.error - by_action.error) / total;
  // What an action costs by itself decides where nothing else does, however little of the reward
  // it explains, and it is a handful of coefficients: it stays unless it does harm.
  if (!(by_action.error <= (1.0 + kNoHarm) * by_state.error)) return result;
  head.knots = knots;
  head.bends = by_action.weights.tail(c * kKnots).reshaped(c, kKnots);
  for (Index i = 0; i < c; ++i) head.bends.row(i) /= actions.upper[i] - actions.lower[i];
  return result;
}

RewardSums::RewardSums(Index memory, Index choices, Index heads)
    : choices_(static_cast<std::size_t>(choices)) {
  for (Choice& choice : choices_) {
    for (int half = 0; half < 2; ++half) {
      choice.gram[half] = MatrixXd::Zero(memory, memory);
      choice.cross[half] = MatrixXd::Zero(memory, heads);
      choice.squares[half] = VectorXd::Zero(heads);
    }
  }
}

void RewardSums::add(const RememberedRows& window, const std::vector<PredictiveHead>& heads,
                     const std::vector<RewardByState>& told) {
  std::vector<VectorXd> by_state(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (told[h].weights.size() == 0) continue;
    Transitions here;
    here.state = predictive_state(heads[h], window.memory.leftCols(window.count));
    here.channels = window.channels.leftCols(window.count);
    here.rows.resize(static_cast<std::size_t>(window.count));
    by_state[h] =
        functions_of(heads[h], after_states(heads[h], here)).transpose() * told[h].weights;
  }
  std::vector<Index> members;
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    Choice& sum = choices_[c];
    for (int half = 0; half < 2; ++half) {
      members.clear();
      for (Index i = 0; i < window.count; ++i) {
        if (window.following[static_cast<std::size_t>(i)] > 0 &&
            window.channels(static_cast<Index>(c), i) > 0.5 &&
            ((window.first + i) / kRewardFoldRows) % 2 == half) {
          members.push_back(i);
        }
      }
      if (members.empty()) continue;
      const MatrixXd m = window.memory(Eigen::all, members);
      linalg::add_square(m, sum.gram[half]);
      VectorXd left(m.cols());
      for (std::size_t h = 0; h < heads.size(); ++h) {
        if (by_state[h].size() == 0) continue;
        for (Index j = 0; j < m.cols(); ++j) {
          const Index i = members[static_cast<std::size_t>(j)];
          left[j] = window.rewards[i + 1] - told[h].mean - by_state[h][i];
        }
        const VectorXd cross = m * left;
        sum.cross[half].col(static_cast<Index>(h)) += cross;
        sum.squares[half][static_cast<Index>(h)] += left.squaredNorm();
      }
    }
  }
}

double RewardSums::solve(Index number, const RewardByState& told, PredictiveHead& head) const {
  if (told.weights.size() == 0) return told.share;
  double before = 0.0;
  double after = 0.0;
  MatrixXd reward(std::ssize(choices_), choices_.front().gram[0].rows());
  for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
    const Choice& sum = choices_[choice];
    const VectorXd cross[2] = {sum.cross[0].col(number), sum.cross[1].col(number)};
    const double squares[2] = {sum.squares[0][number], sum.squares[1][number]};
    for (int half = 0; half < 2; ++half) {
      if (!(squares[half] > 0.0 && squares[1 - half] > 0.0)) continue;
      const VectorXd w =
          linalg::solve_positive(ridge_system(sum.gram[1 - half], kMemoryRidge), cross[1 - half]);
      before += squares[half];
      after += squares[half] - 2.0 * w.dot(cross[half]) + w.dot(sum.gram[half] * w);
    }
    reward.row(static_cast<Index>(choice)) =
        linalg::solve_positive(ridge_system(sum.gram[0] + sum.gram[1], kMemoryRidge),
                               cross[0] + cross[1])
            .transpose();
  }
  // The walk saw all rows, the transitions may be some of them.
  const double share = before > 0.0 ? (before - after) / before * (told.error / told.total) : 0.0;
  if (share > kWorthIt) head.reward = reward;
  return share;
}

void RewardSums::write(NamedSums& sums) const {
  for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
    for (int half = 0; half < 2; ++half) {
      const std::string of = std::to_string(choice) + "." + std::to_string(half) + ".";
      sums[of + "gram"] = half_of(choices_[choice].gram[half]);
      sums[of + "cross"] = choices_[choice].cross[half];
      sums[of + "squares"] = choices_[choice].squares[half];
    }
  }
}

void RewardSums::read(const NamedSums& sums) {
  for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
    for (int half = 0; half < 2; ++half) {
      const std::string of = std::to_string(choice) + "." + std::to_string(half) + ".";
      MatrixXd& cross = choices_[choice].cross[half];
      const Index n = cross.rows();
      cross = named_sum(sums, of + "cross", n, cross.cols());
      choices_[choice].squares[half] = named_sum(sums, of + "squares", cross.cols(), 1);
      choices_[choice].gram[half] =
          from_half(named_sum(sums, of + "gram", n * (n + 1) / 2, 1).col(0), n);
    }
  }
}

double fit_reward_model(RememberedExperience& experience, TrajectorySource& source,
                        const Transitions& transitions, const ActionSpace& actions,
                        PredictiveHead& head) {
  const std::vector<RewardByState> told = {fit_reward_by_state(transitions, actions, head)};
  if (told.front().weights.size() == 0) return told.front().share;
  const std::vector<PredictiveHead> heads = {head};
  RewardSums sums(experience.memory().size(), actions.choices, 1);
  experience.for_each(source, [&](const RememberedRows& window) { sums.add(window, heads, told); });
  return sums.solve(0, told.front(), head);
}

void RewardRecall::add(const RememberedRows& window, const Transitions& transitions) {
  const std::vector<Index>& rows = transitions.rows;
  if (at_ == rows.size() || rows[at_] >= window.first + window.count) return;
  const MatrixXd slopes = head_.reward * window.memory.leftCols(window.columns);
  for (; at_ < rows.size() && rows[at_] < window.first + window.count; ++at_) {
    const Index i = rows[at_] - window.first;
    expected_.push_back(slopes.col(i).dot(transitions.channels.col(static_cast<Index>(at_))));
    next_.insert(next_.end(), slopes.col(i + 1).begin(), slopes.col(i + 1).end());
  }
}

ExpectedRewards RewardRecall::take() {
  const Index count = std::ssize(expected_);
  const Index c = head_.reward.rows();
  return {Eigen::Map<const VectorXd>(expected_.data(), count),
          Eigen::Map<const MatrixXd>(next_.data(), c, count)};
}

ExpectedRewards expected_rewards(const Transitions& transitions, const PredictiveHead& head,
                                 ExpectedRewards recalled) {
  ExpectedRewards result;
  result.expected = VectorXd::Zero(transitions.count());
  for (Index k = 0; k < head.knots.cols(); ++k) {
    result.expected +=
        (transitions.channels.colwise() - head.knots.col(k)).cwiseMax(0.0).transpose() *
        head.bends.col(k);
  }
  if (head.reward.size() == 0) return result;
  result.expected += recalled.expected;
  result.next = std::move(recalled.next);
  return result;
}

ExpectedRewards expected_rewards(RememberedExperience& experience, TrajectorySource& source,
                                 const Transitions& transitions, const PredictiveHead& head) {
  RewardRecall recall(head);
  if (head.reward.size() > 0) {
    experience.for_each(source,
                        [&](const RememberedRows& window) { recall.add(window, transitions); });
  }
  return expected_rewards(transitions, head, recall.take());
}

}  // namespace waggle
