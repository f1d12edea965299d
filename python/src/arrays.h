#pragma once

#include <utility>

#include <Eigen/Core>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

/// NumPy's arrays and Eigen's matrices share their numbers: a C-ordered array of T rows of d is a
/// d × T matrix, stored by columns.
namespace waggle::python {

namespace nb = nanobind;

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumpyArray = nb::ndarray<nb::numpy, double, nb::c_contig>;

inline Eigen::Map<const Eigen::MatrixXd> columns_of(const Rows& rows) {
  return {rows.data(), static_cast<Eigen::Index>(rows.shape(1)),
          static_cast<Eigen::Index>(rows.shape(0))};
}
inline Eigen::Map<const Eigen::VectorXd> vector_of(const Numbers& numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.shape(0))};
}

/// A matrix as an array with a row for each of its columns, from column `first` on.
inline NumpyArray to_numpy(Eigen::MatrixXd matrix, Eigen::Index first = 0) {
  auto* kept = new Eigen::MatrixXd(std::move(matrix));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Eigen::MatrixXd*>(p); });
  return NumpyArray(
      kept->data() + first * kept->rows(),
      {static_cast<std::size_t>(kept->cols() - first), static_cast<std::size_t>(kept->rows())},
      owner);
}
inline NumpyArray to_numpy(Eigen::VectorXd vector) {
  auto* kept = new Eigen::VectorXd(std::move(vector));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Eigen::VectorXd*>(p); });
  return NumpyArray(kept->data(), {static_cast<std::size_t>(kept->size())}, owner);
}

}  // namespace waggle::python
