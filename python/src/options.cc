#include "options.h"

#include <algorithm>
#include <set>
#include <utility>

#include <waggle/error.h>

#include "core/text.h"
#include "options/settle.h"

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
  std::vector<OptionEntry> all = own_;
  std::set<std::string> seen;
  for (const OptionEntry& entry : all) seen.insert(entry.name);
  const auto add = [&](const std::vector<OptionEntry>& entries) {
    for (const OptionEntry& entry : entries) {
      if (seen.insert(entry.name).second) all.push_back(entry);
    }
  };
  for (const std::string& table : tables_) {
    const auto found = inner_.find(table);
    if (found != inner_.end()) add(found->second);
  }
  for (const auto& [name, entries] : absent_) add(entries);
  return all;
}

namespace {

/// The table at a path of names with dots between them, which is made where there is none.
json& table_at(json& root, const std::string& path) {
  json* table = &root;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (!table->contains(name)) (*table)[name] = json::object();
    table = &(*table)[name];
    if (!table->is_object()) throw Error(name + ": must be a dict");
    begin = end + 1;
  }
  return *table;
}

}  // namespace

nlohmann::json as_table(const nb::dict& given, const std::vector<OptionEntry>& entries) {
  json table = json::object();
  std::vector<std::pair<OptionEntry, json>> inner;
  for (auto [key, item] : given) {
    std::string name = nb::cast<std::string>(nb::str(key));
    json value = to_json_value(item, name);
    if (name == "gamma") {  // the literature writes γ for it
      if (!JsonSource::number(value)) {
        throw Error(fmt::format("gamma = {}: must be a number", JsonSource::shown(value)));
      }
      name = "discount";
    }
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const OptionEntry& entry) { return entry.name == name; });
    if (found == entries.end()) {
      std::vector<std::string> names = {"gamma"};
      for (const OptionEntry& entry : entries) names.push_back(entry.name);
      throw Error(missing_name("option", name, names));
    }
    if (found->table.empty()) {
      table[name] = std::move(value);
    } else {
      inner.emplace_back(*found, std::move(value));
    }
  }
  // A struct given as a whole first, then what is given of those in it.
  std::stable_sort(inner.begin(), inner.end(), [](const auto& a, const auto& b) {
    const auto depth = [](const std::string& path) {
      return std::count(path.begin(), path.end(), '.');
    };
    return depth(a.first.table) < depth(b.first.table);
  });
  for (auto& [entry, value] : inner) table_at(table, entry.table)[entry.field] = std::move(value);
  settle<JsonSource>(table);
  return table;
}

}  // namespace waggle::python
