#include <algorithm>
#include <cstring>
#include <filesystem>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/base/exchange.h>
#include <waggle/detail/require.h>
#include <waggle/evaluation.h>
#include <waggle/log.h>
#include <waggle/presets.h>

#include "arrays.h"
#include "bind.h"
#include "columns.h"
#include "controller.h"
#include "options.h"
#include "python_reservoir.h"
#include "results.h"
#include "watcher.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

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
    } else {
      std::vector<LogColumn> columns = read_columns(nb::borrow<nb::list>(data), kept);
      sources = {name};
      const nb::gil_scoped_release release;
      log.emplace(std::move(columns), name, options);
    }
    for (const std::string& note : log->notes()) {
      if (PyErr_WarnEx(PyExc_UserWarning, note.c_str(), 1) != 0) throw nb::python_error();
    }
  }
};

Held* learn_log(const nb::object& data, const std::string& name, const nb::dict& reading,
                const std::string& preset, const nb::dict& given, std::uint64_t seed,
                const nb::object& tune, const nb::object& progress, const nb::object& step,
                Index units) {
  FitOptions options = presets::by_name(preset).fit;
  apply_options(given, options);
  options.reservoir.seed = seed;
  options.validate();
  LogOptions log_options;
  apply_options(reading, log_options);
  log_options.needs.minimum_rows = options.value.least_rows();
  OpenLog log;
  log.open(data, name, log_options);
  Watcher watcher(progress);
  LearnWith with{.progress = watcher.callback()};
  if (!step.is_none()) {
    with.reservoir =
        std::make_shared<PythonReservoir>(step, units, InputLayout::of(log.log->spec()).size());
  }
  std::optional<TuneOptions> search;
  if (!tune.is_none()) {
    apply_options(nb::borrow<nb::dict>(tune), search.emplace());
    search->fix_given(given_names(given), preset != presets::all().front().name);
    require(step.is_none(), "tune: chooses a network, and `reservoir` is a memory of your own");
  }
  std::optional<TuneResult> tuned;
  std::optional<Learnt> learnt;
  {
    const nb::gil_scoped_release release;
    const EnvironmentSpec& spec = log.log->spec();
    if (search) tuned = tune_log(spec, *log.log, options, *search, watcher.callback());
    learnt = learn_from_log(spec, *log.log, tuned ? tuned->options : options, with);
  }
  learnt->provenance.sources = log.sources;
  return new Held(*std::move(learnt), std::move(tuned));
}

nb::bytes to_bytes(const Exchange::Numbers& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(double));
}
Exchange::Numbers from_bytes(const nb::handle& given) {
  const auto bytes = nb::cast<nb::bytes>(given);
  Exchange::Numbers numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

/// Asks Python, all(mine, combine), for what processes add up.
class PythonExchange final : public Exchange {
 public:
  PythonExchange(nb::object ask, const Part& part) : ask_(std::move(ask)), part_(part) {}
  Part part() const override { return part_; }
  Numbers all(Numbers mine,
              const std::function<Numbers(const std::vector<Numbers>&)>& combine) override {
    const nb::gil_scoped_acquire acquire;
    const nb::object combined = nb::cpp_function([&](const nb::list& given) {
      std::vector<Numbers> parts;
      for (const nb::handle part : given) parts.push_back(from_bytes(part));
      Numbers result;
      {
        const nb::gil_scoped_release release;
        result = combine(parts);
      }
      return to_bytes(result);
    });
    return from_bytes(ask_(to_bytes(mine), combined));
  }

 private:
  nb::object ask_;
  Part part_;
};

/// Learns from rows of which other processes have others. `logs` are (data, name), of which the
/// first `skipped` rows are not wanted; `to_end`: with the last of them the whole record ends.
Held* learn_part(const nb::list& logs, const nb::dict& reading, const std::string& preset,
                 const nb::dict& given, std::uint64_t seed, const std::vector<std::string>& sources,
                 Index skipped, bool to_end, Index number, Index first, Index count,
                 const nb::object& exchange) {
  FitOptions options = presets::by_name(preset).fit;
  apply_options(given, options);
  options.reservoir.seed = seed;
  options.validate();
  LogOptions log_options;
  apply_options(reading, log_options);
  std::optional<Trajectory> rows;
  EnvironmentSpec spec;
  std::optional<bool> cut_out;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    OpenLog log;
    log.open(logs[i][0], nb::cast<std::string>(logs[i][1]), log_options);
    spec = log.log->spec();
    cut_out = log.log->cut_out();
    if (!rows) rows.emplace(spec.actions.size(), spec.observation_size());
    log.log->for_each_chunk([&](const Trajectory& chunk) { rows->append(chunk); });
    const bool ends = rows->end(rows->steps() - 1) != EpisodeEnd::none;
    if (!ends && (i + 1 < logs.size() || !to_end)) rows->end_episode(EpisodeEnd::truncated);
  }
  spec.name = std::filesystem::path(sources.front()).filename().string();
  Trajectory own(rows->action_size(), rows->observation_size());
  own.append(*rows, skipped, std::min(count + Exchange::kOverlap, rows->steps() - skipped));
  rows.reset();
  PythonExchange others(exchange, {number, first, count});
  TrajectoryChunks source(own, 4096, cut_out, &others);
  std::optional<Learnt> learnt;
  {
    const nb::gil_scoped_release release;
    learnt = learn_from_log(spec, source, options);
  }
  learnt->provenance.sources = sources;
  return new Held(*std::move(learnt));
}

/// A log as arrays: rewards, actions, observations, ends (0 none, 1 terminated, 2 truncated), and
/// the names of the columns.
nb::tuple read_arrays(const nb::object& data, const std::string& name, const nb::dict& reading) {
  LogOptions log_options;
  apply_options(reading, log_options);
  OpenLog log;
  log.open(data, name, log_options);
  const EnvironmentSpec& spec = log.log->spec();
  Trajectory rows(spec.actions.size(), spec.observation_size());
  log.log->for_each_chunk([&](const Trajectory& chunk) { rows.append(chunk); });
  VectorXd ends(rows.steps());
  for (Index k = 0; k < rows.steps(); ++k) ends[k] = static_cast<double>(rows.end(k));
  return nb::make_tuple(to_numpy(VectorXd(rows.rewards())), to_numpy(MatrixXd(rows.actions())),
                        to_numpy(MatrixXd(rows.observations())), to_numpy(std::move(ends)),
                        to_python(spec));
}

nb::object evaluate_log(const Held& held, const nb::object& data, const std::string& name,
                        const nb::dict& reading, std::uint64_t seed, const nb::object& progress) {
  LogOptions log_options = LogOptions::of(held.learnt());
  apply_options(reading, log_options);
  OpenLog log;
  log.open(data, name, log_options);
  Watcher watcher(progress);
  LogEvaluation result;
  {
    const nb::gil_scoped_release release;
    result = evaluate_on_log(held.learnt(), *log.log, {.seed = seed}, watcher.callback());
  }
  return to_python(result);
}

}  // namespace

void bind_logs(nb::module_& m) {
  m.def("learn_log", &learn_log, nb::rv_policy::take_ownership, nb::arg("data"), nb::kw_only(),
        nb::arg("name"), nb::arg("reading"), nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        nb::arg("tune").none(), nb::arg("progress").none(), nb::arg("step").none(),
        nb::arg("units"));
  m.def("learn_part", &learn_part, nb::rv_policy::take_ownership, nb::arg("logs"), nb::kw_only(),
        nb::arg("reading"), nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        nb::arg("sources"), nb::arg("skipped"), nb::arg("to_end"), nb::arg("number"),
        nb::arg("first"), nb::arg("count"), nb::arg("exchange"));
  m.def("leaf_rows", &leaf_rows);
  m.attr("overlap") = Exchange::kOverlap;
  m.def("read_log", &read_arrays, nb::arg("data"), nb::arg("name"), nb::arg("reading"));
  m.def("evaluate_log", &evaluate_log, nb::arg("model"), nb::arg("data"), nb::kw_only(),
        nb::arg("name"), nb::arg("reading"), nb::arg("seed"), nb::arg("progress").none());
}

}  // namespace waggle::python
