#pragma once

#include <string>
#include <utility>
#include <vector>

namespace waggle {

/// The names of what a document gives, those in tables within after a dot: "reservoir",
/// "reservoir.units". `Source` is an OptionsReader's.
template <typename Source>
std::vector<std::string> given_names(const typename Source::Table& table,
                                     const std::string& within = "") {
  std::vector<std::string> names;
  Source::for_each_key(table, [&](const std::string& key) {
    names.push_back(within + key);
    const auto* node = Source::find(table, key.c_str());
    const auto* inner = node == nullptr ? nullptr : Source::table(*node);
    if (inner == nullptr) return;
    for (std::string& name : given_names<Source>(*inner, within + key + ".")) {
      names.push_back(std::move(name));
    }
  });
  return names;
}

}  // namespace waggle
