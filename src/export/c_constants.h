#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/export.h>

namespace waggle {

/// Arrays of constants, written in C, and the flash they take. @ stands for the controller's name.
class CConstants {
 public:
  explicit CConstants(Precision precision) : real_size_(precision == Precision::float64 ? 8 : 4) {}

  /// Bytes of an @_real.
  Eigen::Index real_size() const { return real_size_; }
  /// A number of that size, in the fewest digits that give it back. Throws Error if it is beyond
  /// the range of float and that is what it has to be.
  std::string number(double value) const;

  void add_text(const std::string& text) { text_ += text; }
  /// Of constants that are in the text.
  void add_bytes(Eigen::Index count) { bytes_ += count; }
  /// @_NAME[size]. Throws as number().
  void add_vector(const char* name, const Eigen::Ref<const Eigen::VectorXd>& values);
  /// @_NAME[columns][rows], by columns, since they are added up by columns. Throws as number().
  void add_columns(const char* name, const Eigen::MatrixXd& matrix);
  /// @_NAME[size] of a whole-number type of that many bytes.
  void add_indices(const char* type, const char* name, const std::vector<Eigen::Index>& values,
                   Eigen::Index bytes);

  const std::string& text() const { return text_; }
  Eigen::Index bytes() const { return bytes_; }

 private:
  void add_numbers(const double* values, Eigen::Index count, const char* indent);

  Eigen::Index real_size_;
  Eigen::Index bytes_ = 0;
  std::string text_;
};

}  // namespace waggle
