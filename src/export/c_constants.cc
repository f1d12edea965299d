#include "export/c_constants.h"

#include <cmath>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kPerLine = 8;  // numbers in a line
constexpr std::size_t kWholePerLine = 16;

}  // namespace

std::string CConstants::number(double value) const {
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text;
  if (real_size_ == 8) {
    text = fmt::format("{}", value);
  } else {
    const auto narrow = static_cast<float>(value);
    require(std::isfinite(narrow), "weight {}: is beyond the range of float; export as double",
            value);
    text = fmt::format("{}", narrow);
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return real_size_ == 8 ? text : text + "f";
}

void CConstants::add_numbers(const double* values, Index count, const char* indent) {
  for (Index i = 0; i < count; ++i) {
    text_ += i % kPerLine == 0 ? (i == 0 ? indent : fmt::format(",\n{}", indent)) : ", ";
    text_ += number(values[i]);
  }
  bytes_ += count * real_size_;
}

void CConstants::add_vector(const char* name, const Ref<const VectorXd>& values) {
  text_ += fmt::format("static const @_real @_{}[{}] = {{\n", name, values.size());
  add_numbers(values.data(), values.size(), "    ");
  text_ += "};\n";
}

void CConstants::add_columns(const char* name, const MatrixXd& matrix) {
  text_ +=
      fmt::format("static const @_real @_{}[{}][{}] = {{\n", name, matrix.cols(), matrix.rows());
  for (Index j = 0; j < matrix.cols(); ++j) {
    text_ += "    {\n";
    add_numbers(matrix.col(j).data(), matrix.rows(), "        ");
    text_ += j + 1 < matrix.cols() ? "},\n" : "}};\n";
  }
}

void CConstants::add_indices(const char* type, const char* name, const std::vector<Index>& values,
                             Index bytes) {
  text_ += fmt::format("static const {} @_{}[{}] = {{\n", type, name, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_ += i % kWholePerLine == 0 ? ",\n" : ", ";
    if (i % kWholePerLine == 0) text_ += "    ";
    text_ += fmt::format("{}", values[i]);
  }
  text_ += "};\n";
  bytes_ += static_cast<Index>(values.size()) * bytes;
}

}  // namespace waggle
