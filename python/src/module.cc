#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <waggle/error.h>
#include <waggle/presets.h>
#include <waggle/progress.h>
#include <waggle/version.h>

#include "bind.h"
#include "linalg/dense.h"
#include "options.h"

namespace nb = nanobind;
using namespace waggle;
using namespace waggle::python;

namespace {

nb::list described(const std::vector<OptionEntry>& entries) {
  nb::list list;
  for (const OptionEntry& entry : entries) {
    list.append(nb::make_tuple(entry.name, entry.table, entry.initial, entry.help));
  }
  return list;
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "What waggle does in C++; the package waggle is what to use.";
  nb::exception<Error>(m, "Error", PyExc_ValueError).attr("__doc__") =
      "Input that waggle refuses. The message names the thing, its value and "
      "the rule it broke.";
  // The bits of a fit must not depend on how many threads the machine has, and are those of the
  // command.
  linalg::leave_threads_to_caller();
  linalg::use_vectors();

  m.attr("__version__") = WAGGLE_VERSION;
  m.def("presets", [] {
    nb::dict all;
    for (const presets::Preset& preset : presets::all()) all[preset.name.c_str()] = preset.text;
    return all;
  });
  m.def("preset_options",
        [](const std::string& name) { return to_python(to_json(presets::by_name(name))); });
  m.def("learn_options", [](const std::string& preset) {
    return described(list_options(presets::by_name(preset), kLearnTables));
  });
  m.def("log_options", [](const std::string& preset) {
    return described(list_options(presets::by_name(preset).fit, kLearnTables));
  });
  m.def("option_table", [](const std::string& preset, const nb::dict& given) {
    const FitOptions fit = presets::by_name(preset).fit;
    return to_python(nlohmann::ordered_json(as_table(given, list_options(fit, kLearnTables))));
  });
  m.def("reservoir_options",
        [] { return described(list_options(presets::plain_reservoir(), {})); });
  m.def("forecasting_options",
        [] { return described(list_options(presets::forecasting(), kSupervisedTables)); });

  bind_state(m);
  bind_controller(m);
  bind_learning(m);
  bind_logs(m);
  bind_series(m);
  bind_environments(m);
}
