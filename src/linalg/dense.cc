#include "linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <Eigen/Eigenvalues>

#include <waggle/base/error.h>

#ifdef WAGGLE_WITH_LAPACK
#include <memory>
#include <mutex>
#include <new>
#include <vector>
#else
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#endif

namespace waggle::linalg {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::Ref;
using Eigen::VectorXd;

#ifdef WAGGLE_WITH_LAPACK

extern "C" {
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork,
             int* iwork, int* info);
void dgeev_(const char* left, const char* right, const int* n, double* a, const int* lda,
            double* real, double* imaginary, double* vl, const int* ldvl, double* vr,
            const int* ldvr, double* work, const int* lwork, int* info);
void dtpqrt_(const int* m, const int* n, const int* l, const int* nb, double* a, const int* lda,
             double* b, const int* ldb, double* t, const int* ldt, double* work, int* info);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* beta, double* c, const int* ldc);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* lda,
             double* b, const int* ldb, int* info);
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
double dlange_(const char* norm, const int* m, const int* n, const double* a, const int* lda,
               double* work);
void dgecon_(const char* norm, const int* n, const double* a, const int* lda, const double* anorm,
             double* rcond, double* work, int* iwork, int* info);
void dgehrd_(const int* n, const int* ilo, const int* ihi, double* a, const int* lda, double* tau,
             double* work, const int* lwork, int* info);
void dorghr_(const int* n, const int* ilo, const int* ihi, double* a, const int* lda,
             const double* tau, double* work, const int* lwork, int* info);
// Only there if LAPACK is OpenBLAS's.
[[gnu::weak]] int openblas_get_parallel();
[[gnu::weak]] void openblas_set_num_threads(int threads);
[[gnu::weak]] char* openblas_get_corename();
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace {

/// Held during every call of LAPACK. OpenBLAS built without threads keeps its work buffers in
/// globals it does not lock, and silently computes nonsense when two threads call it at once; every
/// other LAPACK may be called freely.
[[nodiscard]] std::unique_lock<std::mutex> guard() {
  static std::mutex mutex;
  const bool unsafe = openblas_get_parallel != nullptr && openblas_get_parallel() == 0;
  return unsafe ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

// LAPACK's iterations fail to converge only on input that should not have got here (NaN).
void check(int info, const char* routine) {
  if (info != 0) {
    throw Error(std::string(routine) + " stopped with code " + std::to_string(info) +
                ": the matrix is not finite");
  }
}

/// dgesdd with vectors ("S") or without ("N"); u, v are only touched with vectors.
void gesdd(const char* job, MatrixXd& a, VectorXd& values, MatrixXd& u, MatrixXd& vt) {
  // LAPACK would print its own words before it gives up.
  if (!a.allFinite()) throw Error("a singular value decomposition: the matrix is not finite");
  const auto lock = guard();
  const int n = static_cast<int>(a.rows());
  std::vector<int> iwork(static_cast<std::size_t>(8) * n);
  values.resize(n);
  int info = 0;
  double best = 0.0;
  const int query = -1;
  dgesdd_(job, &n, &n, a.data(), &n, values.data(), u.data(), &n, vt.data(), &n, &best, &query,
          iwork.data(), &info);
  const int size = static_cast<int>(best);
  std::vector<double> work(static_cast<std::size_t>(size));
  dgesdd_(job, &n, &n, a.data(), &n, values.data(), u.data(), &n, vt.data(), &n, work.data(), &size,
          iwork.data(), &info);
  check(info, "dgesdd");
}

/// c += a · b, or a · bᵀ for "T".
template <class Gemm, class Matrix>
void multiply_add(Gemm gemm, const Ref<const Matrix>& a, const Ref<const Matrix>& b,
                  const char* transposed, Ref<Matrix>& c) {
  if (a.cols() == 0 || c.size() == 0) return;
  const auto lock = guard();
  const int p = static_cast<int>(c.rows());
  const int q = static_cast<int>(c.cols());
  const int m = static_cast<int>(a.cols());
  const int stride_a = static_cast<int>(a.outerStride());
  const int stride_b = static_cast<int>(b.outerStride());
  const int stride_c = static_cast<int>(c.outerStride());
  const typename Matrix::Scalar one = 1;
  gemm("N", transposed, &p, &q, &m, &one, a.data(), &stride_a, b.data(), &stride_b, &one, c.data(),
       &stride_c);
}

constexpr int kPanel = 32;  // reflectors applied together; the fastest of 16, 32, 64 at n = 300

}  // namespace

Svd svd(MatrixXd matrix) {
  Svd result;
  result.u.resize(matrix.rows(), matrix.rows());
  MatrixXd vt(matrix.rows(), matrix.rows());
  gesdd("S", matrix, result.values, result.u, vt);
  result.v = vt.transpose();
  return result;
}

VectorXd singular_values(MatrixXd matrix) {
  VectorXd values;
  MatrixXd unused(1, 1);
  gesdd("N", matrix, values, unused, unused);
  return values;
}

double spectral_radius(MatrixXd matrix) {
  const auto lock = guard();
  const int n = static_cast<int>(matrix.rows());
  VectorXd real(n), imaginary(n);
  double unused = 0.0;
  double best = 0.0;
  const int one = 1;
  const int query = -1;
  int info = 0;
  dgeev_("N", "N", &n, matrix.data(), &n, real.data(), imaginary.data(), &unused, &one, &unused,
         &one, &best, &query, &info);
  const int size = static_cast<int>(best);
  std::vector<double> work(static_cast<std::size_t>(size));
  dgeev_("N", "N", &n, matrix.data(), &n, real.data(), imaginary.data(), &unused, &one, &unused,
         &one, work.data(), &size, &info);
  check(info, "dgeev");
  return std::sqrt((real.array().square() + imaginary.array().square()).maxCoeff());
}

TriangularUpdate::TriangularUpdate(Index columns)
    : reflectors_(std::min<Index>(kPanel, columns), columns), work_(reflectors_.size()) {}

void TriangularUpdate::operator()(MatrixXd& factor, Ref<MatrixXd> rows) {
  const auto lock = guard();
  const int m = static_cast<int>(rows.rows());
  const int p = static_cast<int>(factor.cols());
  const int panel = static_cast<int>(reflectors_.rows());
  const int stride = static_cast<int>(rows.outerStride());
  const int rectangular = 0;
  int info = 0;
  dtpqrt_(&m, &p, &rectangular, &panel, factor.data(), &p, rows.data(), &stride, reflectors_.data(),
          &panel, work_.data(), &info);
  check(info, "dtpqrt");
}

void add_outer_product(const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b,
                       Ref<MatrixXd> c) {
  multiply_add(dgemm_, a, b, "T", c);
}
void add_outer_product(const Ref<const MatrixXf>& a, const Ref<const MatrixXf>& b,
                       Ref<MatrixXf> c) {
  multiply_add(sgemm_, a, b, "T", c);
}

void add_product(const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b, Ref<MatrixXd> c) {
  multiply_add(dgemm_, a, b, "N", c);
}
void add_product(const Ref<const MatrixXf>& a, const Ref<const MatrixXf>& b, Ref<MatrixXf> c) {
  multiply_add(sgemm_, a, b, "N", c);
}

void add_lower_square(const Ref<const MatrixXd>& a, Ref<MatrixXd> c) {
  if (c.size() == 0 || a.cols() == 0) return;
  const auto lock = guard();
  const int p = static_cast<int>(c.rows());
  const int m = static_cast<int>(a.cols());
  const int stride_a = static_cast<int>(a.outerStride());
  const int stride_c = static_cast<int>(c.outerStride());
  const double one = 1.0;
  dsyrk_("L", "N", &p, &m, &one, a.data(), &stride_a, &one, c.data(), &stride_c);
}

PositiveSolver::PositiveSolver(MatrixXd matrix) : factor_(std::move(matrix)) {
  const auto lock = guard();
  const int n = static_cast<int>(factor_.rows());
  int info = 0;
  dpotrf_("L", &n, factor_.data(), &n, &info);
  if (info != 0) throw Error("a matrix is not positive definite: a larger ridge makes it so");
}

MatrixXd PositiveSolver::solve(MatrixXd right) const {
  const auto lock = guard();
  const int n = static_cast<int>(right.rows());
  const int rights = static_cast<int>(right.cols());
  const int stride = static_cast<int>(factor_.rows());
  int info = 0;
  dpotrs_("L", &n, &rights, factor_.data(), &stride, right.data(), &n, &info);
  check(info, "dpotrs");
  return right;
}

namespace {

struct Free {
  void operator()(double* numbers) const { std::free(numbers); }
};

/// Room for so many numbers that begins with a line of the cache. Some sums are taken in another
/// order where they begin elsewhere, which depends on whatever else is in memory.
std::unique_ptr<double[], Free> aligned_room(std::size_t count) {
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = (count * sizeof(double) + kLine) / kLine * kLine;
  auto* room = static_cast<double*>(std::aligned_alloc(kLine, bytes));
  if (room == nullptr) throw std::bad_alloc();
  return std::unique_ptr<double[], Free>(room);
}

}  // namespace

LinearSolution solve(MatrixXd matrix, const MatrixXd& right) {
  const auto lock = guard();
  const int n = static_cast<int>(matrix.rows());
  const int rights = static_cast<int>(right.cols());
  int info = 0;
  std::vector<int> pivots(static_cast<std::size_t>(n));
  const auto work = aligned_room(4 * static_cast<std::size_t>(n));
  const double norm = dlange_("1", &n, &n, matrix.data(), &n, work.get());
  LinearSolution solution{right, 0.0};
  dgesv_(&n, &rights, matrix.data(), &n, pivots.data(), solution.x.data(), &n, &info);
  if (info != 0) return solution;  // a pivot is exactly 0
  dgecon_("1", &n, matrix.data(), &n, &norm, &solution.reciprocal_condition, work.get(),
          pivots.data(), &info);
  return solution;
}

ShiftedSolver::ShiftedSolver(MatrixXd matrix, const VectorXd& right) {
  const auto lock = guard();
  const int n = static_cast<int>(matrix.rows());
  const int one = 1;
  int info = 0;
  VectorXd tau = VectorXd::Zero(std::max(n, 1));
  const int size = 64 * n;
  std::vector<double> work(static_cast<std::size_t>(size));
  dgehrd_(&n, &one, &n, matrix.data(), &n, tau.data(), work.data(), &size, &info);
  check(info, "dgehrd");
  hessenberg_ = matrix;
  for (Index j = 0; j + 2 < n; ++j) hessenberg_.col(j).tail(n - j - 2).setZero();
  dorghr_(&n, &one, &n, matrix.data(), &n, tau.data(), work.data(), &size, &info);
  check(info, "dorghr");
  basis_ = std::move(matrix);
  right_ = basis_.transpose() * right;
}

void leave_threads_to_caller() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

std::string use_vectors() {
  if (openblas_get_corename == nullptr) return "";
#if defined(__x86_64__) && defined(__GNUC__)
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  const bool mistaken = std::string(openblas_get_corename()) == "Prescott" &&
                        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (mistaken && std::getenv(kVariable) == nullptr && gotoblas_dynamic_init != nullptr &&
      gotoblas_dynamic_quit != nullptr) {
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    setenv(kVariable, wide ? "SkylakeX" : "Haswell", 0);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(kVariable);
  }
#endif
  return openblas_get_corename();
}

#else  // Eigen alone

Svd svd(MatrixXd matrix) {
  const Eigen::BDCSVD<MatrixXd> decomposition(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {decomposition.matrixU(), decomposition.singularValues(), decomposition.matrixV()};
}

VectorXd singular_values(MatrixXd matrix) {
  return Eigen::BDCSVD<MatrixXd>(matrix).singularValues();
}

double spectral_radius(MatrixXd matrix) {
  return Eigen::EigenSolver<MatrixXd>(matrix, false).eigenvalues().cwiseAbs().maxCoeff();
}

TriangularUpdate::TriangularUpdate(Index /*columns*/) {}

void TriangularUpdate::operator()(MatrixXd& factor, Ref<MatrixXd> rows) {
  MatrixXd stacked(factor.rows() + rows.rows(), factor.cols());
  stacked << factor, rows;
  const Eigen::HouseholderQR<MatrixXd> qr(stacked);
  factor = qr.matrixQR().topRows(factor.rows()).triangularView<Eigen::Upper>();
}

void add_outer_product(const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b,
                       Ref<MatrixXd> c) {
  c.noalias() += a * b.transpose();
}
void add_outer_product(const Ref<const MatrixXf>& a, const Ref<const MatrixXf>& b,
                       Ref<MatrixXf> c) {
  c.noalias() += a * b.transpose();
}

void add_product(const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b, Ref<MatrixXd> c) {
  c.noalias() += a * b;
}
void add_product(const Ref<const MatrixXf>& a, const Ref<const MatrixXf>& b, Ref<MatrixXf> c) {
  c.noalias() += a * b;
}

void add_lower_square(const Ref<const MatrixXd>& a, Ref<MatrixXd> c) {
  // Eigen divides by the number of columns.
  if (a.cols() > 0) c.selfadjointView<Eigen::Lower>().rankUpdate(a);
}

PositiveSolver::PositiveSolver(MatrixXd matrix) {
  const Eigen::LLT<MatrixXd> llt(matrix);
  if (llt.info() != Eigen::Success) {
    throw Error("a matrix is not positive definite: a larger ridge makes it so");
  }
  factor_ = llt.matrixL();
}

MatrixXd PositiveSolver::solve(MatrixXd right) const {
  const Index n = right.rows();
  const auto lower = factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>();
  lower.solveInPlace(right);
  lower.transpose().solveInPlace(right);
  return right;
}

LinearSolution solve(MatrixXd matrix, const MatrixXd& right) {
  const Eigen::PartialPivLU<MatrixXd> lu(matrix);
  return {lu.solve(right), lu.rcond()};
}

ShiftedSolver::ShiftedSolver(MatrixXd matrix, const VectorXd& right) {
  const Eigen::HessenbergDecomposition<MatrixXd> decomposition(matrix);
  hessenberg_ = decomposition.matrixH();
  basis_ = decomposition.matrixQ();
  right_ = basis_.transpose() * right;
}

void leave_threads_to_caller() {}

std::string use_vectors() { return ""; }

#endif

SymmetricEigen symmetric_eigen(const MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

VectorXd ShiftedSolver::solve(double shift) const {
  // Gaussian elimination of the one subdiagonal, choosing the larger of two rows as pivot.
  const Index n = right_.size();
  MatrixXd u = hessenberg_.transpose();  // rows as columns, so that elimination runs along memory
  u.diagonal().array() += shift;
  VectorXd y = right_;
  for (Index k = 0; k + 1 < n; ++k) {
    auto upper = u.col(k).tail(n - k);
    auto lower = u.col(k + 1).tail(n - k);
    if (std::abs(lower[0]) > std::abs(upper[0])) {
      upper.swap(lower);
      std::swap(y[k], y[k + 1]);
    }
    if (lower[0] == 0.0) continue;
    const double factor = lower[0] / upper[0];
    lower -= factor * upper;
    y[k + 1] -= factor * y[k];
  }
  const double largest = u.diagonal().cwiseAbs().maxCoeff();
  const double smallest = u.diagonal().cwiseAbs().minCoeff();
  if (!(smallest > 1e-15 * largest)) return {};
  u.transpose().triangularView<Eigen::Upper>().solveInPlace(y);
  return basis_ * y;
}

}  // namespace waggle::linalg
