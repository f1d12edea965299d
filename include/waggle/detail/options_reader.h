#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <waggle/base/error.h>
#include <waggle/detail/json.h>
#include <waggle/detail/text.h>

/// Options in documents of any kind, by their describe(): for programs that have {fmt} and
/// nlohmann's JSON.
namespace waggle {

/// Files keep a seed beside the options rather than in them: the same options serve many seeds.
/// Fields of these names are neither read nor written unless asked for.
inline const std::set<std::string> kKeptApart = {"seed"};

/// Reads options from one table of a document, strictly: a key nobody asks for is an error, as is a
/// value of the wrong kind. Fields that are absent keep their defaults.
///
/// `Source` says what the document is made of: the types Table, Array and Node, and
///
///     const Node* find(table, name)       null if absent
///     void for_each_key(table, visit)     visit(std::string)
///     boolean, whole, natural, number, text(node)
///                                         an optional: empty if the node is of another kind
///     table, array(node)                  null if the node is of another kind
///     bool is_none(node)                  stands for an optional without a value
///     std::string shown(node)             for a message
template <typename Source>
class OptionsReader {
 public:
  using Table = typename Source::Table;
  using Node = typename Source::Node;

  /// `where` names the table in messages. Fields named in `left_out`, here and in tables within,
  /// are not read.
  OptionsReader(const Table& table, std::string where, std::set<std::string> left_out = kKeptApart)
      : table_(table), where_(std::move(where)), left_out_(std::move(left_out)) {}

  template <typename T>
  void operator()(const char* name, T& field, const char* /*help*/) {
    if (left_out_.contains(name)) return;
    known_.emplace_back(name);
    const Node* node = Source::find(table_, name);
    if (node != nullptr) read(*node, path(name), field);
  }

  /// Throws Error if the table has a key that was never read.
  void finish() const {
    Source::for_each_key(table_, [&](const std::string& key) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) return;
      std::string message = fmt::format("{}: no such option", path(printable(key)));
      const std::vector<std::string> near = nearest_names(key, known_, 1);
      if (left_out_.contains(key)) message += " here; it is given by itself";
      if (!near.empty()) message += fmt::format("; did you mean {}?", shown(near[0]));
      throw Error(message);
    });
  }

 private:
  template <typename T>
  struct is_optional : std::false_type {};
  template <typename T>
  struct is_optional<std::optional<T>> : std::true_type {};
  template <typename T>
  struct is_vector : std::false_type {};
  template <typename T>
  struct is_vector<std::vector<T>> : std::true_type {};

  std::string path(std::string_view name) const {
    return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
  }

  template <typename Value>
  static Value expect(std::optional<Value> value, const Node& node, const std::string& path,
                      const char* kind) {
    if (!value) throw Error(fmt::format("{} = {}: must be {}", path, Source::shown(node), kind));
    return *std::move(value);
  }

  template <typename T>
  void read(const Node& node, const std::string& path, T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      field = expect(Source::boolean(node), node, path, "true or false");
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      field = expect(Source::natural(node), node, path,
                     "a whole number that is not negative, and below 2^64");
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t value = expect(Source::whole(node), node, path, "a whole number");
      if (!std::in_range<T>(value)) throw Error(fmt::format("{} = {}: too large", path, value));
      field = static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      field = expect(Source::number(node), node, path, "a number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      field = expect(Source::text(node), node, path, "text");
    } else if constexpr (is_optional<T>::value) {
      if (Source::is_none(node)) {
        field.reset();
      } else {
        read(node, path, field ? *field : field.emplace());  // a table on top of one inherited
      }
    } else if constexpr (is_vector<T>::value) {
      const auto* array = Source::array(node);
      if constexpr (std::is_arithmetic_v<typename T::value_type>) {
        // One number is a list of one, and none is an empty one.
        if (array == nullptr && Source::is_none(node)) {
          field.clear();
          return;
        }
        if (array == nullptr && Source::number(node)) {
          field.assign(1, {});
          read(node, path, field[0]);
          return;
        }
      }
      if (array == nullptr) throw Error(fmt::format("{}: must be a list", path));
      field.clear();
      for (const Node& item : *array) {
        read(item, fmt::format("{}[{}]", path, field.size()), field.emplace_back());
      }
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(node, path, field);
    } else {
      const Table* table = Source::table(node);
      if (table == nullptr) throw Error(fmt::format("{}: must be a table", path));
      OptionsReader reader(*table, path, left_out_);
      describe(reader, field);
      reader.finish();
    }
  }

  template <typename Enum>
  static void read_enum(const Node& node, const std::string& path, Enum& field) {
    const std::optional<std::string> text = Source::text(node);
    std::string choices;
    for (const auto& [name, value] : Names<Enum>::all) {
      if (text && *text == name) {
        field = value;
        return;
      }
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", name);
    }
    throw Error(
        fmt::format("{} = '{}': must be one of {}", path, printable(text.value_or("?")), choices));
  }

  const Table& table_;
  std::string where_;
  std::set<std::string> left_out_;
  std::vector<std::string> known_;
};

/// Of two ways to rescale the recurrent matrix, the one not asked for is taken back: options that
/// are read on top of others have one of them already, and who gives the other means it alone; who
/// only takes one back leaves the other as it is. To be called on what is given, before that is
/// read; tables within are looked at too. `Source` is an OptionsReader's, with
///
///     bool is_none(node)                  stands for an optional without a value
///     void set_none(table, name)          as is_none understands
///     void for_each_table(table, visit)   visit(Table&), of those right below
template <typename Source>
void settle(typename Source::Table& table) {
  const auto* norm = Source::find(table, "operator_norm");
  const auto* radius = Source::find(table, "spectral_radius");
  if (norm && !radius && !Source::is_none(*norm)) Source::set_none(table, "spectral_radius");
  if (radius && !norm && !Source::is_none(*radius)) Source::set_none(table, "operator_norm");
  Source::for_each_table(table, [](typename Source::Table& inner) { settle<Source>(inner); });
}

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
