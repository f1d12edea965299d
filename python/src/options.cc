#include "options.h"

#include <algorithm>
#include <set>

#include <waggle/error.h>

#include "core/text.h"

namespace waggle::python {

using nlohmann::json;

nlohmann::json to_json_value(nb::handle value, const std::string& where) {
  if (value.is_none()) return nullptr;
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) {
    std::int64_t whole = 0;
    if (nb::try_cast(value, whole)) return whole < 0 ? json(whole) : json(std::uint64_t(whole));
    std::uint64_t natural = 0;
    if (nb::try_cast(value, natural)) return natural;
    throw Error(where + ": the number is too large");
  }
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(nb::str(value));
  if (nb::isinstance<nb::dict>(value)) {
    json table = json::object();
    for (auto [key, item] : nb::borrow<nb::dict>(value)) {
      if (!nb::isinstance<nb::str>(key)) throw Error(where + ": its keys must be text");
      const std::string name = nb::cast<std::string>(nb::str(key));
      table[name] = to_json_value(item, where + "." + name);
    }
    return table;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    json list = json::array();
    for (nb::handle item : value) list.push_back(to_json_value(item, where));
    return list;
  }
  // What NumPy makes of numbers, and arrays of them.
  if (nb::hasattr(value, "tolist")) {
    const nb::object plain = value.attr("tolist")();
    if (!nb::hasattr(plain, "tolist")) return to_json_value(plain, where);
  }
  throw Error(fmt::format("{} = {}: must be a number, true or false, text, None, a list or a dict",
                          where, nb::cast<std::string>(nb::str(nb::repr(value)))));
}

nb::object to_python(const nlohmann::ordered_json& value) {
  switch (value.type()) {
    case json::value_t::boolean:
      return nb::bool_(value.get<bool>());
    case json::value_t::number_integer:
      return nb::int_(value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      return nb::int_(value.get<std::uint64_t>());
    case json::value_t::number_float:
      return nb::float_(value.get<double>());
    case json::value_t::string:
      return nb::str(value.get_ref<const std::string&>().c_str(),
                     value.get_ref<const std::string&>().size());
    case json::value_t::array: {
      nb::list list;
      for (const auto& item : value) list.append(to_python(item));
      return list;
    }
    case json::value_t::object: {
      nb::dict table;
      for (const auto& [key, item] : value.items()) table[key.c_str()] = to_python(item);
      return table;
    }
    case json::value_t::null:
    case json::value_t::binary:
    case json::value_t::discarded:
      break;
  }
  return nb::none();
}

std::vector<OptionEntry> OptionLister::entries() const {
  std::vector<OptionEntry> all = entries_;
  std::set<std::string> seen;
  for (const OptionEntry& entry : all) seen.insert(entry.name);
  for (const std::string& table : tables_) {
    const auto found = inner_.find(table);
    if (found == inner_.end()) continue;
    for (const OptionEntry& entry : found->second) {
      if (seen.insert(entry.name).second) all.push_back(entry);
    }
  }
  return all;
}

namespace {

/// Of two ways to rescale the recurrent matrix, the one not asked for is taken back.
void settle(json& table) {
  if (!table.is_object()) return;
  const bool norm = table.contains("operator_norm");
  const bool radius = table.contains("spectral_radius");
  if (norm && !radius) table["spectral_radius"] = nullptr;
  if (radius && !norm) table["operator_norm"] = nullptr;
  for (auto& [key, value] : table.items()) settle(value);
}

}  // namespace

nlohmann::json as_table(const nb::dict& given, const std::vector<OptionEntry>& entries) {
  json table = json::object();
  json inner = json::object();
  for (auto [key, item] : given) {
    std::string name = nb::cast<std::string>(nb::str(key));
    const json value = to_json_value(item, name);
    if (name == "gamma") name = "discount";  // what everybody calls it
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const OptionEntry& entry) { return entry.name == name; });
    if (found == entries.end()) {
      std::vector<std::string> names = {"gamma"};
      for (const OptionEntry& entry : entries) names.push_back(entry.name);
      throw Error(missing_name("option", name, names));
    }
    (found->table.empty() ? table : inner[found->table])[name] = value;
  }
  for (auto& [name, fields] : inner.items()) {
    if (!table.contains(name)) table[name] = json::object();
    if (!table[name].is_object()) throw Error(name + ": must be a dict");
    table[name].update(fields);
  }
  settle(table);
  return table;
}

}  // namespace waggle::python
