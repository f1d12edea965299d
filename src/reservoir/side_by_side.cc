#include "reservoir/side_by_side.h"

#include <algorithm>

#include "reservoir/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WAGGLE_X86_PANELS
#endif

namespace waggle {

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kRows = 24;  // of a panel: three of the widest vectors

// Every number of y is one sum, y + a_1 x_1 + a_2 x_2 + …, in this order, whatever the vectors. The
// products are fused with it where the processor can: else it could not keep up with what it reads.

#ifdef WAGGLE_X86_PANELS

template <Index count>
[[gnu::target("avx512f")]] void add_wide(const double* a, Index columns, const double* const* x,
                                         double* const* y) {
  __m512d sum[count][3];
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < 3; ++i) sum[j][i] = _mm512_loadu_pd(y[j] + 8 * i);
  }
  for (Index k = 0; k < columns; ++k, a += kRows) {
    const __m512d a0 = _mm512_loadu_pd(a), a1 = _mm512_loadu_pd(a + 8),
                  a2 = _mm512_loadu_pd(a + 16);
    for (Index j = 0; j < count; ++j) {
      const __m512d factor = _mm512_set1_pd(x[j][k]);
      sum[j][0] = _mm512_fmadd_pd(a0, factor, sum[j][0]);
      sum[j][1] = _mm512_fmadd_pd(a1, factor, sum[j][1]);
      sum[j][2] = _mm512_fmadd_pd(a2, factor, sum[j][2]);
    }
  }
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < 3; ++i) _mm512_storeu_pd(y[j] + 8 * i, sum[j][i]);
  }
}

/// Half of a panel's rows, for up to four states: that is what sixteen registers hold.
template <Index count>
[[gnu::target("avx2,fma")]] void add_half(const double* a, Index columns, const double* const* x,
                                          double* const* y, Index from) {
  __m256d sum[count][3];
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < 3; ++i) sum[j][i] = _mm256_loadu_pd(y[j] + from + 4 * i);
  }
  a += from;
  for (Index k = 0; k < columns; ++k, a += kRows) {
    const __m256d a0 = _mm256_loadu_pd(a), a1 = _mm256_loadu_pd(a + 4), a2 = _mm256_loadu_pd(a + 8);
    for (Index j = 0; j < count; ++j) {
      const __m256d factor = _mm256_set1_pd(x[j][k]);
      sum[j][0] = _mm256_fmadd_pd(a0, factor, sum[j][0]);
      sum[j][1] = _mm256_fmadd_pd(a1, factor, sum[j][1]);
      sum[j][2] = _mm256_fmadd_pd(a2, factor, sum[j][2]);
    }
  }
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < 3; ++i) _mm256_storeu_pd(y[j] + from + 4 * i, sum[j][i]);
  }
}

template <Index count>
void add_halves(const double* a, Index columns, const double* const* x, double* const* y) {
  constexpr Index kTogether = 4;
  constexpr Index kFirst = count < kTogether ? count : kTogether;
  for (const Index from : {Index{0}, kRows / 2}) {
    add_half<kFirst>(a, columns, x, y, from);
    if constexpr (count > kFirst) {
      add_half<count - kFirst>(a, columns, x + kFirst, y + kFirst, from);
    }
  }
}

#endif

template <Index count>
void add_plain(const double* a, Index columns, const double* const* x, double* const* y) {
  double sum[count][kRows];
  for (Index j = 0; j < count; ++j) std::copy_n(y[j], kRows, sum[j]);
  for (Index k = 0; k < columns; ++k, a += kRows) {
    for (Index j = 0; j < count; ++j) {
      const double factor = x[j][k];
      for (Index i = 0; i < kRows; ++i) sum[j][i] += a[i] * factor;
    }
  }
  for (Index j = 0; j < count; ++j) std::copy_n(sum[j], kRows, y[j]);
}

using AddPanel = void (*)(const double* a, Index columns, const double* const* x, double* const* y);

/// y[j] += the panel · x[j], for so many of them; y[j] has kRows numbers.
template <Index count>
AddPanel panel_of() {
#ifdef WAGGLE_X86_PANELS
  if (__builtin_cpu_supports("avx512f")) return add_wide<count>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_halves<count>;
#endif
  return add_plain<count>;
}

AddPanel add_panel(Index count) {
  static const AddPanel kinds[SideBySide::kMost] = {panel_of<1>(), panel_of<2>(), panel_of<3>(),
                                                    panel_of<4>(), panel_of<5>(), panel_of<6>(),
                                                    panel_of<7>(), panel_of<8>()};
  return kinds[count - 1];
}

}  // namespace

bool SideBySide::suits(const EchoStateNetwork& network) {
  const NetworkWeights weights = network.weights();
  return std::all_of(weights.recurrent.begin(), weights.recurrent.end(),
                     [](const NetworkWeights::Block& block) { return block.dense.size() > 0; });
}

SideBySide::SideBySide(const EchoStateNetwork& network)
    : network_(network), panels_((network.member_units() + kRows - 1) / kRows) {
  const Index n = network.member_units();
  const NetworkWeights weights = network.weights();
  packed_.assign(static_cast<std::size_t>(network.members() * panels_ * kRows * n), 0.0);
  double* to = packed_.data();
  for (const NetworkWeights::Block& block : weights.recurrent) {
    for (Index first = 0; first < n; first += kRows) {
      const Index rows = std::min(kRows, n - first);
      for (Index k = 0; k < n; ++k, to += kRows) {
        std::copy_n(block.dense.data() + k * n + first, rows, to);
      }
    }
  }
}

void SideBySide::step(const double* const* x, const double* const* z, double* const* next,
                      Index count) const {
  eigen_assert(count >= 1 && count <= kMost);
  const Index units = network_.units();
  const Index n = network_.member_units();
  for (Index j = 0; j < count; ++j) {
    Map<VectorXd>(next[j], units) = network_.bias();
    kernels::add_product(network_.input().data(), units, network_.inputs(), z[j], next[j]);
  }
  const AddPanel add = add_panel(count);
  const double* panel = packed_.data();
  const double* from[kMost];
  double* to[kMost];
  double rest[kMost][kRows] = {};  // the last panel's rows, of which some are none of A's
  for (Index member = 0; member < network_.members(); ++member) {
    for (Index j = 0; j < count; ++j) from[j] = x[j] + member * n;
    for (Index first = 0; first < n; first += kRows, panel += kRows * n) {
      const Index rows = std::min(kRows, n - first);
      for (Index j = 0; j < count; ++j) {
        to[j] = next[j] + member * n + first;
        if (rows == kRows) continue;
        std::copy_n(to[j], rows, rest[j]);
        to[j] = rest[j];
      }
      add(panel, n, from, to);
      for (Index j = 0; j < count && rows < kRows; ++j) {
        std::copy_n(rest[j], rows, next[j] + member * n + first);
      }
    }
  }
  for (Index j = 0; j < count; ++j) {
    network_.activate(Map<const VectorXd>(x[j], units), Map<VectorXd>(next[j], units));
  }
}

}  // namespace waggle
