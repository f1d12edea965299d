#include "core/number_text.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace waggle {

#ifdef __cpp_lib_to_chars

std::from_chars_result read_number(const char* first, const char* last, double& value) {
  return std::from_chars(first, last, value);
}

void append_number(double value, std::string& to) {
  char text[32];
  const auto [end, code] = std::to_chars(text, text + sizeof text, value);
  to.append(text, end);
}

#else

std::from_chars_result read_number(const char* first, const char* last, double& value) {
  // strtod also takes blanks before the number, a plus and hexadecimal digits.
  const char* digits = first != last && *first == '-' ? first + 1 : first;
  const bool blank = digits != last && (*digits == ' ' || (*digits >= '\t' && *digits <= '\r'));
  if (digits == last || blank || *digits == '+' || *digits == '-') {
    return {first, std::errc::invalid_argument};
  }
  if (last - digits > 1 && *digits == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    value = digits == first ? 0.0 : -0.0;
    return {digits + 1, std::errc()};
  }
  const std::string text(first, last);
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, std::errc::invalid_argument};
  const char* const stop = first + (end - text.c_str());
  const bool out_of_range = errno == ERANGE && (std::isinf(read) || read == 0.0);
  if (out_of_range) return {stop, std::errc::result_out_of_range};
  value = read;
  return {stop, std::errc()};
}

void append_number(double value, std::string& to) { to += fmt::format("{}", value); }

#endif

}  // namespace waggle
