#include "options.h"

namespace waggle::python {

nb::object plain(nb::handle value) {
  return nb::hasattr(value, "tolist") ? value.attr("tolist")() : nb::borrow(value);
}

void refuse(const std::string& path, nb::handle value, std::string_view kind) {
  throw Error(fmt::format("{} = {}: must be {}", path,
                          nb::cast<std::string>(nb::str(nb::repr(value))), kind));
}

std::vector<std::string> given_names(const nb::dict& given, const std::string& within) {
  std::vector<std::string> names;
  for (const auto [key, value] : given) {
    names.push_back(within + nb::cast<std::string>(key));
    if (!nb::isinstance<nb::dict>(value)) continue;
    for (std::string& name : given_names(nb::borrow<nb::dict>(value), names.back() + ".")) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace waggle::python
