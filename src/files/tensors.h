#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "files/safetensors.h"

namespace waggle {

// Into a file: matrices row by row, whole numbers in 64 bits.
Tensor matrix_tensor(const Eigen::Ref<const Eigen::MatrixXd>& matrix);
Tensor vector_tensor(const Eigen::Ref<const Eigen::VectorXd>& vector);
Tensor index_tensor(const int* values, Eigen::Index count);

/// Hands out the tensors of a file, each of the shape it must have, and knows what is left over.
/// Every shape is held against the bytes there are before anything of that size is made. Throws
/// Error, naming the tensor.
class Tensors {
 public:
  /// They must outlive this.
  explicit Tensors(const std::map<std::string, Tensor>& tensors) : tensors_(tensors) {}

  bool has(const std::string& name) const { return tensors_.contains(name); }

  Eigen::VectorXd vector(const std::string& name) { return vector(name, extent(name, 0, 1)); }
  Eigen::VectorXd vector(const std::string& name, Eigen::Index size, bool finite = true);
  /// With any number of columns.
  Eigen::MatrixXd matrix(const std::string& name, Eigen::Index rows) {
    return matrix(name, rows, extent(name, 1, 2));
  }
  Eigen::MatrixXd matrix(const std::string& name, Eigen::Index rows, Eigen::Index columns);
  /// Whole numbers in [0, limit].
  std::vector<int> indices(const std::string& name, Eigen::Index size, Eigen::Index limit);
  /// One side of a tensor that must have `dimensions`.
  Eigen::Index extent(const std::string& name, std::size_t side, std::size_t dimensions) const;

  /// Throws Error if there is a tensor nobody asked for.
  void finish() const;

 private:
  const Tensor& find(const std::string& name) const;
  const Tensor& take(const std::string& name, Dtype dtype, const std::vector<Eigen::Index>& shape);

  const std::map<std::string, Tensor>& tensors_;
  std::set<std::string> taken_;
};

}  // namespace waggle
