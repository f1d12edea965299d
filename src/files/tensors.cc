#include "files/tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <waggle/detail/json.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T>
std::string bytes_of(const T* values, Index count) {
  std::string bytes(static_cast<std::size_t>(count) * sizeof(T), '\0');
  if (count > 0) std::memcpy(bytes.data(), values, bytes.size());
  return bytes;
}

void copy(const Tensor& tensor, void* to) {
  if (!tensor.bytes.empty()) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
}

void require_finite(const std::string& name, const Ref<const MatrixXd>& values) {
  const Entry bad = first_non_finite(values);
  require(bad.row < 0, "tensor {}: entry ({}, {}) is not finite", in_quotes(name), bad.row,
          bad.column);
}

}  // namespace

Tensor matrix_tensor(const Ref<const MatrixXd>& matrix) {
  const RowMajor by_rows = matrix;
  return {Dtype::f64,
          {static_cast<std::uint64_t>(matrix.rows()), static_cast<std::uint64_t>(matrix.cols())},
          bytes_of(by_rows.data(), by_rows.size())};
}

Tensor vector_tensor(const Ref<const VectorXd>& vector) {
  return {Dtype::f64,
          {static_cast<std::uint64_t>(vector.size())},
          bytes_of(vector.data(), vector.size())};
}

Tensor index_tensor(const int* values, Index count) {
  const std::vector<std::int64_t> wide(values, values + count);
  return {Dtype::i64, {wide.size()}, bytes_of(wide.data(), count)};
}

VectorXd Tensors::vector(const std::string& name, Index size, bool finite) {
  const Tensor& tensor = take(name, Dtype::f64, {size});
  VectorXd values(size);
  copy(tensor, values.data());
  if (finite) require_finite(name, values);
  return values;
}

MatrixXd Tensors::matrix(const std::string& name, Index rows, Index columns) {
  const Tensor& tensor = take(name, Dtype::f64, {rows, columns});
  RowMajor values(rows, columns);
  copy(tensor, values.data());
  require_finite(name, values);
  return values;
}

std::vector<int> Tensors::indices(const std::string& name, Index size, Index limit) {
  const Tensor& tensor = take(name, Dtype::i64, {size});
  std::vector<std::int64_t> wide(static_cast<std::size_t>(size));
  copy(tensor, wide.data());
  for (const std::int64_t index : wide) {
    require(index >= 0 && index <= limit, "tensor {}: {} is not in [0, {}]", in_quotes(name), index,
            limit);
  }
  return {wide.begin(), wide.end()};
}

Index Tensors::extent(const std::string& name, std::size_t side, std::size_t dimensions) const {
  const Tensor& tensor = find(name);
  require(tensor.shape.size() == dimensions, "tensor {}: shape [{}], must have {} sides",
          in_quotes(name), fmt::join(tensor.shape, ", "), dimensions);
  // An empty tensor may claim any size on its other sides.
  require(tensor.shape[side] <= std::numeric_limits<std::int32_t>::max(),
          "tensor {}: shape [{}] is too large", in_quotes(name), fmt::join(tensor.shape, ", "));
  return static_cast<Index>(tensor.shape[side]);
}

void Tensors::finish() const {
  for (const auto& [name, tensor] : tensors_) {
    require(taken_.contains(name), "tensor {}: does not belong to this model", in_quotes(name));
  }
}

const Tensor& Tensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "tensor {}: is missing", in_quotes(name));
  return found->second;
}

const Tensor& Tensors::take(const std::string& name, Dtype dtype, const std::vector<Index>& shape) {
  const Tensor& tensor = find(name);
  taken_.insert(name);
  const bool fits = std::equal(
      shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end(),
      [](Index a, std::uint64_t b) { return a >= 0 && static_cast<std::uint64_t>(a) == b; });
  require(tensor.dtype == dtype && fits, "tensor {}: {} of shape [{}], must be {} of [{}]",
          in_quotes(name), name_of(tensor.dtype), fmt::join(tensor.shape, ", "), name_of(dtype),
          fmt::join(shape, ", "));
  return tensor;
}

}  // namespace waggle
