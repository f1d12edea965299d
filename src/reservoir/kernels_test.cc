#include "reservoir/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <Eigen/SparseCore>
#include <gtest/gtest.h>

#include "random_numbers.h"

// The same loops once more, for the narrowest vectors alone.
#define WAGGLE_VECTOR_CLONES
namespace narrow {
#include "reservoir/kernels.cc"
}

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
namespace plain = narrow::waggle::kernels;

/// Of all magnitudes from 10⁻³²⁰ to 10³⁰⁰, most of them where tanh bends.
VectorXd numbers() {
  constexpr Index kEven = 200'001, kPowers = 6'201;
  VectorXd v(kEven + 2 * kPowers);
  v.head(kEven) = VectorXd::LinSpaced(kEven, -24.0, 24.0);
  for (Index i = 0; i < kPowers; ++i) {
    v[kEven + 2 * i] = std::pow(10.0, -320.0 + 0.1 * static_cast<double>(i));
    v[kEven + 2 * i + 1] = -v[kEven + 2 * i];
  }
  return v;
}

double tanh_of(double v) {
  kernels::tanh(&v, 1);
  return v;
}

TEST(Kernels, TanhIsThatOfTheLibrary) {
  const VectorXd v = numbers();
  VectorXd y = v;
  kernels::tanh(y.data(), y.size());
  double worst = 0.0;  // in units of the last place
  for (Index i = 0; i < v.size(); ++i) {
    const double exact = std::tanh(v[i]);
    const double place = std::nextafter(std::abs(exact), 2.0) - std::abs(exact);
    worst = std::max(worst, std::abs(y[i] - exact) / place);
  }
  EXPECT_LE(worst, 3.0);
}

TEST(Kernels, TanhIsOddBoundedAndKeepsNaN) {
  const VectorXd v = numbers();
  for (const double number : v) {
    const double y = tanh_of(number);
    ASSERT_EQ(tanh_of(-number), -y);
    ASSERT_LE(std::abs(y), 1.0);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(tanh_of(0.0), 0.0);
  EXPECT_FALSE(std::signbit(tanh_of(0.0)));
  EXPECT_TRUE(std::signbit(tanh_of(-0.0)));
  EXPECT_EQ(tanh_of(5e-324), 5e-324);
  EXPECT_EQ(tanh_of(22.0), 1.0);
  EXPECT_EQ(tanh_of(kInfinity), 1.0);
  EXPECT_EQ(tanh_of(-kInfinity), -1.0);
  EXPECT_TRUE(std::isnan(tanh_of(NAN)));
}

TEST(Kernels, BySparseRowsIsTheProduct) {
  RandomNumbers random;
  for (const Index n : {1, 3, 4, 7, 50}) {
    MatrixXd dense = random.matrix(n, n);
    dense = (dense.array().abs() < 0.4).select(dense, 0.0);
    dense.row(n / 2).setZero();
    const Eigen::SparseMatrix<double, Eigen::RowMajor> a = dense.sparseView();
    const VectorXd x = random.vector(n), start = random.vector(n);
    VectorXd y = start;
    kernels::add_row_sparse_product(a.valuePtr(), a.innerIndexPtr(), a.outerIndexPtr(), n, x.data(),
                                    y.data());
    EXPECT_LE((y - (start + dense * x)).cwiseAbs().maxCoeff(), 1e-14);
  }
}

/// Same bits, NaN included.
void expect_same(const VectorXd& one, const VectorXd& other) {
  ASSERT_EQ(one.size(), other.size());
  for (Index i = 0; i < one.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(one[i]), std::bit_cast<std::uint64_t>(other[i])) << i;
  }
}

TEST(Kernels, GiveTheSameBitsWhateverTheVectorsWidth) {
  RandomNumbers random;
  const VectorXd v = numbers();
  VectorXd wide = v, thin = v;
  kernels::tanh(wide.data(), v.size());
  plain::tanh(thin.data(), v.size());
  expect_same(wide, thin);

  constexpr Index n = 301;
  const MatrixXd a = random.matrix(n, n);
  const VectorXd x = random.vector(n), y = random.vector(n), rates = random.vector(n).cwiseAbs();
  wide = thin = y;
  kernels::add_product(a.data(), n, n, x.data(), wide.data());
  plain::add_product(a.data(), n, n, x.data(), thin.data());
  expect_same(wide, thin);
  kernels::leak(rates.data(), x.data(), n, wide.data());
  plain::leak(rates.data(), x.data(), n, thin.data());
  expect_same(wide, thin);

  const VectorXd candidates = random.vector(77);
  wide.resize(77);
  thin.resize(77);
  kernels::relu_candidate_values(x.data(), y.data(), rates.data(), n, candidates.data(), 77,
                                 wide.data());
  plain::relu_candidate_values(x.data(), y.data(), rates.data(), n, candidates.data(), 77,
                               thin.data());
  expect_same(wide, thin);
}

TEST(Kernels, SinglePrecisionIsThatOfPlainSums) {
  for (const Index rows : {1, 16, 37, 600}) {
    for (const Index columns : {1, 3, 8, 13}) {
      const auto seed = static_cast<std::uint64_t>(100 * rows + columns);
      const Eigen::MatrixXf a = RandomNumbers(seed).matrix(rows, columns).cast<float>();
      const Eigen::VectorXf x = RandomNumbers(seed + 1).vector(columns).cast<float>();
      const Eigen::VectorXf w = RandomNumbers(seed + 2).vector(rows).cast<float>();
      Eigen::VectorXf y = Eigen::VectorXf::Ones(rows), plain_y = y;
      kernels::add_product(a.data(), rows, columns, x.data(), y.data());
      plain::add_product(a.data(), rows, columns, x.data(), plain_y.data());
      EXPECT_EQ(y, plain_y);
      const VectorXd sums = (a.cast<double>() * x.cast<double>()).array() + 1.0;
      EXPECT_LT((y.cast<double>() - sums).norm(), 1e-6 * (1.0 + sums.norm()));

      Eigen::VectorXf dots(columns), plain_dots(columns);
      kernels::transposed_product(a.data(), rows, columns, w.data(), dots.data());
      plain::transposed_product(a.data(), rows, columns, w.data(), plain_dots.data());
      EXPECT_EQ(dots, plain_dots);
      const VectorXd exact = a.cast<double>().transpose() * w.cast<double>();
      EXPECT_LT((dots.cast<double>() - exact).norm(), 1e-6 * (w.norm() * a.norm()));

      // The columns' numbers as candidates of units b + c a.
      const Eigen::VectorXf b = RandomNumbers(seed + 3).vector(rows).cast<float>();
      const Eigen::VectorXf c = RandomNumbers(seed + 4).vector(rows).cast<float>();
      Eigen::VectorXf values(columns), plain_values(columns);
      kernels::relu_candidate_values(b.data(), c.data(), w.data(), rows, x.data(), columns,
                                     values.data());
      plain::relu_candidate_values(b.data(), c.data(), w.data(), rows, x.data(), columns,
                                   plain_values.data());
      EXPECT_EQ(values, plain_values);
      for (Index j = 0; j < columns; ++j) {
        double sum = 0.0;
        for (Index i = 0; i < rows; ++i) {
          sum += static_cast<double>(w[i]) *
                 std::max(static_cast<double>(b[i]) + static_cast<double>(c[i]) * x[j], 0.0);
        }
        EXPECT_NEAR(values[j], sum, 1e-5 * (1.0 + w.norm() * b.norm()));
      }
    }
  }
}

}  // namespace
}  // namespace waggle
