#pragma once

#include <cmath>
#include <utility>

#include <nanobind/nanobind.h>

#include <waggle/detail/require.h>
#include <waggle/reservoir.h>

#include "arrays.h"

namespace waggle::python {

/// A memory written in Python: step(x, z) returns the next x.
class PythonReservoir final : public ReservoirSystem {
 public:
  PythonReservoir(nb::object step, Eigen::Index units, Eigen::Index inputs)
      : step_(std::move(step)), units_(units), inputs_(inputs) {
    require(units >= 1, "units = {}: must be at least 1", units);
  }
  PythonReservoir(const PythonReservoir&) = delete;
  PythonReservoir& operator=(const PythonReservoir&) = delete;
  ~PythonReservoir() override {
    const nb::gil_scoped_acquire acquire;
    step_.reset();
  }

  /// The function, for the garbage collector.
  PyObject* function() const { return step_.ptr(); }

  Eigen::Index units() const override { return units_; }
  Eigen::Index inputs() const override { return inputs_; }
  void step(const Eigen::Ref<const Eigen::VectorXd>& x, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    const nb::gil_scoped_acquire acquire;
    const nb::object result = step_(to_numpy(Eigen::VectorXd(x)), to_numpy(Eigen::VectorXd(z)));
    Numbers numbers;
    if (!nb::try_cast(result, numbers)) {
      const nb::object made = nb::module_::import_("numpy").attr("asarray")(
          result, nb::arg("dtype") = "float64", nb::arg("order") = "C");
      require(nb::try_cast(made, numbers), "the reservoir: step must return {} numbers", units_);
    }
    require(static_cast<Eigen::Index>(numbers.shape(0)) == units_,
            "the reservoir: step returned {} numbers, must be {}", numbers.shape(0), units_);
    next = vector_of(numbers);
    for (Eigen::Index i = 0; i < units_; ++i) {
      require(std::isfinite(next[i]), "the reservoir: step returned a number {} that is {}", i,
              next[i]);
    }
  }

 private:
  nb::object step_;
  Eigen::Index units_;
  Eigen::Index inputs_;
};

}  // namespace waggle::python
