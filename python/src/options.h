#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <waggle/detail/describe_records.h>
#include <waggle/detail/require.h>

/// Options are dicts by the library's own description of them (waggle/base/describe.h). Which
/// keyword argument stands where in them, and whether there is such a one, is found out in
/// _options.py.
namespace waggle::python {

namespace nb = nanobind;

/// A seed is an argument of its own.
inline bool is_apart(std::string_view name) { return name == "seed"; }

template <typename T>
struct Within {
  using Type = T;
  static constexpr bool is_optional = false, is_list = false;
};
template <typename T>
struct Within<std::optional<T>> {
  using Type = T;
  static constexpr bool is_optional = true, is_list = false;
};
template <typename T>
struct Within<std::vector<T>> {
  using Type = T;
  static constexpr bool is_optional = false, is_list = true;
};
/// Whether it has fields of its own.
template <typename T>
constexpr bool is_described =
    std::is_class_v<T> && !std::is_same_v<T, std::string> && !Within<T>::is_list;

/// A number or list of NumPy's as Python's own; anything else as it is.
nb::object plain(nb::handle value);
/// Throws Error: "PATH = VALUE: must be KIND".
[[noreturn]] void refuse(const std::string& path, nb::handle value, std::string_view kind);

/// Reads what a dict gives on top of what options are.
class OptionsReader {
 public:
  explicit OptionsReader(nb::dict given, std::string within = "")
      : given_(std::move(given)), within_(std::move(within)) {}

  template <typename T>
  void operator()(const char* name, T& field, const char* /*help*/) {
    if (!is_apart(name) && given_.contains(name)) read(plain(given_[name]), within_ + name, field);
  }

 private:
  template <typename T>
  static void read(const nb::object& value, const std::string& path, T& field) {
    const bool is_flag = nb::isinstance<nb::bool_>(value);
    if constexpr (std::is_same_v<T, bool>) {
      if (!is_flag) refuse(path, value, "True or False");
      field = nb::cast<bool>(value);
    } else if constexpr (std::is_integral_v<T>) {
      const bool whole = nb::isinstance<nb::int_>(value) && !is_flag;
      if (!whole || !nb::try_cast(value, field)) refuse(path, value, "a whole number");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (is_flag || !nb::try_cast(value, field)) refuse(path, value, "a number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!nb::try_cast(value, field)) refuse(path, value, "text");
    } else if constexpr (std::is_enum_v<T>) {
      std::string name, choices;
      const auto named = nb::try_cast(value, name) ? value_named<T>(name) : std::nullopt;
      for (const auto& choice : Names<T>::all) {
        choices += (choices.empty() ? "one of " : ", ") + std::string(choice.first);
      }
      if (!named) refuse(path, value, choices);
      field = *named;
    } else if constexpr (Within<T>::is_optional) {
      if (value.is_none()) {
        field.reset();
      } else {
        read(value, path, field ? *field : field.emplace());
      }
    } else if constexpr (Within<T>::is_list) {
      field.clear();
      if (value.is_none()) return;
      const bool several = nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
      if (!several && !std::is_arithmetic_v<typename T::value_type>) refuse(path, value, "a list");
      if (!several) return read(value, path, field.emplace_back());
      for (const nb::handle item : value) {
        read(plain(item), fmt::format("{}[{}]", path, field.size()), field.emplace_back());
      }
    } else {
      require(nb::isinstance<nb::dict>(value), "{}: must be a dict", path);
      OptionsReader reader(nb::borrow<nb::dict>(value), path + ".");
      describe(reader, field);
    }
  }

  nb::dict given_;
  std::string within_;
};

template <typename Options>
void apply_options(const nb::dict& given, Options& options) {
  OptionsReader reader(given);
  describe(reader, options);
}

/// The names of what is given, those in dicts within after a dot: "reservoir", "reservoir.units".
std::vector<std::string> given_names(const nb::dict& given, const std::string& within = "");

/// Numbers, texts, lists and whatever is described as Python's own.
template <typename T>
nb::object to_python(const T& value);

struct DictWriter {
  template <typename T>
  void operator()(const char* name, T& field, const char* /*help*/) {
    if (!is_apart(name)) dict[name] = to_python(field);
  }
  nb::dict dict;
};

template <typename T>
nb::object to_python(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return nb::cast(std::string(name_of(value)));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return nb::cast(value);
  } else if constexpr (Within<T>::is_optional) {
    return value ? to_python(*value) : nb::none();
  } else if constexpr (requires { value.begin(); }) {
    nb::list list;
    for (const auto& item : value) list.append(to_python(item));
    return list;
  } else {
    DictWriter writer;
    T copy = value;
    describe(writer, copy);
    return writer.dict;
  }
}

/// Lists (path, kind, value, help) of every field, with dots in paths; the kind is "field", "table"
/// or, of a table that may be absent, "optional".
struct FieldLister {
  template <typename T>
  void operator()(const char* name, T& field, const char* help) {
    if (is_apart(name)) return;
    const std::string path = within + name;
    using Type = std::conditional_t<Within<T>::is_optional, typename Within<T>::Type, T>;
    if constexpr (is_described<Type>) {
      fields.append(nb::make_tuple(path, Within<T>::is_optional ? "optional" : "table", "", help));
      FieldLister inner{fields, path + "."};
      if constexpr (Within<T>::is_optional) {
        Type value = field.value_or(Type());
        describe(inner, value);
      } else {
        describe(inner, field);
      }
    } else {
      fields.append(nb::make_tuple(path, "field", nb::repr(to_python(field)), help));
    }
  }

  nb::list fields;
  std::string within;
};

template <typename Options>
nb::list fields_of(Options options) {
  FieldLister lister;
  describe(lister, options);
  return lister.fields;
}

}  // namespace waggle::python
