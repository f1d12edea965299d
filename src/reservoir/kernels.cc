#include "reservoir/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

// One clone per vector width, picked by the loader, so the binary runs on any x86-64 and still uses
// wide registers where they exist. glibc's loader can; elsewhere the compiler's default target is
// used.
#if defined(WAGGLE_VECTOR_CLONES)
// A test has chosen.
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WAGGLE_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WAGGLE_VECTOR_CLONES
#endif

namespace waggle::kernels {

using Eigen::Index;

namespace {

constexpr Index kColumns = 8;  // columns of A added in one pass over y

template <class Scalar>
[[gnu::always_inline]] inline void add_eight(const Scalar* const* column, const Scalar* factor,
                                             Scalar* y, Index rows) {
  const Scalar *c0 = column[0], *c1 = column[1], *c2 = column[2], *c3 = column[3];
  const Scalar *c4 = column[4], *c5 = column[5], *c6 = column[6], *c7 = column[7];
  const Scalar f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
  const Scalar f4 = factor[4], f5 = factor[5], f6 = factor[6], f7 = factor[7];
  for (Index i = 0; i < rows; ++i) {
    y[i] += ((f0 * c0[i] + f1 * c1[i]) + (f2 * c2[i] + f3 * c3[i])) +
            ((f4 * c4[i] + f5 * c5[i]) + (f6 * c6[i] + f7 * c7[i]));
  }
}
WAGGLE_VECTOR_CLONES
void add_eight_columns(const double* const* column, const double* factor, double* y, Index rows) {
  add_eight(column, factor, y, rows);
}
WAGGLE_VECTOR_CLONES
void add_eight_columns(const float* const* column, const float* factor, float* y, Index rows) {
  add_eight(column, factor, y, rows);
}

// What is left of the columns is seldom eight. Added with nothing for the others, the sums would be
// the same.
template <class Scalar>
[[gnu::always_inline]] inline void add_four(const Scalar* const* column, const Scalar* factor,
                                            Scalar* y, Index rows) {
  const Scalar *c0 = column[0], *c1 = column[1], *c2 = column[2], *c3 = column[3];
  const Scalar f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
  for (Index i = 0; i < rows; ++i) {
    y[i] += (f0 * c0[i] + f1 * c1[i]) + (f2 * c2[i] + f3 * c3[i]);
  }
}
WAGGLE_VECTOR_CLONES
void add_four_columns(const double* const* column, const double* factor, double* y, Index rows) {
  add_four(column, factor, y, rows);
}
WAGGLE_VECTOR_CLONES
void add_four_columns(const float* const* column, const float* factor, float* y, Index rows) {
  add_four(column, factor, y, rows);
}

template <class Scalar>
void add_columns(const Scalar* a, Index stride, Index rows, Index columns, const Scalar* x,
                 Scalar* y) {
  // Which columns are skipped cannot be foreseen, so they are sorted out without a branch first.
  constexpr Index kHeld = 256;
  const Scalar* column[kHeld + kColumns];
  Scalar factor[kHeld + kColumns];
  Index held = 0;
  for (Index first = 0; first < columns; first += kHeld) {
    const Index end = std::min(columns, first + kHeld);
    for (Index j = first; j < end; ++j) {
      column[held] = a + j * stride;
      factor[held] = x[j];
      held += x[j] != 0 ? 1 : 0;
    }
    Index added = 0;
    for (; added + kColumns <= held; added += kColumns) {
      add_eight_columns(column + added, factor + added, y, rows);
    }
    std::copy(column + added, column + held, column);
    std::copy(factor + added, factor + held, factor);
    held -= added;
  }
  if (held == 0) return;
  for (Index k = held; k < kColumns; ++k) {
    column[k] = column[0];
    factor[k] = 0;
  }
  if (held <= kColumns / 2) {
    add_four_columns(column, factor, y, rows);
  } else {
    add_eight_columns(column, factor, y, rows);
  }
}

/// sum_j += Σ_i w_i max(b_i + c_i a_j, 0) for a fixed number of candidates, held in registers.
template <Index candidates>
[[gnu::always_inline]] inline void add_candidates(const double* b, const double* c, const double* w,
                                                  Index units, const double* a, double* values) {
  double sum[candidates];
  for (Index j = 0; j < candidates; ++j) sum[j] = values[j];
  for (Index i = 0; i < units; ++i) {
    for (Index j = 0; j < candidates; ++j) {
      const double v = b[i] + c[i] * a[j];
      sum[j] += w[i] * (0.0 > v ? 0.0 : v);
    }
  }
  for (Index j = 0; j < candidates; ++j) values[j] = sum[j];
}

WAGGLE_VECTOR_CLONES
void add_candidate_values(const double* b, const double* c, const double* w, Index units,
                          const double* a, Index count, double* values) {
  Index j = 0;
  for (; j + 32 <= count; j += 32) add_candidates<32>(b, c, w, units, a + j, values + j);
  for (; j + 8 <= count; j += 8) add_candidates<8>(b, c, w, units, a + j, values + j);
  for (; j < count; ++j) add_candidates<1>(b, c, w, units, a + j, values + j);
}

// Sums over units are kept apart in lanes and added up in one order, whatever the vector width.
constexpr Index kLanes = 16;

[[gnu::always_inline]] inline float total(const float* lane) {
  float sum = 0.0F;
  for (Index l = 0; l < kLanes; ++l) sum += lane[l];
  return sum;
}

/// y_j = a_jᵀ x for a fixed number of columns.
template <Index columns>
[[gnu::always_inline]] inline void dots(const float* a, Index rows, const float* x, float* y) {
  float sum[columns][kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    for (Index j = 0; j < columns; ++j) {
      for (Index l = 0; l < kLanes; ++l) sum[j][l] += a[j * rows + i + l] * x[i + l];
    }
  }
  for (; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) sum[j][0] += a[j * rows + i] * x[i];
  }
  for (Index j = 0; j < columns; ++j) y[j] = total(sum[j]);
}

/// values_j = Σ_i w_i max(b_i + c_i a_j, 0) for a fixed number of candidates.
template <Index candidates>
[[gnu::always_inline]] inline void rectified(const float* b, const float* c, const float* w,
                                             Index units, const float* a, float* values) {
  float sum[candidates][kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= units; i += kLanes) {
    for (Index j = 0; j < candidates; ++j) {
      for (Index l = 0; l < kLanes; ++l) {
        const float v = b[i + l] + c[i + l] * a[j];
        sum[j][l] += w[i + l] * (0.0F > v ? 0.0F : v);
      }
    }
  }
  for (; i < units; ++i) {
    for (Index j = 0; j < candidates; ++j) {
      const float v = b[i] + c[i] * a[j];
      sum[j][0] += w[i] * (0.0F > v ? 0.0F : v);
    }
  }
  for (Index j = 0; j < candidates; ++j) values[j] = total(sum[j]);
}

}  // namespace

void add_product(const double* a, Index rows, Index columns, const double* x, double* y) {
  add_columns(a, rows, rows, columns, x, y);
}
void add_product(const float* a, Index rows, Index columns, const float* x, float* y) {
  add_columns(a, rows, rows, columns, x, y);
}
void add_product(const double* a, Index stride, Index rows, Index columns, const double* x,
                 double* y) {
  add_columns(a, stride, rows, columns, x, y);
}

WAGGLE_VECTOR_CLONES
void transposed_product(const float* a, Index rows, Index columns, const float* x, float* y) {
  constexpr Index kTogether = 4;  // columns
  Index j = 0;
  for (; j + kTogether <= columns; j += kTogether) dots<kTogether>(a + j * rows, rows, x, y + j);
  for (; j < columns; ++j) dots<1>(a + j * rows, rows, x, y + j);
}

void add_sparse_product(const double* values, const int* rows, const int* starts, Index columns,
                        const double* x, double* y) {
  // Which columns are skipped cannot be foreseen, so they are sorted out without a branch first.
  constexpr Index kHeld = 256;
  int used[kHeld];
  for (Index first = 0; first < columns; first += kHeld) {
    const Index end = std::min(columns, first + kHeld);
    Index count = 0;
    for (Index j = first; j < end; ++j) {
      used[count] = static_cast<int>(j);
      count += x[j] != 0.0 ? 1 : 0;
    }
    for (Index k = 0; k < count; ++k) {
      const double factor = x[used[k]];
      const int stop = starts[used[k] + 1];
      for (int i = starts[used[k]]; i < stop; ++i) y[rows[i]] += values[i] * factor;
    }
  }
}

void add_row_sparse_product(const double* values, const int* columns, const int* starts, Index rows,
                            const double* x, double* y) {
  // Two sums of pairs: a pair of values is one thing to read, and a sum alone would wait for each
  // of its additions.
  using Pair = Eigen::Array2d;
  for (Index i = 0; i < rows; ++i) {
    const int stop = starts[i + 1];
    int k = starts[i];
    Pair first = Pair::Zero(), second = Pair::Zero();
    for (; k + 4 <= stop; k += 4) {
      const Pair here(x[columns[k]], x[columns[k + 1]]);
      const Pair next(x[columns[k + 2]], x[columns[k + 3]]);
      first += Eigen::Map<const Pair>(values + k) * here;
      second += Eigen::Map<const Pair>(values + k + 2) * next;
    }
    double rest = 0.0;
    for (; k < stop; ++k) rest += values[k] * x[columns[k]];
    y[i] += (first + second).sum() + rest;
  }
}

WAGGLE_VECTOR_CLONES
void relu(double* x, Index size) {
  for (Index i = 0; i < size; ++i) x[i] = 0.0 > x[i] ? 0.0 : x[i];
}

WAGGLE_VECTOR_CLONES
void tanh(double* x, Index size) {
  // tanh|x| = −m / (m + 2) with m = exp(−2|x|) − 1, and with −2|x| = k log 2 + r, |r| ≤ log 2 / 2:
  // m = 2^k (e^r − 1) + (2^k − 1). Near 0 k is 0, and nothing cancels.
  constexpr double kRound = 0x1.8p52;  // a number added to it is rounded to a whole one
  constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
  constexpr double kInverseLog2 = 0x1.71547652b82fep0;
  // tanh 22 is 1 in double. In loops of their own: else g++ makes branches of them.
  for (Index i = 0; i < size; ++i) x[i] = x[i] > 22.0 ? 22.0 : x[i];
  for (Index i = 0; i < size; ++i) x[i] = x[i] < -22.0 ? -22.0 : x[i];
  for (Index i = 0; i < size; ++i) {
    const double v = -2.0 * std::fabs(x[i]);
    const double rounded = v * kInverseLog2 + kRound;
    const double k = rounded - kRound;
    const double r = (v - k * kLog2High) - k * kLog2Low;
    // q = (e^r − 1 − r) / r² = 1/2! + r/3! + …, its even and its odd terms side by side.
    const double s = r * r;
    double even = 1.0 / 479001600.0, odd = 1.0 / 6227020800.0;
    even = even * s + 1.0 / 3628800.0, odd = odd * s + 1.0 / 39916800.0;
    even = even * s + 1.0 / 40320.0, odd = odd * s + 1.0 / 362880.0;
    even = even * s + 1.0 / 720.0, odd = odd * s + 1.0 / 5040.0;
    even = even * s + 1.0 / 24.0, odd = odd * s + 1.0 / 120.0;
    even = even * s + 1.0 / 2.0, odd = odd * s + 1.0 / 6.0;
    const double q = even + r * odd;
    // The last bits of `rounded` are k; 52 places up, they are the exponent of 2^k. (Emscripten 3.1
    // has no std::bit_cast.)
    const auto bits = __builtin_bit_cast(std::uint64_t, rounded);
    const double power = __builtin_bit_cast(double, (bits + 1023) << 52);
    const double m = power * (r + s * q) + (power - 1.0);
    x[i] = std::copysign(-m / (m + 2.0), x[i]);
  }
}

WAGGLE_VECTOR_CLONES
void leak(const double* rates, const double* x, Index size, double* y) {
  for (Index i = 0; i < size; ++i) y[i] = (1.0 - rates[i]) * x[i] + rates[i] * y[i];
}

void relu_candidate_values(const double* b, const double* c, const double* w, Index units,
                           const double* a, Index count, double* values) {
  // Over the range of the candidates most units are 0 throughout or linear throughout. The linear
  // ones add up to one straight line; only units with a kink inside the range are tried on each
  // candidate.
  const auto [lowest, highest] = std::minmax_element(a, a + count);
  constexpr Index kHeld = 64;
  double kinked_b[kHeld], kinked_c[kHeld], kinked_w[kHeld];
  Index held = 0;
  double constant = 0.0, slope = 0.0;
  std::fill_n(values, count, 0.0);
  for (Index i = 0; i < units; ++i) {
    const double at_lowest = b[i] + c[i] * *lowest;
    const double at_highest = b[i] + c[i] * *highest;
    if (at_lowest <= 0.0 && at_highest <= 0.0) continue;
    if (at_lowest >= 0.0 && at_highest >= 0.0) {
      constant += w[i] * b[i];
      slope += w[i] * c[i];
      continue;
    }
    kinked_b[held] = b[i];
    kinked_c[held] = c[i];
    kinked_w[held] = w[i];
    if (++held == kHeld) {
      add_candidate_values(kinked_b, kinked_c, kinked_w, held, a, count, values);
      held = 0;
    }
  }
  add_candidate_values(kinked_b, kinked_c, kinked_w, held, a, count, values);
  for (Index j = 0; j < count; ++j) values[j] += constant + slope * a[j];
}

WAGGLE_VECTOR_CLONES
void relu_candidate_values(const float* b, const float* c, const float* w, Index units,
                           const float* a, Index count, float* values) {
  constexpr Index kTogether = 4;
  Index j = 0;
  for (; j + kTogether <= count; j += kTogether) {
    rectified<kTogether>(b, c, w, units, a + j, values + j);
  }
  for (; j < count; ++j) rectified<1>(b, c, w, units, a + j, values + j);
}

}  // namespace waggle::kernels
