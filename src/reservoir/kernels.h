#pragma once

#include <Eigen/Core>

/// The inner loops of the reservoir, compiled for several vector widths; the machine's own is
/// chosen when the program starts. All widths give the same bits: no sum is taken in another order,
/// and no product is fused with a sum.
namespace waggle::kernels {

/// y += A x for a column-major A (rows × columns), reading only the columns where x is not 0.
/// Half of a ReLU state is 0, and a matrix–vector product is bound by how much of A it reads.
void add_product(const double* a, Eigen::Index rows, Eigen::Index columns, const double* x,
                 double* y);
void add_product(const float* a, Eigen::Index rows, Eigen::Index columns, const float* x, float* y);
/// The same for the first rows of an A whose columns are `stride` numbers apart.
void add_product(const double* a, Eigen::Index stride, Eigen::Index rows, Eigen::Index columns,
                 const double* x, double* y);

/// y = Aᵀ x.
void transposed_product(const float* a, Eigen::Index rows, Eigen::Index columns, const float* x,
                        float* y);

/// y += A x for an A that is sparse by columns: column j has values[i] in row rows[i], for i from
/// starts[j] up to starts[j + 1].
void add_sparse_product(const double* values, const int* rows, const int* starts,
                        Eigen::Index columns, const double* x, double* y);

/// The same for an A that is sparse by rows: row i has values[k] in column columns[k], for k from
/// starts[i] up to starts[i + 1]. Twice as fast as by columns where no x is 0, as it writes less.
void add_row_sparse_product(const double* values, const int* columns, const int* starts,
                            Eigen::Index rows, const double* x, double* y);

/// x = max(x, 0); NaN stays NaN.
void relu(double* x, Eigen::Index size);

/// x = tanh(x) to 3 units in the last place; odd, ±1 at ±∞, and NaN stays NaN.
void tanh(double* x, Eigen::Index size);

/// y_i = (1 − rates_i) x_i + rates_i y_i.
void leak(const double* rates, const double* x, Eigen::Index size, double* y);

/// values_j = Σ_i w_i max(b_i + c_i a_j, 0) for count candidates a_j.
void relu_candidate_values(const double* b, const double* c, const double* w, Eigen::Index units,
                           const double* a, Eigen::Index count, double* values);
/// In single precision, for where they are sought again and again: no unit is looked at by itself.
void relu_candidate_values(const float* b, const float* c, const float* w, Eigen::Index units,
                           const float* a, Eigen::Index count, float* values);

}  // namespace waggle::kernels
