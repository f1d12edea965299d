#include <cmath>
#include <limits>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/detail/require.h>
#include <waggle/evaluation.h>
#include <waggle/presets.h>

#include "arrays.h"
#include "bind.h"
#include "controller.h"
#include "options.h"
#include "python_environment.h"
#include "python_reservoir.h"
#include "watcher.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// The space with its open sides closed at ±limit, to draw actions from before anything is known.
ActionSpace closed_at(std::optional<double> limit, const ActionSpace& space) {
  if (space.is_bounded()) return space;
  for (Index i = 0; i < space.size(); ++i) {
    const bool closed = std::isfinite(space.lower[i]) && std::isfinite(space.upper[i]);
    require(closed || limit, "action {}: [{}, {}] is unbounded; give action_limit", i,
            space.lower[i], space.upper[i]);
  }
  const auto end = [](double bound, double open) { return std::isfinite(bound) ? bound : open; };
  return ActionSpace::box(space.lower.unaryExpr([&](double x) { return end(x, -*limit); }),
                          space.upper.unaryExpr([&](double x) { return end(x, *limit); }));
}

Held* learn_env(const nb::object& adapter, const nb::dict& spec, const std::string& preset,
                const nb::dict& given, std::uint64_t seed, const nb::object& progress,
                const nb::object& step, Index units) {
  LearnOptions options = presets::by_name(preset);
  apply_options(given, options);
  options.fit.reservoir.seed = seed;
  options.validate();
  Watcher watcher(progress);
  PythonCopies copies(adapter, read_spec(spec), watcher,
                      static_cast<double>(options.collect.steps));
  const ActionSpace tried = closed_at(options.fit.action_limit, copies.spec().actions);
  std::vector<std::unique_ptr<Policy>> policies;
  for (Index i = 0; i < copies.copies(); ++i) {
    policies.push_back(std::make_unique<HeldUniformPolicy>(tried));
  }
  SeparatePolicies initial(std::move(policies));
  LearnWith with{.progress = watcher.callback()};
  if (!step.is_none()) {
    with.reservoir =
        std::make_shared<PythonReservoir>(step, units, InputLayout::of(copies.spec()).size());
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
                      Index episodes, double discount, Index max_steps, std::uint64_t seed,
                      const nb::object& progress) {
  const Learnt& model = held.learnt();
  const EpisodeScoreOptions options{.episodes = episodes,
                                    .seed = seed,
                                    .discount = discount,
                                    .max_steps = max_steps,
                                    .divergence_limit = std::numeric_limits<double>::infinity()};
  Watcher watcher(progress);
  PythonCopies copies(adapter, read_spec(spec), watcher);
  const InputLayout layout = InputLayout::of(copies.spec());
  const InputLayout& own = model.controller.layout;
  const Misfit found = misfit(model, copies.spec());
  require(!found.observation_size && !found.choices && !found.action_size,
          "environment '{}' shows {} numbers and takes {}, the controller sees {} and does {}",
          copies.spec().name, layout.observation_size, layout.action_channels(),
          own.observation_size, own.action_channels());
  EpisodeScore score;
  {
    const nb::gil_scoped_release release;
    const MatrixXd states = MatrixXd::Zero(model.controller.reservoir->units(), copies.copies());
    GreedyGroup policies(model.controller, states);
    score = score_episodes(copies, policies, options, watcher.callback());
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
  result["returns"] = to_python(score.returns);
  result["lengths"] = to_python(score.lengths);
  return result;
}

}  // namespace

void bind_learning(nb::module_& m) {
  m.def("learn_env", &learn_env, nb::rv_policy::take_ownership, nb::arg("adapter"), nb::kw_only(),
        nb::arg("spec"), nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        nb::arg("progress").none(), nb::arg("step").none(), nb::arg("units"));
  m.def("evaluate_env", &evaluate_env, nb::arg("model"), nb::arg("adapter"), nb::kw_only(),
        nb::arg("spec"), nb::arg("episodes"), nb::arg("discount"), nb::arg("max_steps"),
        nb::arg("seed"), nb::arg("progress").none());
}

}  // namespace waggle::python
