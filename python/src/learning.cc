#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/evaluation.h>
#include <waggle/presets.h>

#include "arrays.h"
#include "bind.h"
#include "controller.h"
#include "core/check.h"
#include "learn/action_bounds.h"
#include "options.h"
#include "python_environment.h"
#include "python_reservoir.h"
#include "watcher.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

Held* learn_env(const nb::object& adapter, const nb::dict& spec, const std::string& preset,
                const nb::dict& given, std::uint64_t seed, const nb::object& progress,
                const nb::object& step, Index units) {
  LearnOptions options = presets::by_name(preset);
  apply_options(given, options, kLearnTables);
  options.fit.reservoir.seed = seed;
  options.validate();
  Buffers buffers(adapter, read_spec(spec));
  Watcher watcher(progress);
  PythonCopies copies(buffers, &watcher, static_cast<double>(options.collect.steps));
  const ActionSpace tried = bounded_by(buffers.spec().actions, options.fit.action_limit);
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
  const Misfit found = misfit(model, buffers.spec());
  require(!found.observation_size && !found.choices && !found.action_size,
          "environment '{}' shows {} numbers and takes {}, the controller sees {} and does {}",
          buffers.spec().name, layout.observation_size, layout.action_channels(),
          own.observation_size, own.action_channels());
  Watcher watcher(progress);
  EpisodeScore score;
  {
    const nb::gil_scoped_release release;
    if (buffers.copies() == 1) {
      PythonEnvironment environment(buffers);
      GreedyPolicy policy = model.policy();
      score = score_episodes(environment, policy, options, watcher.callback());
    } else {
      PythonCopies copies(buffers);
      const MatrixXd states = MatrixXd::Zero(model.controller.reservoir->units(), copies.copies());
      GreedyGroup policies(model.controller, states);
      score = score_episodes(copies, policies, options, watcher.callback());
    }
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

}  // namespace

void bind_learning(nb::module_& m) {
  m.def("learn_env", &learn_env, nb::rv_policy::take_ownership, nb::arg("adapter"), nb::kw_only(),
        nb::arg("spec"), nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        nb::arg("progress").none(), nb::arg("step").none(), nb::arg("units"));
  m.def("evaluate_env", &evaluate_env, nb::arg("model"), nb::arg("adapter"), nb::kw_only(),
        nb::arg("spec"), nb::arg("options"), nb::arg("seed"), nb::arg("progress").none());
}

}  // namespace waggle::python
