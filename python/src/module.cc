#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <waggle/base/error.h>
#include <waggle/base/execution.h>
#include <waggle/base/progress.h>
#include <waggle/presets.h>
#include <waggle/version.h>

#include "bind.h"
#include "options.h"

namespace nb = nanobind;
using namespace waggle;
using namespace waggle::python;

NB_MODULE(_core, m) {
  m.doc() = "What waggle does in C++; the package waggle is what to use.";
  nb::exception<Error>(m, "Error", PyExc_ValueError).attr("__doc__") =
      "Input that waggle refuses. The message names the thing, its value and "
      "the rule it broke.";
  // The bits of a fit must not depend on how many threads the machine has, and are those of the
  // command.
  prepare_process();

  m.attr("__version__") = WAGGLE_VERSION;
  m.def("presets", [] {
    nb::dict all;
    for (const presets::Preset& preset : presets::all()) all[preset.name.c_str()] = preset.text;
    return all;
  });
  m.def("preset_options",
        [](const std::string& name) { return to_python(presets::by_name(name)); });
  m.def("learn_options",
        [](const std::string& preset) { return fields_of(presets::by_name(preset)); });
  m.def("log_options",
        [](const std::string& preset) { return fields_of(presets::by_name(preset).fit); });
  m.def("reservoir_options", [] { return fields_of(presets::plain_reservoir()); });
  m.def("forecasting_options", [] { return fields_of(presets::forecasting()); });
  m.def("tune_options", [] { return fields_of(TuneOptions()); });
  m.def("export_options", [] { return fields_of(ExportOptions()); });

  bind_state(m);
  bind_controller(m);
  bind_learning(m);
  bind_logs(m);
  bind_series(m);
  bind_environments(m);
}
