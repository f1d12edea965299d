#include "prediction/prediction_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>

#include "core/parallel.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kLongest = kHorizons[kHorizonCount - 1];
static_assert(kLongest <= RememberedRows::kLookahead);
constexpr Index kMostProducts = 64;  // of outputs and the action's channels
constexpr Index kFoldRows = 256;     // consecutive rows that belong to the same half
constexpr double kRidges[] = {1e-4, 1e-3, 1e-2, 1e-1, 1.0};
constexpr double kUsualRidge = 1e-3;
constexpr double kClearlyLess = 0.1;  // share of what was unexplained
constexpr double kConstant = 1e-9;    // variance of a number that is one, relative to its square
constexpr double kExact = 1e-6;       // unexplained of a variance: less is rounding

/// The longest of the horizons that is known of a row, or −1.
Index known_horizon(Index following) {
  Index longest = -1;
  for (Index h = 0; h < kHorizonCount; ++h) {
    if (following >= kHorizons[h]) longest = h;
  }
  return longest;
}

}  // namespace

PredictionSums::PredictionSums(const HistoryMemory& memory, Index features,
                               const PredictionFitOptions& options)
    : memory_(memory),
      features_(features),
      options_(options),
      outputs_(memory.seen_size()),
      reward_is_output_(!memory.layout().reward && options.reward_deviation > 0.0) {
  if (reward_is_output_) ++outputs_;
  const Index channels = memory.layout().action_channels();
  const Index products = outputs_ * channels;
  targets_ = outputs_ + (products <= kMostProducts ? products : 0);
  ridges_.fill(kUsualRidge);
  if (options_.action_mean.size() == 0) options_.action_mean.setZero(channels);
  if (options_.action_unit.size() == 0) options_.action_unit.setOnes(channels);
  for (Half& half : halves_) {
    half.gram.assign(kHorizonCount, {});
    half.cross.assign(kHorizonCount, {});
    half.squares.setZero(kHorizonCount, outputs_);
    half.sums = half.squares;
    half.rows.setZero(kHorizonCount, 1);
  }
}

Arrays PredictionSums::arrays() {
  Arrays arrays;
  for (Half& half : halves_) {
    for (MatrixXd& gram : half.gram) arrays.push_back(&gram);
    for (MatrixXd& cross : half.cross) arrays.push_back(&cross);
    for (MatrixXd* sum : {&half.squares, &half.sums, &half.rows}) arrays.push_back(sum);
  }
  return arrays;
}

Index PredictionSums::width(Index horizon) const {
  return features_ + kHorizons[horizon] * memory_.layout().action_channels();
}

void PredictionSums::add(const RememberedRows& rows, const Ref<const MatrixXd>& x) {
  const Index channels = memory_.layout().action_channels();
  const auto write_outputs = [&](Index row, Ref<VectorXd> y) {
    for (Index i = 0; i < memory_.seen_size(); ++i) {
      y[i] = rows.memory(memory_.input_offset() + memory_.seen_channel(i), row);
    }
    if (reward_is_output_) {
      y[outputs_ - 1] = (rows.rewards[row] - options_.reward_mean) / options_.reward_deviation;
    }
  };
  std::vector<Index> members;
  for (int fold = 0; fold < 2; ++fold) {
    for (Index known = 0; known < kHorizonCount; ++known) {
      members.clear();
      for (Index i = 0; i < rows.count; ++i) {
        if (((rows.first + i) / kFoldRows) % 2 == fold &&
            known_horizon(rows.following[static_cast<std::size_t>(i)]) == known) {
          members.push_back(i);
        }
      }
      if (members.empty()) continue;
      Half& half = halves_[fold];
      const auto count = static_cast<Index>(members.size());
      MatrixXd regressors(width(known), count);
      for (Index j = 0; j < count; ++j) {
        const Index row = members[static_cast<std::size_t>(j)];
        regressors.col(j).head(features_) = x.col(row);
        for (Index h = 0; h < kHorizons[known]; ++h) {
          regressors.col(j).segment(features_ + h * channels, channels) =
              rows.channels.col(row + h);
        }
      }
      MatrixXd& gram = half.gram[static_cast<std::size_t>(known)];
      if (gram.size() == 0) gram.setZero(width(known), width(known));
      linalg::add_square(regressors, gram);
      MatrixXd outputs(targets_, count);
      for (Index h = 0; h <= known; ++h) {
        for (Index j = 0; j < count; ++j) {
          write_outputs(members[static_cast<std::size_t>(j)] + kHorizons[h],
                        outputs.col(j).head(outputs_));
        }
        for (Index i = 0; (i + 1) * outputs_ < targets_; ++i) {
          for (Index j = 0; j < count; ++j) {
            const double a =
                (rows.channels(i, members[static_cast<std::size_t>(j)]) - options_.action_mean[i]) /
                options_.action_unit[i];
            outputs.col(j).segment((1 + i) * outputs_, outputs_) =
                a * outputs.col(j).head(outputs_);
          }
        }
        MatrixXd cross = MatrixXd::Zero(width(known), targets_);
        linalg::add_outer_product(regressors, outputs, cross);
        MatrixXd& sum = half.cross[static_cast<std::size_t>(h)];
        if (sum.size() == 0) sum.setZero(width(kHorizonCount - 1), targets_);
        sum.topRows(width(known)) += cross;
        half.squares.row(h) += outputs.topRows(outputs_).rowwise().squaredNorm().transpose();
        half.sums.row(h) += outputs.topRows(outputs_).rowwise().sum().transpose();
        half.rows(h) += static_cast<double>(count);
      }
    }
  }
}

PredictionSums::System PredictionSums::system(Index horizon, int only) const {
  const Index size = width(horizon);
  System result{MatrixXd::Zero(size, size), MatrixXd::Zero(size, targets_)};
  for (int fold = 0; fold < 2; ++fold) {
    if (only >= 0 && only != fold) continue;
    const Half& half = halves_[fold];
    for (Index known = horizon; known < kHorizonCount; ++known) {
      const MatrixXd& gram = half.gram[static_cast<std::size_t>(known)];
      if (gram.size() > 0) result.gram += gram.topLeftCorner(size, size);
    }
    const MatrixXd& cross = half.cross[static_cast<std::size_t>(horizon)];
    if (cross.size() > 0) result.cross += cross.topRows(size);
  }
  return result;
}

MatrixXd PredictionSums::coefficients(const System& system, double ridge) {
  MatrixXd gram = system.gram;
  gram.diagonal().array() += ridge * gram.trace() / static_cast<double>(gram.rows());
  return linalg::solve_positive(std::move(gram), system.cross);
}

MatrixXd PredictionSums::solve(bool by_action) const {
  const Index used = by_action ? targets_ : outputs_;
  // The predictions C_h x of all horizons, side by side.
  MatrixXd predictions(features_, 0);
  for (Index h = 0; h < kHorizonCount; ++h) {
    if (halves_[0].rows(h) + halves_[1].rows(h) == 0.0) continue;
    const MatrixXd solved = coefficients(system(h, -1), ridges_[static_cast<std::size_t>(h)]);
    predictions.conservativeResize(Eigen::NoChange, predictions.cols() + used);
    predictions.rightCols(used) = solved.topLeftCorner(features_, used);
  }
  const Index seen = memory_.seen_size();
  MatrixXd all = MatrixXd::Zero(seen, features_);
  for (Index i = 0; i < seen; ++i) {
    all(i, memory_.input_offset() + memory_.seen_channel(i)) = 1.0;
  }
  if (predictions.cols() == 0) return all;

  const MatrixXd gram = system(0, -1).gram.topLeftCorner(features_, features_);
  const Index constant = memory_.constant();
  const double rows = gram(constant, constant);
  const VectorXd mean = gram.col(constant) / rows;
  MatrixXd spread = MatrixXd::Zero(features_, predictions.cols());
  linalg::add_product(gram, predictions, spread);
  const MatrixXd centred = predictions.transpose() * spread / rows -
                           (predictions.transpose() * mean) * (mean.transpose() * predictions);
  const linalg::SymmetricEigen eigen = linalg::symmetric_eigen(centred);
  const Index count = centred.rows();
  const double largest = eigen.values[count - 1];
  Index kept = 0;
  while (kept < std::min(options_.dimensions, count) &&
         eigen.values[count - 1 - kept] > options_.smallest * largest) {
    ++kept;
  }
  MatrixXd projection(kept + seen, features_);
  for (Index i = 0; i < kept; ++i) {
    const Index at = count - 1 - i;
    projection.row(i) =
        (predictions * eigen.vectors.col(at)).transpose() / std::sqrt(eigen.values[at]);
    projection(i, constant) -= projection.row(i).dot(mean);
  }
  projection.bottomRows(seen) = all;
  return projection;
}

bool PredictionSums::is_judged(Index horizon) const {
  return halves_[0].rows(horizon) >= 1.0 && halves_[1].rows(horizon) >= 1.0;
}

VectorXd PredictionSums::unexplained(Index horizon, const Systems& systems, double ridge) const {
  VectorXd left = VectorXd::Zero(outputs_);
  VectorXd total = left;
  for (int fold = 0; fold < 2; ++fold) {
    const MatrixXd solved = coefficients(systems.of_half[1 - fold], ridge);
    const System& judged = systems.of_half[fold];
    const Half& half = halves_[fold];
    for (Index y = 0; y < outputs_; ++y) {
      left[y] += half.squares(horizon, y) - 2.0 * solved.col(y).dot(judged.cross.col(y)) +
                 solved.col(y).dot(judged.gram * solved.col(y));
      total[y] += half.squares(horizon, y) -
                  half.sums(horizon, y) * half.sums(horizon, y) / half.rows(horizon);
    }
  }
  const VectorXd squares = halves_[0].squares.row(horizon) + halves_[1].squares.row(horizon);
  return (total.array() > kConstant * squares.array())
      .select(left.array() / total.array(), std::numeric_limits<double>::quiet_NaN());
}

double PredictionSums::mean_log_error(Index horizon, const Systems& systems, double ridge) const {
  double sum = 0.0;
  Index count = 0;
  for (const double share : unexplained(horizon, systems, ridge)) {
    if (std::isnan(share)) continue;
    sum += std::log(std::max(share, kExact));
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0.0;
}

PredictionRidges PredictionSums::best_ridges(const std::optional<PredictionRidges>& last) const {
  PredictionRidges result = last.value_or(ridges_);
  parallel_for(static_cast<int>(kHorizonCount), 0, [&](int horizon) {
    const Index h = horizon;
    if (!is_judged(h)) return;
    double& chosen = result[static_cast<std::size_t>(h)];
    const double before = chosen;
    const Systems sums = systems(h);
    double least = mean_log_error(h, sums, kUsualRidge) - kClearlyLess;
    chosen = kUsualRidge;
    for (const double ridge : kRidges) {
      if (ridge == kUsualRidge || (last && std::abs(std::log10(ridge / before)) > 1.5)) continue;
      const double error = mean_log_error(h, sums, ridge);
      if (!(error < least)) continue;
      least = error;
      chosen = ridge;
    }
  });
  return result;
}

PredictionSums::Unforeseen PredictionSums::unforeseen() const {
  const auto mean = [](const auto& explained) {
    double sum = 0.0;
    Index count = 0;
    for (const double share : explained.reshaped()) {
      if (std::isnan(share)) continue;
      sum += 1.0 - std::clamp(share, 0.0, 1.0);
      ++count;
    }
    return count > 0 ? sum / static_cast<double>(count) : 0.0;
  };
  const MatrixXd explained = cross_validated();
  return {mean(explained.row(0)), mean(explained)};
}

MatrixXd PredictionSums::cross_validated() const {
  MatrixXd result =
      MatrixXd::Constant(kHorizonCount, outputs_, std::numeric_limits<double>::quiet_NaN());
  parallel_for(static_cast<int>(kHorizonCount), 0, [&](int h) {
    if (!is_judged(h)) return;
    const double ridge = ridges_[static_cast<std::size_t>(h)];
    result.row(h) = 1.0 - unexplained(h, systems(h), ridge).array().transpose();
  });
  return result;
}

}  // namespace waggle
