#include "prediction/reward_fit.h"

#include <algorithm>
#include <utility>

#include "data/chunks.h"
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

/// What functions of u tell of rewards, found in transitions. Of quantities that is all there is to
/// find out; of choices the memory is asked for the rest, in sums over all rows.
struct RewardByState {
  double mean = 0.0;   ///< of the reward
  double total = 0.0;  ///< Σ (r − mean)²
  double error = 0.0;  ///< what of it functions of u leave, each half judged by the other
  double share = 0.0;  ///< of it that the reward model explains beyond them, where it is known
  VectorXd weights;    ///< of the features of u; empty: nothing is to be asked of the memory
};

/// For a head whose after-state is fitted; of quantities, fills in knots and bends.
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

/// The sums of the regressions of what is left of the reward on the memory, one for each choice.
class RewardSums {
 public:
  RewardSums(Index memory, Index choices)
      : memory_(memory), choices_(static_cast<std::size_t>(choices)) {}

  Arrays arrays() {
    Arrays arrays;
    for (Choice& choice : choices_) {
      for (Half& half : choice.half) {
        for (MatrixXd* sum : {&half.gram, &half.cross, &half.squares}) arrays.push_back(sum);
      }
    }
    return arrays;
  }
  void merge(RewardSums&& later) { add_arrays(later.arrays(), arrays()); }

  /// Adds rows; `told` is what functions of the head's u tell.
  void add(const RememberedRows& window, const PredictiveHead& head, const RewardByState& told) {
    Transitions here;
    here.state = predictive_state(head, window.memory.leftCols(window.count));
    here.channels = window.channels.leftCols(window.count);
    here.rows.resize(static_cast<std::size_t>(window.count));
    const VectorXd by_state =
        functions_of(head, after_states(head, here)).transpose() * told.weights;
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
        Half& total = sum.half[half];
        if (total.gram.size() == 0) total = none();
        linalg::add_square(m, total.gram);
        VectorXd left(m.cols());
        for (Index j = 0; j < m.cols(); ++j) {
          const Index i = members[static_cast<std::size_t>(j)];
          left[j] = window.rewards[i + 1] - told.mean - by_state[i];
        }
        const VectorXd cross = m * left;
        total.cross += cross;
        total.squares(0) += left.squaredNorm();
      }
    }
  }

  /// Fills in the reward of the head, if that explains more than a hundredth of the reward's
  /// variance that functions of u leave unexplained; returns that share.
  double solve(const RewardByState& told, PredictiveHead& head) const {
    double before = 0.0;
    double after = 0.0;
    MatrixXd reward(std::ssize(choices_), memory_);
    for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
      Half halves[2];
      for (int half = 0; half < 2; ++half) {
        halves[half] = choices_[choice].half[half];
        if (halves[half].gram.size() == 0) halves[half] = none();
      }
      for (int half = 0; half < 2; ++half) {
        const Half& judged = halves[half];
        const Half& fitted = halves[1 - half];
        if (!(judged.squares(0) > 0.0 && fitted.squares(0) > 0.0)) continue;
        const VectorXd w =
            linalg::solve_positive(ridge_system(fitted.gram, kMemoryRidge), fitted.cross);
        before += judged.squares(0);
        after += judged.squares(0) - 2.0 * w.dot(judged.cross.col(0)) + w.dot(judged.gram * w);
      }
      reward.row(static_cast<Index>(choice)) =
          linalg::solve_positive(ridge_system(halves[0].gram + halves[1].gram, kMemoryRidge),
                                 halves[0].cross + halves[1].cross)
              .transpose();
    }
    // The walk saw all rows, the transitions may be some of them.
    const double share = before > 0.0 ? (before - after) / before * (told.error / told.total) : 0.0;
    if (share > kWorthIt) head.reward = reward;
    return share;
  }

 private:
  struct Half {
    MatrixXd gram, cross, squares;  // empty where there are no rows
  };
  struct Choice {
    Half half[2];
  };
  Half none() const {
    return {MatrixXd::Zero(memory_, memory_), MatrixXd::Zero(memory_, 1), MatrixXd::Zero(1, 1)};
  }

  Index memory_;
  std::vector<Choice> choices_;
};

}  // namespace

double fit_reward_model(RememberedExperience& experience, TrajectorySource& source,
                        const Transitions& transitions, const ActionSpace& actions,
                        PredictiveHead& head) {
  const RewardByState told = fit_reward_by_state(transitions, actions, head);
  if (told.weights.size() == 0) return told.share;
  return experience
      .sum(source, RewardSums(experience.memory().size(), actions.choices),
           [&](RewardSums& sums, const RememberedRows& window) { sums.add(window, head, told); })
      .solve(told, head);
}

ExpectedRewards expected_rewards(RememberedExperience& experience, TrajectorySource& source,
                                 const Transitions& transitions, const PredictiveHead& head) {
  const Index count = transitions.count();
  ExpectedRewards result;
  result.expected = VectorXd::Zero(count);
  for (Index k = 0; k < head.knots.cols(); ++k) {
    result.expected +=
        (transitions.channels.colwise() - head.knots.col(k)).cwiseMax(0.0).transpose() *
        head.bends.col(k);
  }
  if (head.reward.size() == 0) return result;
  // What the memory tells, in one more walk, each process of its own rows: r̂, then the vector.
  const std::vector<Index>& rows = transitions.rows;
  const Exchange::Part own = own_rows(source);
  const auto first = std::lower_bound(rows.begin(), rows.end(), own.first) - rows.begin();
  const auto end = std::lower_bound(rows.begin(), rows.end(), own.first + own.count) - rows.begin();
  MatrixXd told(1 + head.reward.rows(), end - first);
  auto at = static_cast<std::size_t>(first);
  experience.for_each(source, [&](const RememberedRows& window) {
    if (at == rows.size() || rows[at] >= window.first + window.count) return;
    const MatrixXd slopes = head.reward * window.memory.leftCols(window.columns);
    for (; at < rows.size() && rows[at] < window.first + window.count; ++at) {
      const Index i = rows[at] - window.first;
      const auto k = static_cast<Index>(at);
      told.col(k - first) << slopes.col(i).dot(transitions.channels.col(k)), slopes.col(i + 1);
    }
  });
  told = joined(source.exchange(), std::move(told));
  result.expected += told.row(0).transpose();
  result.next = told.bottomRows(head.reward.rows());
  return result;
}

}  // namespace waggle
