#pragma once

#include <nanobind/nanobind.h>

/// The parts of the extension module, a file each.
namespace waggle::python {

void bind_controller(nanobind::module_& m);
void bind_environments(nanobind::module_& m);
void bind_learning(nanobind::module_& m);
void bind_logs(nanobind::module_& m);
void bind_series(nanobind::module_& m);
void bind_state(nanobind::module_& m);

}  // namespace waggle::python
