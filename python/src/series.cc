#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/detail/require.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>
#include <waggle/supervised.h>

#include "arrays.h"
#include "bind.h"
#include "options.h"
#include "watcher.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 1024;  // steps between two looks whether Ctrl-C was pressed

VectorXd state_or_zero(const std::optional<Numbers>& state, Index units) {
  if (!state) return VectorXd::Zero(units);
  require(static_cast<Index>(state->shape(0)) == units, "state: {} numbers, must be {}",
          state->shape(0), units);
  VectorXd start = vector_of(*state);
  require(start.allFinite(), "state: its numbers must be finite");
  return start;
}

EchoStateNetwork* draw(const nb::dict& given, Index inputs, std::uint64_t seed) {
  ReservoirOptions options = presets::plain_reservoir();
  apply_options(given, options);
  options.seed = seed;
  options.validate();
  const nb::gil_scoped_release release;
  return new EchoStateNetwork(options, inputs);
}

NumpyArray run(const EchoStateNetwork& network, const Rows& rows,
               const std::optional<Numbers>& state) {
  const auto z = columns_of(rows);
  require(z.rows() == network.inputs(), "X: {} columns, the reservoir takes {}", z.rows(),
          network.inputs());
  MatrixXd states(network.units(), z.cols() + 1);
  states.col(0) = state_or_zero(state, network.units());
  {
    const nb::gil_scoped_release release;
    for (Index first = 0; first < z.cols(); first += kBlock) {
      const Index count = std::min(kBlock, z.cols() - first);
      network.drive(z.middleCols(first, count), states.middleCols(first, count + 1));
      require(states.col(first + count).allFinite(),
              "the reservoir's states grow without bound, within {} steps: lower its "
              "spectral_radius or operator_norm",
              first + count);
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
  return to_numpy(std::move(states), 1);
}

Supervised* fit(const Rows& inputs, const Rows& targets, const std::vector<Index>& ends,
                const nb::dict& given, std::uint64_t seed) {
  SupervisedOptions options = presets::forecasting();
  apply_options(given, options);
  options.reservoir.seed = seed;
  Watcher watcher{nb::none()};
  const nb::gil_scoped_release release;
  return new Supervised(
      fit_supervised(columns_of(inputs), columns_of(targets), ends, options, watcher.callback()));
}

nb::tuple predict_rows(const Supervised& model, const Rows& inputs,
                       const std::optional<Numbers>& state) {
  VectorXd at = state_or_zero(state, model.reservoir->units());
  const auto z = columns_of(inputs);
  require(z.rows() == model.reservoir->inputs(), "X: {} columns, the model takes {}", z.rows(),
          model.reservoir->inputs());
  MatrixXd predictions;
  {
    const nb::gil_scoped_release release;
    predictions = predict(model, z, at);
  }
  return nb::make_tuple(to_numpy(std::move(predictions)), to_numpy(std::move(at)));
}

NumpyArray free_run(const Supervised& model, const Numbers& state, Index steps) {
  VectorXd at = state_or_zero(state, model.reservoir->units());
  Forecast result;
  {
    const nb::gil_scoped_release release;
    result = forecast(model, std::move(at), steps);
  }
  return to_numpy(std::move(result.predictions));
}

}  // namespace

void bind_series(nb::module_& m) {
  nb::class_<EchoStateNetwork>(m, "Network", "An echo state network.")
      .def_static("draw", &draw, nb::rv_policy::take_ownership, nb::arg("options"),
                  nb::arg("inputs"), nb::arg("seed"))
      .def("run", &run, nb::arg("rows"), nb::arg("state").none())
      .def_prop_ro("inputs", &EchoStateNetwork::inputs)
      .def("recurrent",
           [](const EchoStateNetwork& n) { return to_numpy(MatrixXd(n.recurrent().transpose())); })
      .def("input",
           [](const EchoStateNetwork& n) { return to_numpy(MatrixXd(n.input().transpose())); })
      .def("bias", [](const EchoStateNetwork& n) { return to_numpy(VectorXd(n.bias())); })
      .def("leak", [](const EchoStateNetwork& n) { return to_numpy(VectorXd(n.leak())); });

  nb::class_<Supervised>(m, "Supervised", "A readout of an echo state network.")
      .def_static("fit", &fit, nb::rv_policy::take_ownership, nb::arg("inputs"), nb::arg("targets"),
                  nb::arg("ends"), nb::arg("options"), nb::arg("seed"))
      .def("predict", &predict_rows, nb::arg("inputs"), nb::arg("state").none())
      .def("free_run", &free_run, nb::arg("state"), nb::arg("steps"))
      .def("options", [](const Supervised& model) { return to_python(model.options); })
      .def("to_bytes",
           [](const Supervised& model) {
             const std::string bytes = serialise(model);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, const std::string& name) {
            return new Supervised(parse_supervised({bytes.c_str(), bytes.size()}, name));
          },
          nb::rv_policy::take_ownership);
}

}  // namespace waggle::python
