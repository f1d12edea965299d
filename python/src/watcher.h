#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>

#include <waggle/base/progress.h>

namespace waggle::python {

namespace nb = nanobind;

/// Tells Python of progress, ten times a second, and looks whether Ctrl-C was pressed.
class Watcher {
 public:
  explicit Watcher(nb::object callback) : callback_(std::move(callback)) {}

  ProgressCallback callback() {
    return [this](const Progress& now) {
      tell(now.what, now.done, now.total);
      return true;
    };
  }
  void tell(std::string_view what, double done, double total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100) && done < total) return;
    last_ = now;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback_.is_none()) callback_(nb::str(what.data(), what.size()), done, total);
  }

 private:
  nb::object callback_;
  std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace waggle::python
