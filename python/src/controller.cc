#include "controller.h"

#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <waggle/detail/require.h>
#include <waggle/export.h>
#include <waggle/model_file.h>

#include "arrays.h"
#include "bind.h"
#include "options.h"
#include "python_reservoir.h"
#include "results.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

Learnt usable(Learnt learnt) {
  require(learnt.usable(), "nothing was learnt: {}",
          learnt.warnings.empty() ? "there is no controller" : learnt.warnings.back());
  return learnt;
}

}  // namespace

Held::Held(Learnt learnt, std::optional<TuneResult> tuned)
    : learnt_(usable(std::move(learnt))), tuned_(std::move(tuned)), missing_(learnt_) {}

Held::Held(Model model) : Held(Learnt{std::move(model), Trajectory(1, 0), {}}) {}

void Held::forget() {
  group_.reset();
  learnt_.controller.reservoir.reset();
}

void Held::require_suits(const State* state, Index copies, const Columns* applied) const {
  if (state == nullptr) return;
  const Index n = learnt_.controller.reservoir->units();
  require(state->memory.cols() == copies, "the state is of {} copies, the observations are of {}",
          state->memory.cols(), copies);
  require(state->memory.rows() == n,
          "the state is another controller's: it has {} numbers, this one remembers {}",
          state->memory.rows(), n);
  require(state->held.rows() == missing_.size(),
          "the state is another controller's: {} of its channels may be missing, of this one {}",
          state->held.rows(), missing_.size());
  if (applied == nullptr) return;
  require(applied->cols() == copies, "applied: {} actions for {} observations", applied->cols(),
          copies);
}

/// The group is where the state's last step has put this copy, or would have with what was applied.
void Held::go_on(const State& state, Index copy, const Columns* applied) {
  if (!learnt_.controller.limits.any() && applied == nullptr) return;
  const std::uint64_t steps = state.clocks[static_cast<std::size_t>(copy)];
  group_->resume(copy, state.last_step(copy), static_cast<Index>(steps));
  if (applied == nullptr) return;
  try {
    group_->applied(copy, applied->col(copy));
  } catch (const Error& error) {
    throw Error(applied->cols() == 1 ? error.what()
                                     : fmt::format("copy {}: {}", copy, error.what()));
  }
}

State Held::decide(const Eigen::Ref<const MatrixXd>& observations, const double* rewards,
                   const State* state, const bool* starts, const Columns* applied) {
  const Controller& controller = learnt_.controller;
  require(learnt_.usable(), "the controller is no more");
  const InputLayout& layout = controller.layout;
  const Index copies = observations.cols();
  require(observations.rows() == layout.observation_size, "an observation of size {}, must be {}",
          observations.rows(), layout.observation_size);
  require_suits(state, copies, applied);
  const std::scoped_lock lock(mutex_);
  MatrixXd memory =
      state == nullptr ? MatrixXd::Zero(controller.reservoir->units(), copies) : state->memory;
  if (group_) {
    group_->set_states(std::move(memory));
  } else {
    group_.emplace(controller, std::move(memory));
  }
  State after;
  after.clocks.assign(static_cast<std::size_t>(copies), 0);
  after.held.resize(missing_.size(), copies);
  after.rewards.setZero(copies);
  after.observations.resize(layout.observation_size, copies);
  after.actions.setZero(controller.actions.size(), copies);
  percepts_.resize(static_cast<std::size_t>(copies));
  draws_.resize(percepts_.size(), Random(0).at(Purpose::policy));
  all_.resize(percepts_.size());
  for (Index i = 0; i < copies; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool fresh = state == nullptr || (starts != nullptr && starts[i]);
    if (fresh) {
      group_->begin_episode(i);
    } else {
      go_on(*state, i, applied);
    }
    const std::uint64_t clock = fresh ? 0 : state->clocks[at];
    percepts_[at].reward = rewards == nullptr ? 0.0 : rewards[i];
    percepts_[at].observation = observations.col(i);
    if (fresh) {
      missing_.fill(percepts_[at].observation, missing_.means());
    } else {
      missing_.fill(percepts_[at].observation, state->held.col(i));
    }
    missing_.keep(percepts_[at].observation, after.held.col(i));
    draws_[at] = Random(0).at(Purpose::policy, clock);
    after.clocks[at] = clock + 1;
    after.rewards[i] = percepts_[at].reward;
    after.observations.col(i) = percepts_[at].observation;
    all_[at] = i;
  }
  after.before = group_->states();
  group_->act(percepts_, all_, draws_, after.actions);
  after.memory = group_->states();
  return after;
}

namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple predict(Held& held, const Rows& observations, const std::optional<Numbers>& rewards,
                  const State* state, const std::optional<Flags>& starts,
                  const std::optional<Rows>& applied) {
  const auto copies = observations.shape(0);
  require(!rewards || rewards->shape(0) == copies, "{} rewards for {} observations",
          rewards ? rewards->shape(0) : 0, copies);
  require(!starts || starts->shape(0) == copies, "{} episode starts for {} observations",
          starts ? starts->shape(0) : 0, copies);
  std::optional<Held::Columns> told;
  if (applied) told.emplace(columns_of(*applied));
  State after;
  {
    const nb::gil_scoped_release release;
    after = held.decide(columns_of(observations), rewards ? rewards->data() : nullptr, state,
                        starts ? starts->data() : nullptr, told ? &*told : nullptr);
  }
  return nb::make_tuple(to_numpy(after.actions), std::move(after));
}

/// All a person may want to know of a model, as plain data.
nb::dict summary(const Held& held) {
  const Learnt& model = held.learnt();
  const Controller& controller = model.controller;
  nb::dict result;
  result["environment"] = to_python(model.environment);
  result["lower"] = to_python(controller.actions.lower);
  result["upper"] = to_python(controller.actions.upper);
  const std::string_view kind = controller.reservoir->kind();
  result["kind"] = kind == PredictiveNetwork::kKind  ? "predictive states"
                   : kind == EchoStateNetwork::kKind ? "echo state network"
                                                     : "a memory of your own";
  result["units"] = controller.reservoir->units();
  result["features"] = controller.reservoir->features();
  result["seed"] = model.options.reservoir.seed;
  result["discount"] = model.options.value.discount;
  nb::dict ranges;
  ranges["minimum"] = to_python(model.ranges.minimum);
  ranges["maximum"] = to_python(model.ranges.maximum);
  ranges["mean"] = to_python(model.ranges.mean);
  ranges["deviation"] = to_python(model.ranges.deviation);
  result["ranges"] = ranges;
  result["fit"] = to_python(model.diagnostics);
  if (model.improvement) result["improvement"] = to_python(*model.improvement);
  if (model.predictions) {
    const PredictionQuality& quality = *model.predictions;
    nb::dict predictions;
    predictions["horizons"] = to_python(quality.horizons);
    predictions["names"] = to_python(quality.names);
    nb::list explained;
    for (const auto& column : quality.explained.colwise()) {
      explained.append(to_python(VectorXd(column)));
    }
    predictions["explained"] = explained;
    result["predictions"] = predictions;
  }
  nb::list rounds;
  for (const LearnRound& round : model.rounds) rounds.append(to_python(round));
  result["rounds"] = rounds;
  result["options"] = to_python(model.options);
  if (model.collected) result["collected"] = to_python(*model.collected);
  result["warnings"] = to_python(model.warnings);
  result["provenance"] = to_python(model.provenance);
  result["interface"] = model.interface;
  return result;
}

nb::bytes to_bytes(const Held& held) {
  std::string bytes;
  {
    const nb::gil_scoped_release release;
    bytes = serialise(held.learnt());
  }
  return nb::bytes(bytes.data(), bytes.size());
}

/// Writes files: what the disk refuses is an OSError in Python.
template <typename Work>
void writing(const Work& work) {
  try {
    const nb::gil_scoped_release release;
    work();
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
    throw nb::python_error();
  }
}

nb::dict exported(const Held& held, const std::string& path, const nb::dict& given) {
  ExportOptions options;
  apply_options(given, options);
  ExportedC c;
  writing([&] { c = export_c(std::filesystem::path(path), held.learnt(), options); });
  nb::dict takes;
  takes["name"] = c.name;
  takes["flash_bytes"] = c.flash_bytes;
  takes["ram_bytes"] = c.ram_bytes;
  takes["multiply_adds"] = c.multiply_adds;
  return takes;
}

nb::tuple experience(const Held& held) {
  const Trajectory& rows = held.learnt().experience;
  VectorXd ends(rows.steps());
  for (Index k = 0; k < rows.steps(); ++k) ends[k] = static_cast<double>(rows.end(k));
  return nb::make_tuple(to_numpy(VectorXd(rows.rewards())), to_numpy(MatrixXd(rows.actions())),
                        to_numpy(MatrixXd(rows.observations())), to_numpy(std::move(ends)));
}

/// A memory in Python may know, through its globals, the controller that has it: the garbage
/// collector has to see that way to find out that nobody else knows either.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  if (!nb::inst_ready(self)) return 0;
  const Learnt& learnt = nb::inst_ptr<Held>(self)->learnt();
  if (const auto* own = dynamic_cast<const PythonReservoir*>(learnt.controller.reservoir.get())) {
    Py_VISIT(own->function());
  }
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Held>(self)->forget();
  return 0;
}

PyType_Slot held_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(clear)},
                            {0, nullptr}};

}  // namespace

void bind_controller(nb::module_& m) {
  nb::class_<Held>(m, "Model", nb::type_slots(held_slots),
                   "A learnt controller, as the package's Controller wraps it.")
      .def_static(
          "load",
          [](const std::string& path) {
            std::optional<Model> model;
            {
              const nb::gil_scoped_release release;
              model = load_model(path);
            }
            return new Held(*std::move(model));
          },
          nb::rv_policy::take_ownership)
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, const std::string& name) {
            return new Held(parse_model({bytes.c_str(), bytes.size()}, name));
          },
          nb::rv_policy::take_ownership)
      .def("to_bytes", &to_bytes)
      .def("save",
           [](const Held& held, const std::string& path) {
             writing([&] { save_model(path, held.learnt()); });
           })
      .def("predict", &predict, nb::arg("observations"), nb::kw_only(), nb::arg("rewards").none(),
           nb::arg("state").none(), nb::arg("starts").none(), nb::arg("applied").none())
      .def("summary", &summary)
      .def("tuning", [](const Held& held) { return to_python(held.tuned()); })
      .def("export_c", &exported)
      .def("experience", &experience)
      .def("experience_rows", [](const Held& held) { return held.learnt().experience.steps(); })
      .def_prop_rw(
          "interface", [](const Held& held) { return held.learnt().interface; },
          [](Held& held, const std::string& text) { held.learnt().interface = text; });
}

}  // namespace waggle::python
