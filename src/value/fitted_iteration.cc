#include "value/fitted_iteration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "linalg/dense.h"
#include "value/deviation.h"
#include "value/next_action_search.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

namespace {

constexpr Index kBlock = 512;         // rows handled together
constexpr double kFirstRidge = 1e-4;  // until one is chosen

/// Values grow with the distance d from what is usual, and so does the scatter of what follows: the
/// square root of what each row counts, 1 / (d² + median² / mean) of d². That is nearly the same
/// for all where none is far away, and little for those that are where few are.
VectorXd row_scale(const Eigen::Ref<const MatrixXd>& predictions) {
  VectorXd distance = predictions.colwise().squaredNorm();
  if (distance.size() == 0) return distance;
  VectorXd sorted = distance;
  auto* middle = sorted.data() + sorted.size() / 2;
  std::nth_element(sorted.data(), middle, sorted.data() + sorted.size());
  const double near = *middle * *middle / distance.mean();
  if (!(near > 0.0)) return VectorXd::Ones(distance.size());
  return (1.0 + distance.array() / near).rsqrt();
}

/// The regression of targets on (1, u, features of u), and the values of the actions held.
class ValueRegression {
 public:
  ValueRegression(const ValueSteps& steps, const PredictiveHead& head, double caution)
      : steps_(steps),
        head_(head),
        caution_(steps.rows() > kBlock ? caution : 0.0),  // else there are no two halves
        block_(head.features(), kBlock),
        phi_(block_.rows(), steps.rows()),
        phi_next_(block_.rows(), steps.rows()) {
    scale_ = row_scale(steps.after.topRows(head.squared));
    for (MatrixXd& gram : grams_) gram.setZero(block_.rows(), block_.rows());
    for (Index from = 0; from < steps.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps.rows() - from);
      write(steps.after.middleCols(from, count), count);
      block_.leftCols(count) = block_.leftCols(count) * scale_.segment(from, count).asDiagonal();
      linalg::add_square(block_.leftCols(count), grams_[half_of(from)]);
      phi_.middleCols(from, count) = block_.leftCols(count).cast<float>();
    }
  }

  struct Choice {
    double ridge = kFirstRidge;
    bool products = true;
  };
  /// Products take part, if there are any and they are wanted.
  void set(const Choice& choice) {
    const Index used = columns(choice.products);
    solver_.emplace(ridged((grams_[0] + grams_[1]).topLeftCorner(used, used), choice.ridge));
    used_ = used;
    ridge_ = choice.ridge;
    if (!is_cautious()) return;
    for (int half = 0; half < 2; ++half) {
      halves_[half].solver.emplace(ridged(grams_[half].topLeftCorner(used, used), choice.ridge));
    }
  }
  bool is_cautious() const { return caution_ > 0.0; }

  /// The largest ridge whose error on one half, fitted to the other, is near the least; with
  /// products only if that error is much less with them than without: they grow fastest where
  /// nothing is known.
  Choice choose(const VectorXd& target, std::optional<double> last) const {
    if (steps_.rows() <= block_.cols()) return {};
    VectorXd cross[2];
    double squares[2] = {0.0, 0.0};
    const double mean = target.mean();
    for (VectorXd& sum : cross) sum.setZero(phi_.rows());
    for (Index from = 0; from < steps_.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps_.rows() - from);
      const VectorXd y =
          (target.segment(from, count).array() - mean) * scale_.segment(from, count).array();
      cross[half_of(from)] += (phi_.middleCols(from, count) * y.cast<float>()).cast<double>();
      squares[half_of(from)] += y.squaredNorm();
    }
    const auto error = [&](double ridge, Index used) {
      double sum = 0.0;
      for (int half = 0; half < 2; ++half) {
        const VectorXd w = linalg::solve_positive(
            ridged(grams_[1 - half].topLeftCorner(used, used), ridge), cross[1 - half].head(used));
        sum += squares[half] - 2.0 * w.dot(cross[half].head(used)) +
               w.dot(grams_[half].topLeftCorner(used, used) * w);
      }
      return sum;
    };
    double least[2] = {0.0, 0.0};
    double chosen[2] = {kFirstRidge, kFirstRidge};
    for (const bool products : {false, true}) {
      std::vector<std::pair<double, double>> tried;  // an error and its ridge
      for (const double ridge : kRidges) {
        if (last && std::abs(std::log10(ridge / *last)) > 1.5) continue;
        tried.emplace_back(error(ridge, columns(products)), ridge);
      }
      // Where nothing is left to explain, rounding may say less than nothing.
      least[products] = std::max(std::min_element(tried.begin(), tried.end())->first, 0.0);
      for (const auto& [left, ridge] : tried) {
        if (left <= kNearLeast * least[products]) chosen[products] = ridge;
      }
      if (head_.products() == 0) return {chosen[0], false};
    }
    const bool products = least[1] < kLess * least[0];
    return {chosen[products], products};
  }

  /// Returns the root mean square of what is left.
  double fit(const VectorXd& target, VectorXd& weights) {
    // Sums in single precision lose digits to a large mean, so that goes through the constant.
    const double mean = target.mean();
    const VectorXf centred = ((target.array() - mean) * scale_.array()).cast<float>();
    const VectorXf cross = phi_ * centred;
    weights.setZero(phi_.rows());
    weights.head(used_) = solver_->solve(cross.head(used_).cast<double>());
    const VectorXf left = centred - phi_.transpose() * weights.cast<float>();
    weights[0] += mean;
    if (is_cautious()) fit_halves(centred, mean);
    return left.norm() / std::sqrt(static_cast<double>(target.size()));
  }

  /// Holds the actions a search has found.
  void set_next(const NextActionSearch& search) {
    MatrixXd u(steps_.after.rows(), block_.cols());
    for (Index from = 0; from < steps_.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps_.rows() - from);
      search.after(from, u.leftCols(count));
      write(u.leftCols(count), count);
      phi_next_.middleCols(from, count) = block_.leftCols(count).cast<float>();
    }
    rewards_.resize(steps_.rows());
    for (Index i = 0; i < steps_.rows(); ++i) rewards_[i] = search.reward(i);
  }
  /// Q of them, by the weights or with caution.
  void next_values(const VectorXd& weights, VectorXd& value) const {
    if (!is_cautious()) {
      value = values_by(weights);
      return;
    }
    const VectorXd first = values_by(halves_[0].weights);
    const VectorXd second = values_by(halves_[1].weights);
    value = 0.5 * (first + second) - caution_ * (first - second).cwiseAbs();
  }

  /// L with LLᵀ = Cov(W), where targets scatter by σ: of the fixed point at the actions held.
  MatrixXd deviation(double discount, double sigma) const {
    const MatrixXd gram = ridged((grams_[0] + grams_[1]).topLeftCorner(used_, used_), ridge_);
    VectorXf follows = scale_.cast<float>();
    for (Index i = 0; i < steps_.rows(); ++i) {
      if (steps_.terminated[static_cast<std::size_t>(i)]) follows[i] = 0.0F;
    }
    const MatrixXf next = phi_next_.topRows(used_) * follows.asDiagonal();
    const MatrixXd cross = (phi_.topRows(used_) * next.transpose()).cast<double>();
    const MatrixXd factor = deviation_factor(gram - discount * cross, gram, sigma);
    if (factor.size() == 0) return {};
    MatrixXd result = MatrixXd::Zero(phi_.rows(), phi_.rows());
    result.topLeftCorner(used_, used_) = factor;
    return result;
  }

 private:
  void fit_halves(const VectorXf& centred, double mean) {
    VectorXf cross[2] = {VectorXf::Zero(used_), VectorXf::Zero(used_)};
    for (Index from = 0; from < steps_.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps_.rows() - from);
      cross[half_of(from)].noalias() +=
          phi_.block(0, from, used_, count) * centred.segment(from, count);
    }
    for (int half = 0; half < 2; ++half) {
      VectorXd& weights = halves_[half].weights;
      weights.setZero(phi_.rows());
      weights.head(used_) = halves_[half].solver->solve(cross[half].cast<double>());
      weights[0] += mean;
    }
  }
  VectorXd values_by(const VectorXd& weights) const {
    VectorXf rest = weights.cast<float>();
    rest[0] = 0.0F;
    VectorXd values = (phi_next_.transpose() * rest).cast<double>();
    values.array() += rewards_.array() + weights[0];
    return values;
  }

  static constexpr double kRidges[] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0};
  static constexpr double kNearLeast = 1.01;
  static constexpr double kLess = 0.98;
  static constexpr double kPlain = 1e-3;  // of the ridge: what u and its products have

  Index columns(bool products) const {
    return products ? phi_.rows() : phi_.rows() - head_.products();
  }
  int half_of(Index row) const { return static_cast<int>((row / block_.cols()) % 2); }
  MatrixXd ridged(MatrixXd gram, double ridge) const {
    const Index bends = 1 + head_.after();
    const Index n = head_.value.size();
    const double scale = gram.diagonal().segment(bends, n).mean();
    const auto add = [](double factor, auto part) {
      part.array() += factor * part.array() + 1e-300;
    };
    add(kPlain * ridge, gram.diagonal().head(bends));
    add(kPlain * ridge, gram.diagonal().tail(gram.rows() - bends - n));
    gram.diagonal().segment(bends, n).array() += ridge * scale + 1e-300;
    return gram;
  }
  void write(const Eigen::Ref<const MatrixXd>& u, Index count) {
    head_.write_features(u, block_.leftCols(count));
  }

  const ValueSteps& steps_;
  const PredictiveHead& head_;
  double caution_;
  MatrixXd block_;
  MatrixXf phi_, phi_next_;  // read again and again: single precision
  MatrixXd grams_[2];        // of alternate blocks of rows
  std::optional<linalg::PositiveSolver> solver_;
  struct Half {
    std::optional<linalg::PositiveSolver> solver;
    VectorXd weights;
  };
  Half halves_[2];  // the same fit to one half of the rows each, for caution
  Index used_ = 0;  // features they are for
  double ridge_ = 0.0;
  VectorXd rewards_;  // r̂ of the actions held
  VectorXd scale_;    // square root of what a row counts
};

}  // namespace

ValueRange possible_values(const ValueSteps& steps, double discount) {
  // Between n rewards g and one e at the end, g (1 − γⁿ) / (1 − γ) + γⁿ e, the extremes are n = 0
  // and ∞.
  ValueRange range{std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity()};
  for (Index i = 0; i < steps.rows(); ++i) {
    const bool last = steps.terminated[static_cast<std::size_t>(i)];
    const double sum = last ? steps.reward[i] : steps.reward[i] / (1.0 - discount);
    range.lowest = std::min(range.lowest, sum);
    range.highest = std::max(range.highest, sum);
  }
  return range;
}

bool ends_well(const ValueSteps& steps, double discount) {
  double sums[2] = {0.0, 0.0};
  double counts[2] = {0.0, 0.0};
  for (Index i = 0; i < steps.rows(); ++i) {
    const bool last = steps.terminated[static_cast<std::size_t>(i)];
    sums[last] += steps.reward[i];
    counts[last] += 1.0;
  }
  if (counts[1] == 0.0) return false;
  return counts[0] == 0.0 || sums[1] / counts[1] > sums[0] / counts[0] / (1.0 - discount);
}

FittedIteration iterate_value(const ValueSteps& steps, const PredictiveHead& head,
                              const ActionSpace& actions, VectorXd start,
                              const FittedIterationOptions& options,
                              const std::function<bool()>& go_on) {
  const Index rows = steps.rows();
  ValueRegression regression(steps, head, options.caution);
  FittedIteration result;
  result.ridge = options.ridge.value_or(kFirstRidge);
  regression.set({result.ridge, true});
  VectorXd& value = result.next_value;
  value = std::move(start);
  const auto clip = [&] {
    for (Index i = 0; i < rows; ++i) {
      value[i] = steps.terminated[static_cast<std::size_t>(i)]
                     ? 0.0
                     : std::clamp(value[i], options.bounds.lowest, options.bounds.highest);
    }
  };
  const auto target = [&] {
    VectorXd sum = steps.reward + options.discount * value;
    if (options.trace > 0.0 && !steps.continues.empty()) {
      for (Index i = rows - 2; i >= 0; --i) {
        if (!steps.continues[static_cast<std::size_t>(i)]) continue;
        sum[i] += options.discount * options.trace * (sum[i + 1] - value[i]);
      }
    }
    if (steps.expected.size() > 0) sum -= steps.expected;
    return sum;
  };
  const auto fit = [&] { result.residual = regression.fit(target(), result.weights); };
  clip();

  NextActionSearch search(steps, head, actions);
  double spacing = 0.5;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    if (go_on && !go_on()) break;
    const VectorXd before = value;
    if (sweep == 1) {
      ValueRegression::Choice choice = regression.choose(target(), options.last_ridge);
      if (options.ridge) choice.ridge = *options.ridge;
      regression.set(choice);
      result.ridge = choice.ridge;
    }
    fit();
    search(result.weights, spacing, value);
    regression.set_next(search);
    if (regression.is_cautious()) regression.next_values(result.weights, value);
    clip();
    spacing = std::max(0.5 * spacing, 1.0 / 64.0);
    ++result.sweeps;
    const double change = (value - before).norm();
    if (sweep > 0 && change <= options.tolerance * value.norm()) {
      result.converged = true;
      break;
    }
    for (int k = 0; k < options.evaluations; ++k) {
      fit();
      regression.next_values(result.weights, value);
      clip();
    }
  }
  if (result.weights.size() == 0) fit();
  if (options.confidence && result.sweeps > 0) {
    result.deviation = regression.deviation(options.discount, result.residual);
  }
  return result;
}

}  // namespace waggle
