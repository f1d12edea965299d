#include "controller.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <waggle/export.h>
#include <waggle/model_file.h>

#include "arrays.h"
#include "bind.h"
#include "core/check.h"
#include "options.h"
#include "options/results_json.h"
#include "python_reservoir.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::ordered_json;

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

Held::Decision Held::decide(const Eigen::Ref<const MatrixXd>& observations, const double* rewards,
                            const State* state, const bool* starts) {
  const Controller& controller = learnt_.controller;
  require(learnt_.usable(), "the controller is no more");
  const InputLayout& layout = controller.layout;
  const Index copies = observations.cols();
  require(observations.rows() == layout.observation_size, "an observation of size {}, must be {}",
          observations.rows(), layout.observation_size);
  require(state == nullptr || state->memory.cols() == copies,
          "the state is of {} copies, the observations are of {}",
          state == nullptr ? 0 : state->memory.cols(), copies);
  const Index n = controller.reservoir->units();
  require(state == nullptr || state->memory.rows() == n,
          "the state is another controller's: it has {} numbers, this one remembers {}",
          state == nullptr ? 0 : state->memory.rows(), n);
  require(state == nullptr || state->held.rows() == missing_.size(),
          "the state is another controller's: {} of its channels may be missing, of this one {}",
          state == nullptr ? 0 : state->held.rows(), missing_.size());
  const std::scoped_lock lock(mutex_);
  MatrixXd memory = state == nullptr ? MatrixXd::Zero(n, copies) : state->memory;
  if (group_) {
    group_->set_states(std::move(memory));
  } else {
    group_.emplace(controller, std::move(memory));
  }
  Decision result;
  result.actions.setZero(controller.actions.size(), copies);
  result.state.clocks.assign(static_cast<std::size_t>(copies), 0);
  result.state.held.resize(missing_.size(), copies);
  percepts_.resize(static_cast<std::size_t>(copies));
  draws_.resize(percepts_.size(), Random(0).at(Purpose::policy));
  all_.resize(percepts_.size());
  for (Index i = 0; i < copies; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool fresh = state == nullptr || (starts != nullptr && starts[i]);
    if (fresh) group_->begin_episode(i);
    const std::uint64_t clock = fresh ? 0 : state->clocks[at];
    percepts_[at].reward = rewards == nullptr ? 0.0 : rewards[i];
    percepts_[at].observation = observations.col(i);
    if (fresh) {
      missing_.fill(percepts_[at].observation, missing_.means());
    } else {
      missing_.fill(percepts_[at].observation, state->held.col(i));
    }
    missing_.keep(percepts_[at].observation, result.state.held.col(i));
    draws_[at] = Random(0).at(Purpose::policy, clock);
    result.state.clocks[at] = clock + 1;
    all_[at] = i;
  }
  group_->act(percepts_, all_, draws_, result.actions);
  result.state.memory = group_->states();
  return result;
}

namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple predict(Held& held, const Rows& observations, const std::optional<Numbers>& rewards,
                  const State* state, const std::optional<Flags>& starts) {
  const auto copies = observations.shape(0);
  require(!rewards || rewards->shape(0) == copies, "{} rewards for {} observations",
          rewards ? rewards->shape(0) : 0, copies);
  require(!starts || starts->shape(0) == copies, "{} episode starts for {} observations",
          starts ? starts->shape(0) : 0, copies);
  Held::Decision decision;
  {
    const nb::gil_scoped_release release;
    decision = held.decide(columns_of(observations), rewards ? rewards->data() : nullptr, state,
                           starts ? starts->data() : nullptr);
  }
  return nb::make_tuple(to_numpy(std::move(decision.actions)), std::move(decision.state));
}

/// The same for one observation that is an array of the right shape, with as little ado as can be.
/// The action is a whole number if it is a choice, else an array.
nb::tuple decide(Held& held, nb::handle observation, double reward, const State* state,
                 nb::handle start) {
  const InputLayout& layout = held.learnt().controller.layout;
  MatrixXd seen(layout.observation_size, 1);
  require(held.numbers()(observation, seen.data(), static_cast<std::size_t>(seen.size())),
          "the observation must be an array of {} numbers", seen.size());
  const int truth = start.is_none() ? 0 : PyObject_IsTrue(start.ptr());
  if (truth < 0) throw nb::python_error();
  const bool starts = truth == 1;
  Held::Decision decision;
  {
    const nb::gil_scoped_release release;
    decision = held.decide(seen, &reward, state, &starts);
  }
  nb::object action = layout.choices > 0
                          ? nb::object(nb::int_(static_cast<long>(decision.actions(0, 0))))
                          : nb::cast(to_numpy(Eigen::VectorXd(decision.actions.col(0))));
  return nb::make_tuple(std::move(action), std::move(decision.state));
}

ordered_json numbers(const Eigen::VectorXd& vector) {
  return std::vector<double>(vector.begin(), vector.end());
}

/// All a person may want to know of a model, as plain data.
nb::object summary(const Held& held) {
  const Learnt& model = held.learnt();
  const Controller& controller = model.controller;
  ordered_json json;
  json["environment"] = to_json(model.environment);
  json["lower"] = numbers(controller.actions.lower);
  json["upper"] = numbers(controller.actions.upper);
  json["kind"] = controller.predictive() != nullptr ? "predictive states"
                 : controller.network() != nullptr  ? "echo state network"
                                                    : "a memory of your own";
  json["units"] = controller.reservoir->units();
  json["features"] = controller.reservoir->features();
  json["seed"] = model.options.reservoir.seed;
  json["discount"] = model.options.value.discount;
  json["ranges"] = {{"minimum", numbers(model.ranges.minimum)},
                    {"maximum", numbers(model.ranges.maximum)},
                    {"mean", numbers(model.ranges.mean)},
                    {"deviation", numbers(model.ranges.deviation)}};
  json["fit"] = to_json(model.diagnostics);
  if (model.improvement) json["improvement"] = to_json(*model.improvement);
  if (model.predictions) {
    const PredictionQuality& quality = *model.predictions;
    ordered_json rows = ordered_json::array();
    for (Index j = 0; j < quality.explained.cols(); ++j) {
      rows.push_back(numbers(quality.explained.col(j)));
    }
    json["predictions"] = {
        {"horizons", quality.horizons}, {"names", quality.names}, {"explained", rows}};
  }
  ordered_json rounds = ordered_json::array();
  for (const LearnRound& round : model.rounds) {
    rounds.push_back(
        {{"steps", round.steps}, {"mean_reward", round.mean_reward}, {"diverged", round.diverged}});
  }
  json["rounds"] = rounds;
  json["options"] = to_json(model.options);
  if (model.collected) json["collected"] = to_json(*model.collected);
  json["warnings"] = model.warnings;
  json["provenance"] = to_json(model.provenance);
  json["interface"] = model.interface;
  return to_python(json);
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

nb::object exported(const Held& held, const std::string& path, const nb::dict& given) {
  ExportOptions options;
  apply_options(given, options, {});
  ExportedC c;
  writing([&] { c = export_c(std::filesystem::path(path), held.learnt(), options); });
  return to_python({{"name", c.name},
                    {"flash_bytes", c.flash_bytes},
                    {"ram_bytes", c.ram_bytes},
                    {"multiply_adds", c.multiply_adds}});
}

nb::tuple experience(const Held& held) {
  const Trajectory& rows = held.learnt().experience;
  Eigen::VectorXd ends(rows.steps());
  for (Index k = 0; k < rows.steps(); ++k) ends[k] = static_cast<double>(rows.end(k));
  return nb::make_tuple(to_numpy(Eigen::VectorXd(rows.rewards())),
                        to_numpy(MatrixXd(rows.actions())), to_numpy(MatrixXd(rows.observations())),
                        to_numpy(std::move(ends)));
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

/// The seconds of one decision in C++ alone, the least of some stretches: for benchmarks.
double time_decision(const Held& held, Index steps) {
  const Learnt& model = held.learnt();
  GreedyPolicy policy = model.policy();
  Percept percept;
  percept.observation.setZero(model.controller.layout.observation_size);
  Eigen::VectorXd action(model.controller.actions.size());
  double least = std::numeric_limits<double>::infinity();
  const nb::gil_scoped_release release;
  for (int stretch = 0; stretch < 5; ++stretch) {
    const auto start = std::chrono::steady_clock::now();
    for (Index k = 0; k < steps; ++k) {
      percept.observation.setConstant(std::sin(static_cast<double>(k)));
      Draws draws = Random(0).at(Purpose::policy, static_cast<std::uint64_t>(k));
      policy.act(percept, draws, action);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / static_cast<double>(steps));
  }
  return least;
}

nb::tuple saved(const State& state) {
  nb::list clocks;
  for (const std::uint64_t clock : state.clocks) clocks.append(clock);
  return nb::make_tuple(to_numpy(state.memory), clocks, to_numpy(state.held));
}

void restore(State& state, const nb::tuple& saved) {
  State read;
  read.memory = columns_of(nb::cast<Rows>(saved[0]));
  for (nb::handle clock : saved[1]) read.clocks.push_back(nb::cast<std::uint64_t>(clock));
  // Those written before anything could be missing have nothing to hold.
  read.held.resize(0, read.memory.cols());
  if (nb::len(saved) > 2 && nb::cast<Rows>(saved[2]).size() > 0) {
    read.held = columns_of(nb::cast<Rows>(saved[2]));
  }
  require(read.held.cols() == read.memory.cols(), "a state that holds {} copies of {}",
          read.held.cols(), read.memory.cols());
  require(std::ssize(read.clocks) == read.memory.cols(), "a state with {} clocks for {} copies",
          read.clocks.size(), read.memory.cols());
  new (&state) State(std::move(read));
}

void bind_state(nb::module_& m) {
  nb::class_<State>(m, "State", "What a controller remembers between two decisions.")
      .def("__len__", [](const State& state) { return state.memory.cols(); })
      .def("__repr__",
           [](const State& state) {
             return fmt::format("<waggle state: {} numbers for each of {} copies>",
                                state.memory.rows(), state.memory.cols());
           })
      .def("__getstate__", &saved)
      .def("__setstate__", &restore);
}

void bind_model(nb::module_& m) {
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
      .def("predict", &predict, nb::arg("observations"), nb::arg("rewards").none(),
           nb::arg("state").none(), nb::arg("starts").none())
      .def("decide", &decide, nb::arg("observation"), nb::arg("reward"), nb::arg("state").none(),
           nb::arg("start").none())
      .def("time_decision", &time_decision, nb::arg("steps"))
      .def("summary", &summary)
      .def("tuning",
           [](const Held& held) {
             return held.tuned() ? to_python(to_json(*held.tuned())) : nb::none();
           })
      .def("export_c", &exported)
      .def("experience", &experience)
      .def("experience_rows", [](const Held& held) { return held.learnt().experience.steps(); })
      .def_prop_rw(
          "interface", [](const Held& held) { return held.learnt().interface; },
          [](Held& held, const std::string& text) { held.learnt().interface = text; });
}

}  // namespace

void bind_controller(nb::module_& m) {
  bind_state(m);
  bind_model(m);
}

}  // namespace waggle::python
