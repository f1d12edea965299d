#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/log.h>

namespace waggle::python {

namespace nb = nanobind;

inline std::vector<std::string> texts(const nb::handle& list) {
  return nb::cast<std::vector<std::string>>(list);
}

/// Columns as (name, numbers or texts).
inline std::vector<LogColumn> read_columns(const nb::list& given, std::vector<nb::object>& kept) {
  std::vector<LogColumn> columns;
  for (nb::handle item : given) {
    LogColumn column;
    column.name = nb::cast<std::string>(item[0]);
    nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> numbers;
    if (nb::try_cast(item[1], numbers)) {
      kept.push_back(nb::borrow(item[1]));
      new (&column.numbers) decltype(column.numbers)(numbers.data(),
                                                     static_cast<Eigen::Index>(numbers.shape(0)),
                                                     Eigen::InnerStride<>(numbers.stride(0)));
    } else {
      column.texts = texts(item[1]);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace waggle::python
