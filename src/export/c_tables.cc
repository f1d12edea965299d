#include "export/c_tables.h"

#include <cmath>
#include <utility>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr std::size_t kPerLine = 8;  // numbers in a line

}  // namespace

std::string CTables::number(double value) const {
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{}", value);
  if (real_size_ == 4) {
    const auto narrow = static_cast<float>(value);
    require(std::isfinite(narrow), "weight {}: is beyond the range of float; export as double",
            value);
    text = fmt::format("{}", narrow);
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return real_size_ == 8 ? text : text + "f";
}

void CTables::add_values(const std::string& head, std::vector<std::string> values, Index bytes) {
  bytes_ += std::ssize(values) * bytes;
  if (values.empty()) values.emplace_back("0");
  text_ += fmt::format("static const {}[{}] = {{\n", head, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    text_ += (i % kPerLine == 0 ? "    " : " ") + values[i];
    if (i + 1 < values.size()) text_ += i % kPerLine + 1 == kPerLine ? ",\n" : ",";
  }
  text_ += "};\n";
}

void CTables::add_array(const std::string& name, const Ref<const VectorXd>& values) {
  std::vector<std::string> numbers;
  for (const double value : values) numbers.push_back(number(value));
  add_values("real " + name, std::move(numbers), real_size_);
}

void CTables::add_room(const char* name, Index size) {
  text_ += fmt::format("#define {}_AT {}\n", name, room_);
  room_ += size;
}

}  // namespace waggle
