#include <chrono>
#include <functional>
#include <span>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/evaluation.h>
#include <waggle/log.h>
#include <waggle/presets.h>

#include "arrays.h"
#include "bind.h"
#include "controller.h"
#include "core/check.h"
#include "core/text.h"
#include "options.h"
#include "python_reservoir.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

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

template <typename T>
using Buffer = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

/// Copies of an environment in Python, which writes what they show into arrays it shares with this:
/// observations, rewards, terminated and truncated; and reads actions.
class Buffers {
 public:
  Buffers(nb::object adapter, EnvironmentSpec spec)
      : adapter_(std::move(adapter)),
        spec_(std::move(spec)),
        reset_(adapter_.attr("reset")),
        step_(adapter_.attr("step")),
        restart_(adapter_.attr("restart")),
        direct_(adapter_.attr("direct")),
        act_(adapter_.attr("act")),
        write_(adapter_.attr("write")),
        start_(nb::cast<long>(adapter_.attr("start"))),
        observations_(nb::cast<Buffer<double>>(adapter_.attr("observations"))),
        actions_(nb::cast<Buffer<double>>(adapter_.attr("actions"))),
        rewards_(nb::cast<Buffer<double>>(adapter_.attr("rewards"))),
        terminated_(nb::cast<Buffer<bool>>(adapter_.attr("terminated"))),
        truncated_(nb::cast<Buffer<bool>>(adapter_.attr("truncated"))) {
    const auto copies = rewards_.shape(0);
    require(observations_.size() == copies * spec_.observation_names.size() &&
                actions_.size() == copies * static_cast<std::size_t>(spec_.actions.size()) &&
                terminated_.size() == copies && truncated_.size() == copies,
            "environment '{}': its arrays do not fit each other", spec_.name);
  }

  const EnvironmentSpec& spec() const { return spec_; }
  Index copies() const { return static_cast<Index>(rewards_.shape(0)); }

  void reset() { reset_(); }
  void step() {
    if (direct_.is_none()) {
      step_();
    } else {
      step_directly();
    }
  }
  bool restart(std::span<const Index> copies) {
    nb::list list;
    for (const Index copy : copies) list.append(copy);
    return nb::cast<bool>(restart_(list));
  }
  void set_action(Index copy, const Ref<const VectorXd>& action) {
    std::copy_n(action.data(), action.size(), actions_.data() + copy * action.size());
  }
  /// Throws Error, naming it, for a number that is not finite.
  void read(Index copy, Percept& percept) const {
    const Index size = spec_.observation_size();
    const double* seen = observations_.data() + copy * size;
    for (Index i = 0; i < size; ++i) {
      if (!is_usable(seen[i])) refuse_observation(i, seen[i]);
      percept.observation[i] = seen[i];
    }
    percept.reward = rewards_.data()[copy];
    require(is_usable(percept.reward),
            "environment '{}': the reward is {}, must be finite and within ±{}", spec_.name,
            percept.reward, kLargestNumber);
    percept.terminated = terminated_.data()[copy];
    percept.truncated = truncated_.data()[copy];
  }

 private:
  /// One environment whose observations are a Box: its step is called from here, which saves most
  /// of what Python would take to pass things on.
  void step_directly() {
    const nb::object result = spec_.actions.is_discrete()
                                  ? direct_(static_cast<long>(actions_.data()[0]) + start_)
                                  : direct_(act_());
    if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 5) {
      adapter_.attr("refuse")(result);
    }
    const auto part = [&](Py_ssize_t i) { return nb::handle(PyTuple_GetItem(result.ptr(), i)); };
    if (!numbers_(part(0), observations_.data(), observations_.size())) write_(part(0));
    const double reward = PyFloat_AsDouble(part(1).ptr());
    if (reward == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    rewards_.data()[0] = reward;
    terminated_.data()[0] = truth(part(2));
    truncated_.data()[0] = truth(part(3));
  }
  [[noreturn]] void refuse_observation(Index i, double value) const {
    throw Error(fmt::format("environment '{}': observation {} is {}, must be finite and within ±{}",
                            spec_.name, shown(spec_.observation_names[static_cast<std::size_t>(i)]),
                            value, kLargestNumber));
  }
  static bool truth(nb::handle value) {
    const int result = PyObject_IsTrue(value.ptr());
    if (result < 0) throw nb::python_error();
    return result == 1;
  }

  nb::object adapter_;
  EnvironmentSpec spec_;
  nb::object reset_, step_, restart_;
  nb::object direct_, act_, write_;
  ArrayReader numbers_;
  long start_ = 0;  // the first choice
  Buffer<double> observations_, actions_, rewards_;
  Buffer<bool> terminated_, truncated_;
};

class PythonCopies final : public EnvironmentCopies {
 public:
  PythonCopies(Buffers& buffers, Watcher& watcher, double total)
      : buffers_(buffers), watcher_(watcher), total_(total) {}

  EnvironmentSpec spec() const override { return buffers_.spec(); }
  Index copies() const override { return buffers_.copies(); }
  void reset(std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.reset();
    read(percepts);
  }
  void step(const Ref<const MatrixXd>& actions, std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    for (Index i = 0; i < actions.cols(); ++i) buffers_.set_action(i, actions.col(i));
    buffers_.step();
    read(percepts);
    done_ += static_cast<double>(actions.cols());
    watcher_.tell("steps", std::min(done_, total_ - 1.0), total_);
  }
  bool restart(std::span<const Index> copies, std::span<Percept> percepts) override {
    const nb::gil_scoped_acquire acquire;
    if (!buffers_.restart(copies)) return false;
    for (const Index copy : copies) buffers_.read(copy, percepts[static_cast<std::size_t>(copy)]);
    done_ += static_cast<double>(copies.size());
    return true;
  }

 private:
  void read(std::span<Percept> percepts) {
    for (std::size_t i = 0; i < percepts.size(); ++i) {
      buffers_.read(static_cast<Index>(i), percepts[i]);
    }
  }

  Buffers& buffers_;
  Watcher& watcher_;
  double done_ = 0.0;
  double total_;
};

/// A single one, for judging.
class PythonEnvironment final : public Environment {
 public:
  explicit PythonEnvironment(Buffers& buffers) : buffers_(buffers) {}
  EnvironmentSpec spec() const override { return buffers_.spec(); }
  void reset(Draws& /*draws*/, Percept& percept) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.reset();
    buffers_.read(0, percept);
  }
  void step(const Ref<const VectorXd>& action, Draws& /*draws*/, Percept& percept) override {
    const nb::gil_scoped_acquire acquire;
    buffers_.set_action(0, action);
    buffers_.step();
    buffers_.read(0, percept);
  }

 private:
  Buffers& buffers_;
};

std::vector<std::string> texts(const nb::handle& list) {
  return nb::cast<std::vector<std::string>>(list);
}

EnvironmentSpec read_spec(const nb::dict& given) {
  EnvironmentSpec spec;
  spec.name = nb::cast<std::string>(given["name"]);
  const auto choices = nb::cast<int>(given["choices"]);
  if (choices > 0) {
    spec.actions = ActionSpace::discrete(choices);
  } else {
    spec.actions = ActionSpace::box(VectorXd(vector_of(nb::cast<Numbers>(given["lower"]))),
                                    VectorXd(vector_of(nb::cast<Numbers>(given["upper"]))));
  }
  spec.action_names = texts(given["action_names"]);
  spec.observation_names = texts(given["observation_names"]);
  spec.reward_is_input = nb::cast<bool>(given["reward_is_input"]);
  return spec;
}

/// Where random actions are drawn from: the space, bounded by `limit` where it is not.
ActionSpace space_to_try(ActionSpace space, const std::optional<double>& limit) {
  if (space.is_discrete()) return space;
  for (Index i = 0; i < space.size(); ++i) {
    const bool bounded = std::isfinite(space.lower[i]) && std::isfinite(space.upper[i]);
    require(bounded || limit.has_value(),
            "action {}: [{}, {}] is unbounded; give action_limit, the largest that may be tried", i,
            space.lower[i], space.upper[i]);
    if (!std::isfinite(space.lower[i])) space.lower[i] = std::min(-*limit, space.upper[i]);
    if (!std::isfinite(space.upper[i])) space.upper[i] = std::max(*limit, space.lower[i]);
  }
  return space;
}

Held* learn_env(const nb::object& adapter, const nb::dict& spec, const std::string& preset,
                const nb::dict& given, std::uint64_t seed, const nb::object& progress,
                const nb::object& step, Index units) {
  LearnOptions options = presets::by_name(preset);
  apply_options(given, options, kLearnTables);
  options.fit.reservoir.seed = seed;
  options.validate();
  Buffers buffers(adapter, read_spec(spec));
  Watcher watcher(progress);
  PythonCopies copies(buffers, watcher, static_cast<double>(options.collect.steps));
  const ActionSpace tried = space_to_try(buffers.spec().actions, options.fit.action_limit);
  std::vector<std::unique_ptr<Policy>> policies;
  for (Index i = 0; i < buffers.copies(); ++i) {
    policies.push_back(std::make_unique<HeldUniformPolicy>(tried));
  }
  SeparatePolicies initial(std::move(policies));
  LearnWith with{.progress = watcher.callback()};
  if (!step.is_none()) {
    with.reservoir =
        std::make_shared<PythonReservoir>(step, units, InputLayout::of(buffers.spec()).size());
  }
  std::optional<Learnt> learnt;
  {
    const nb::gil_scoped_release release;
    GroupSimulation simulation(copies, seed);
    learnt = learn(simulation, initial, options, with);
  }
  return new Held(*std::move(learnt));
}

/// Columns as (name, numbers or texts).
std::vector<LogColumn> read_columns(const nb::list& given, std::vector<nb::object>& kept) {
  std::vector<LogColumn> columns;
  for (nb::handle item : given) {
    LogColumn column;
    column.name = nb::cast<std::string>(item[0]);
    nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> numbers;
    if (nb::try_cast(item[1], numbers)) {
      kept.push_back(nb::borrow(item[1]));
      new (&column.numbers) decltype(column.numbers)(numbers.data(),
                                                     static_cast<Index>(numbers.shape(0)),
                                                     Eigen::InnerStride<>(numbers.stride(0)));
    } else {
      column.texts = texts(item[1]);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

/// A log of files (paths) or of columns.
struct OpenLog {
  std::vector<nb::object> kept;  // whose numbers the log reads
  std::optional<Log> log;
  std::vector<std::string> sources;

  void open(const nb::object& data, const std::string& name, const LogOptions& options) {
    if (name.empty()) {
      sources = texts(data);
      const nb::gil_scoped_release release;
      log.emplace(sources, options);
      return;
    }
    std::vector<LogColumn> columns = read_columns(nb::borrow<nb::list>(data), kept);
    sources = {name};
    const nb::gil_scoped_release release;
    log.emplace(std::move(columns), name, options);
  }
};

Held* learn_log(const nb::object& data, const std::string& name, const nb::dict& reading,
                const std::string& preset, const nb::dict& given, std::uint64_t seed,
                const nb::object& progress, const nb::object& step, Index units) {
  FitOptions options = presets::by_name(preset).fit;
  apply_options(given, options, kLearnTables);
  options.reservoir.seed = seed;
  options.validate();
  LogOptions log_options;
  apply_options(reading, log_options, {});
  log_options.minimum_rows = options.value.washout_rows() + 2;
  OpenLog log;
  log.open(data, name, log_options);
  Watcher watcher(progress);
  LearnWith with{.progress = watcher.callback()};
  if (!step.is_none()) {
    with.reservoir =
        std::make_shared<PythonReservoir>(step, units, InputLayout::of(log.log->spec()).size());
  }
  std::optional<Learnt> learnt;
  {
    const nb::gil_scoped_release release;
    learnt = learn_from_log(log.log->spec(), *log.log, options, with);
  }
  learnt->provenance.sources = log.sources;
  return new Held(*std::move(learnt));
}

/// A log as arrays: rewards, actions, observations, ends (0 none, 1 terminated, 2 truncated), and
/// the names of the columns.
nb::tuple read_arrays(const nb::object& data, const std::string& name, const nb::dict& reading) {
  LogOptions log_options;
  apply_options(reading, log_options, {});
  OpenLog log;
  log.open(data, name, log_options);
  const EnvironmentSpec& spec = log.log->spec();
  Trajectory rows(spec.actions.size(), spec.observation_size());
  log.log->for_each_chunk([&](const Trajectory& chunk) { rows.append(chunk); });
  VectorXd ends(rows.steps());
  for (Index k = 0; k < rows.steps(); ++k) ends[k] = static_cast<double>(rows.end(k));
  return nb::make_tuple(to_numpy(VectorXd(rows.rewards())), to_numpy(MatrixXd(rows.actions())),
                        to_numpy(MatrixXd(rows.observations())), to_numpy(std::move(ends)),
                        to_python(to_json(spec)));
}

nb::dict evaluate_env(const Held& held, const nb::object& adapter, const nb::dict& spec,
                      const nb::dict& given, std::uint64_t seed, const nb::object& progress) {
  const Learnt& model = held.learnt();
  EpisodeScoreOptions options;
  options.divergence_limit = std::numeric_limits<double>::infinity();
  apply_options(given, options, {});
  options.seed = seed;
  Buffers buffers(adapter, read_spec(spec));
  const InputLayout layout = InputLayout::of(buffers.spec());
  const InputLayout& own = model.controller.layout;
  require(layout.observation_size == own.observation_size && layout.choices == own.choices &&
              layout.action_size == own.action_size,
          "environment '{}' shows {} numbers and takes {}, the controller sees {} and does {}",
          buffers.spec().name, layout.observation_size, layout.action_channels(),
          own.observation_size, own.action_channels());
  PythonEnvironment environment(buffers);
  GreedyPolicy policy = model.policy();
  Watcher watcher(progress);
  EpisodeScore score;
  {
    const nb::gil_scoped_release release;
    score = score_episodes(environment, policy, options, watcher.callback());
  }
  require(!score.returns.empty(), "the controller lost the system in its first episode");
  nb::dict result;
  result["mean"] = score.mean_return;
  result["standard_error"] = score.standard_error;
  result["worst"] = score.worst;
  result["best"] = score.best;
  result["mean_length"] = score.mean_length;
  result["terminated"] = score.terminated;
  result["diverged"] = score.diverged;
  result["returns"] = to_numpy(
      VectorXd(Eigen::Map<const VectorXd>(score.returns.data(), std::ssize(score.returns))));
  nb::list lengths;
  for (const Index length : score.lengths) lengths.append(length);
  result["lengths"] = lengths;
  return result;
}

nb::object evaluate_log(const Held& held, const nb::object& data, const std::string& name,
                        std::uint64_t seed, const nb::object& progress) {
  OpenLog log;
  log.open(data, name, LogOptions::of(held.learnt()));
  Watcher watcher(progress);
  LogEvaluation result;
  {
    const nb::gil_scoped_release release;
    result = evaluate_on_log(held.learnt(), *log.log, {.seed = seed}, watcher.callback());
  }
  nlohmann::ordered_json deciles = nlohmann::ordered_json::array();
  for (const LogEvaluation::Decile& decile : result.deciles) {
    deciles.push_back({{"rows", decile.rows},
                       {"value", decile.value},
                       {"realised", decile.realised},
                       {"deviation", decile.deviation}});
  }
  const auto list = [](const VectorXd& vector) {
    return std::vector<double>(vector.begin(), vector.end());
  };
  return to_python({{"rows", result.rows},
                    {"episodes", result.episodes},
                    {"judged", result.judged},
                    {"mean_reward", result.mean_reward},
                    {"bellman_error", result.bellman_error},
                    {"greedy_bellman_error", result.greedy_bellman_error},
                    {"slope", result.slope},
                    {"intercept", result.intercept},
                    {"correlation", result.correlation},
                    {"with_return", result.with_return},
                    {"deciles", deciles},
                    {"same_share", result.same_share},
                    {"action_difference", list(result.action_difference)},
                    {"action_deviation", list(result.action_deviation)},
                    {"warnings", result.warnings}});
}

}  // namespace

void bind_learning(nb::module_& m) {
  m.def("learn_env", &learn_env, nb::rv_policy::take_ownership, nb::arg("adapter"), nb::arg("spec"),
        nb::arg("preset"), nb::arg("options"), nb::arg("seed"), nb::arg("progress").none(),
        nb::arg("step").none(), nb::arg("units"));
  m.def("learn_log", &learn_log, nb::rv_policy::take_ownership, nb::arg("data"), nb::arg("name"),
        nb::arg("reading"), nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        nb::arg("progress").none(), nb::arg("step").none(), nb::arg("units"));
  m.def("read_log", &read_arrays, nb::arg("data"), nb::arg("name"), nb::arg("reading"));
  m.def("evaluate_env", &evaluate_env, nb::arg("model"), nb::arg("adapter"), nb::arg("spec"),
        nb::arg("options"), nb::arg("seed"), nb::arg("progress").none());
  m.def("evaluate_log", &evaluate_log, nb::arg("model"), nb::arg("data"), nb::arg("name"),
        nb::arg("seed"), nb::arg("progress").none());
}

}  // namespace waggle::python
