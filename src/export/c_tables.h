#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>

#include <waggle/export.h>

namespace waggle {

/// What the C of a controller knows of its model: sizes and numbers as macros, arrays of constants,
/// and where things are in the memory of a state. The code in runtime/ reads them by these names.
class CTables {
 public:
  explicit CTables(Precision precision) : real_size_(precision == Precision::float64 ? 8 : 4) {}

  Eigen::Index real_size() const { return real_size_; }
  /// A number of that size, in the fewest digits that give it back. Throws Error if it is beyond
  /// the range of float and that is what it has to be.
  std::string number(double value) const;

  /// #define NAME value, a whole number or one in double precision.
  template <typename Value>
  void add(const char* name, Value value) {
    text_ += fmt::format("#define {} {}\n", name, value);
  }
  void add_flag(const char* name, bool value) { add(name, value ? 1 : 0); }
  void add_number(const char* name, double value) { add(name, number(value)); }
  /// static const real NAME[size]; a single 0, which takes nothing, if there is none.
  void add_array(const std::string& name, const Eigen::Ref<const Eigen::VectorXd>& values);
  /// static const HEAD[size] of anything else, of that many bytes each.
  void add_values(const std::string& head, std::vector<std::string> values, Eigen::Index bytes);
  /// NAME_AT: so many numbers in the memory of a state.
  void add_room(const char* name, Eigen::Index size);

  const std::string& text() const { return text_; }
  Eigen::Index bytes() const { return bytes_; }  ///< of constants
  Eigen::Index room() const { return room_; }    ///< numbers of a state

 private:
  Eigen::Index real_size_;
  Eigen::Index bytes_ = 0;
  Eigen::Index room_ = 0;
  std::string text_;
};

}  // namespace waggle
