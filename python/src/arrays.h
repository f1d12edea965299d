#pragma once

#include <algorithm>
#include <cstring>
#include <string>
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

/// Copies numbers out of NumPy's arrays. An array's bytes are had faster by asking it for them than
/// by the buffer protocol, which describes them first.
class ArrayReader {
 public:
  ArrayReader() {
    const nb::object dtype = nb::module_::import_("numpy").attr("dtype");
    float64_ = dtype("float64");
    float32_ = dtype("float32");
  }

  /// Copies `size` numbers of an array of float64 or float32, in whatever shape; false if it is
  /// something else.
  bool operator()(nb::handle array, double* to, std::size_t size) const {
    PyObject* found = PyObject_GetAttr(array.ptr(), dtype_.ptr());
    if (found == nullptr) {
      PyErr_Clear();
      return false;
    }
    const nb::object dtype = nb::steal(found);
    const bool is_double = dtype.is(float64_);
    if (!is_double && !dtype.is(float32_)) return false;
    PyObject* made = PyObject_CallMethodObjArgs(array.ptr(), tobytes_.ptr(), nullptr);
    if (made == nullptr) throw nb::python_error();
    const nb::bytes bytes = nb::steal<nb::bytes>(made);
    if (bytes.size() != size * (is_double ? sizeof(double) : sizeof(float))) return false;
    if (is_double) {
      std::memcpy(to, bytes.c_str(), bytes.size());
    } else {
      const auto* numbers = reinterpret_cast<const float*>(bytes.c_str());
      std::copy_n(numbers, size, to);
    }
    return true;
  }

 private:
  nb::object float64_, float32_;
  nb::str dtype_ = nb::str("dtype"), tobytes_ = nb::str("tobytes");
};

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
