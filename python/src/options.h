#pragma once

#include <map>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nlohmann/json.hpp>

#include "files/options_json.h"
#include "options/describe_records.h"

/// Keyword arguments are the library's own description of its options (waggle/describe.h).
namespace waggle::python {

namespace nb = nanobind;

/// A Python value of numbers, texts, lists and dictionaries as JSON, and back. Throws Error, naming
/// `where`, for anything else.
nlohmann::json to_json_value(nb::handle value, const std::string& where);
nb::object to_python(const nlohmann::ordered_json& value);

/// One option as a person may give it.
struct OptionEntry {
  std::string name;
  std::string table;    ///< where it stands, with dots between tables; empty: at the top
  std::string field;    ///< what it is called there
  std::string initial;  ///< its value unless given, as text
  std::string help;
};

template <typename T>
constexpr bool is_list = false;
template <typename T>
constexpr bool is_list<std::vector<T>> = true;
template <typename T>
constexpr bool is_list<std::optional<std::vector<T>>> = true;

/// Walks a description and lists the fields: those at the top, those in the tables named, and, of
/// structs that may be absent, theirs with its name in front, as predictive_frames.
class OptionLister {
 public:
  explicit OptionLister(std::vector<std::string> tables, std::string table = "",
                        std::string prefix = "")
      : tables_(std::move(tables)), table_(std::move(table)), prefix_(std::move(prefix)) {}

  template <typename T>
  void operator()(const char* name, T& field, const char* help) {
    if (kKeptApart.contains(name)) return;
    constexpr bool is_struct = std::is_class_v<T> && !is_optional_number<T> &&
                               !std::is_same_v<T, std::string> && !is_list<T>;
    OptionEntry entry{prefix_ + name, table_, name, "", help};
    if constexpr (!is_struct) {
      JsonWriter writer;
      writer(name, field, help);
      entry.initial = writer.take()[name].dump();
    }
    own_.push_back(std::move(entry));
    if constexpr (is_struct && is_optional_struct<T>) {
      typename T::value_type within = field.value_or(typename T::value_type());
      absent_[name] = entries_of(within, name, prefix_ + name + "_");
    } else if constexpr (is_struct) {
      if (std::find(tables_.begin(), tables_.end(), name) == tables_.end()) return;
      inner_[name] = entries_of(field, name, "");
    }
  }

  /// The top first, then the tables in the order given, then structs that may be absent; a name
  /// that was there before is left out.
  std::vector<OptionEntry> entries() const;

 private:
  template <typename T>
  std::vector<OptionEntry> entries_of(T& within, const std::string& name,
                                      const std::string& prefix) const {
    OptionLister lister({}, table_.empty() ? name : table_ + "." + name, prefix);
    describe(lister, within);
    return lister.entries();
  }

  std::vector<std::string> tables_;
  std::string table_;
  std::string prefix_;
  std::vector<OptionEntry> own_;
  std::map<std::string, std::vector<OptionEntry>> inner_, absent_;  // by name
};

/// The tables whose fields may be given by their names alone.
inline const std::vector<std::string> kLearnTables = {"value", "reservoir", "greedy", "limits",
                                                      "exploration"};
inline const std::vector<std::string> kSupervisedTables = {"reservoir"};

template <typename Options>
std::vector<OptionEntry> list_options(Options options, const std::vector<std::string>& tables) {
  OptionLister lister(tables);
  describe(lister, options);
  return lister.entries();
}

/// Keyword arguments as one table: fields of inner tables go to where they stand, on top of what is
/// given of these as a whole. Throws Error, naming the nearest, for a name that is no option.
nlohmann::json as_table(const nb::dict& given, const std::vector<OptionEntry>& entries);

/// Reads keyword arguments on top of what the options are.
template <typename Options>
void apply_options(const nb::dict& given, Options& options,
                   const std::vector<std::string>& tables) {
  const nlohmann::json table = as_table(given, list_options(options, tables));
  JsonReader reader(table, "");
  describe(reader, options);
  reader.finish();
}

}  // namespace waggle::python
