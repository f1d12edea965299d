#include "value/fitted_iteration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/parallel.h"
#include "linalg/dense.h"
#include "reservoir/kernels.h"
#include "value/deviation.h"
#include "value/next_action_search.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

namespace {

constexpr int kEvaluations = 6;  // of the actions found, after each search

/// The square root of what each row counts in the regression, up to a common factor:
///
///     1 / (d² + median² / mean)     d² = ‖predictions‖²; its median and mean over all rows
///
/// Values, and the scatter of what follows, grow with the distance d from what is usual: counted
/// alike, a few rows far away would decide the fit. Where none is far away, rows count nearly
/// alike.
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

/// From the smallest up to the largest, which is the last of them.
std::vector<double> decades(double smallest, double largest) {
  constexpr double kNearlyOne = 1.0 - 1e-9;
  std::vector<double> result;
  for (double ridge = smallest; ridge < kNearlyOne * largest; ridge *= 10.0)
    result.push_back(ridge);
  result.push_back(largest);
  return result;
}

/// Before anything is known, or where there are too few rows to choose by.
ValueChoice usual_choice(const FittedIterationOptions& options) {
  ValueChoice choice;
  choice.ridge = std::clamp(choice.ridge, options.smallest_ridge, options.largest_ridge);
  return choice;
}

/// The regression of targets on (1, u, features of u), and the values of the actions held.
class ValueRegression {
 public:
  ValueRegression(const ValueSteps& steps, const PredictiveHead& head, double caution)
      : steps_(steps),
        head_(head),
        caution_(steps.rows() > kIterationBlock ? caution : 0.0),  // else there are no two halves
        block_(head.features(), kIterationBlock),
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

  /// Products take part, if there are any and they are wanted.
  void set(const ValueChoice& choice) {
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
  ValueChoice choose(const VectorXd& target, const FittedIterationOptions& options) const {
    const ValueChoice usual = usual_choice(options);
    if (steps_.rows() <= block_.cols()) return usual;
    VectorXd cross[2];
    double squares[2] = {0.0, 0.0};
    const double mean = target.mean();
    for (VectorXd& sum : cross) sum.setZero(phi_.rows());
    for (Index from = 0; from < steps_.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps_.rows() - from);
      const VectorXd y =
          (target.segment(from, count).array() - mean) * scale_.segment(from, count).array();
      cross[half_of(from)] += phi_times(y.cast<float>(), from).cast<double>();
      squares[half_of(from)] += y.squaredNorm();
    }
    // Errors without products and with them: theirs are the last features, so that one
    // factorisation serves both.
    struct Tried {
      double ridge;
      double error[2];
    };
    std::vector<Tried> tried;
    for (const double ridge : decades(options.smallest_ridge, options.largest_ridge)) {
      if (options.last) {
        const double last =
            std::clamp(options.last->ridge, options.smallest_ridge, options.largest_ridge);
        if (std::abs(std::log10(ridge / last)) > 1.5) continue;
      }
      tried.push_back({ridge, {0.0, 0.0}});
    }
    parallel_for(static_cast<int>(tried.size()), 0, [&](int i) {
      Tried& here = tried[static_cast<std::size_t>(i)];
      for (int half = 0; half < 2; ++half) {
        const linalg::PositiveSolver solver(ridged(grams_[1 - half], here.ridge));
        for (const bool products : {false, true}) {
          const Index used = columns(products);
          const VectorXd w = solver.solve(cross[1 - half].head(used));
          here.error[products] += squares[half] - 2.0 * w.dot(cross[half].head(used)) +
                                  w.dot(grams_[half].topLeftCorner(used, used) * w);
        }
      }
    });
    double least[2] = {0.0, 0.0};
    double chosen[2] = {0.0, 0.0};
    for (const bool products : {false, true}) {
      least[products] = std::numeric_limits<double>::infinity();
      for (const Tried& here : tried)
        least[products] = std::min(least[products], here.error[products]);
      // Where nothing is left to explain, rounding may say less than nothing.
      least[products] = std::max(least[products], 0.0);
      chosen[products] = usual.ridge;
      for (const Tried& here : tried) {
        if (here.error[products] <= kNearLeast * least[products]) chosen[products] = here.ridge;
      }
    }
    const bool products = least[1] < kLess * least[0];
    return {chosen[products], products};
  }

  void fit(const VectorXd& target, VectorXd& weights) {
    // Sums in single precision lose digits to a large mean, so that goes through the constant.
    mean_ = target.mean();
    centred_ = ((target.array() - mean_) * scale_.array()).cast<float>();
    const VectorXf cross = phi_times(centred_, 0);
    weights.setZero(phi_.rows());
    weights.head(used_) = solver_->solve(cross.head(used_).cast<double>());
    weights[0] += mean_;
    if (is_cautious()) fit_halves();
  }
  /// The root mean square of what the last fit has left.
  double residual(const VectorXd& weights) const {
    VectorXf w = weights.cast<float>();
    w[0] = static_cast<float>(weights[0] - mean_);
    return (centred_ - transposed_times(phi_, w)).norm() /
           std::sqrt(static_cast<double>(centred_.size()));
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
    MatrixXf cross = MatrixXf::Zero(used_, used_);
    linalg::add_outer_product(phi_.topRows(used_), next, cross);
    const MatrixXd factor = deviation_factor(gram - discount * cross.cast<double>(), gram, sigma);
    if (factor.size() == 0) return {};
    MatrixXd result = MatrixXd::Zero(phi_.rows(), phi_.rows());
    result.topLeftCorner(used_, used_) = factor;
    return result;
  }

 private:
  void fit_halves() {
    VectorXf cross[2] = {VectorXf::Zero(phi_.rows()), VectorXf::Zero(phi_.rows())};
    for (Index from = 0; from < steps_.rows(); from += block_.cols()) {
      const Index count = std::min(block_.cols(), steps_.rows() - from);
      cross[half_of(from)] += phi_times(centred_.segment(from, count), from);
    }
    for (int half = 0; half < 2; ++half) {
      VectorXd& weights = halves_[half].weights;
      weights.setZero(phi_.rows());
      weights.head(used_) = halves_[half].solver->solve(cross[half].head(used_).cast<double>());
      weights[0] += mean_;
    }
  }
  VectorXd values_by(const VectorXd& weights) const {
    VectorXf rest = weights.cast<float>();
    rest[0] = 0.0F;
    VectorXd values = transposed_times(phi_next_, rest).cast<double>();
    values.array() += rewards_.array() + weights[0];
    return values;
  }
  /// Σ y_i φ of the rows from the given one on.
  VectorXf phi_times(const VectorXf& y, Index from) const {
    VectorXf sum = VectorXf::Zero(phi_.rows());
    kernels::add_product(phi_.col(from).data(), phi_.rows(), y.size(), y.data(), sum.data());
    return sum;
  }
  static VectorXf transposed_times(const MatrixXf& matrix, const VectorXf& weights) {
    VectorXf values(matrix.cols());
    kernels::transposed_product(matrix.data(), matrix.rows(), matrix.cols(), weights.data(),
                                values.data());
    return values;
  }

  static constexpr double kNearLeast = 1.01;
  static constexpr double kLess = 0.98;
  // The share of the ridge that penalises the constant, u and its products; random features have
  // all of it.
  static constexpr double kPlain = 1e-3;

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
  // The last targets: their mean, and the rest by the square root of what each counts.
  double mean_ = 0.0;
  VectorXf centred_;
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
                              const ProgressCallback& progress) {
  const Index rows = steps.rows();
  ValueRegression regression(steps, head, options.caution);
  FittedIteration result;
  ValueChoice& choice = result.choice;
  choice = options.last.value_or(usual_choice(options));
  if (options.ridge) choice.ridge = *options.ridge;
  regression.set(choice);
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
  const auto fit = [&] { regression.fit(target(), result.weights); };
  clip();

  NextActionSearch search(steps, head, actions);
  double spacing = 0.5;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    if (progress && !progress({.what = "sweep",
                               .done = static_cast<double>(sweep),
                               .total = static_cast<double>(options.sweeps)}))
      break;
    const VectorXd before = value;
    if (sweep == 1) {
      const ValueChoice used = std::exchange(choice, regression.choose(target(), options));
      if (options.ridge) choice.ridge = *options.ridge;
      if (choice.ridge != used.ridge || choice.products != used.products) regression.set(choice);
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
    for (int k = 0; k < kEvaluations; ++k) {
      fit();
      regression.next_values(result.weights, value);
      clip();
    }
  }
  if (result.weights.size() == 0) fit();
  result.residual = regression.residual(result.weights);
  if (options.confidence && result.sweeps > 0) {
    result.deviation = regression.deviation(options.discount, result.residual);
  }
  return result;
}

}  // namespace waggle
