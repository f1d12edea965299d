#include <functional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/base/describe.h>
#include <waggle/detail/require.h>
#include <waggle/environments.h>

#include "arrays.h"
#include "bind.h"
#include "options.h"

namespace waggle::python {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

/// A built-in environment, its seed and its clock.
class BuiltIn {
 public:
  BuiltIn(const std::string& name, const nb::dict& given) {
    problem_ = make_problem(name, [&](const auto& entry) {
      typename std::decay_t<decltype(entry)>::Options options;
      apply_options(given, options);
      make_ = [entry, options] { return entry.make(options); };
      return make_();
    });
    spec_ = problem_.environment->spec();
  }

  nb::dict spec() const {
    nb::dict result = nb::cast<nb::dict>(to_python(spec_));
    result["lower"] = to_numpy(VectorXd(spec_.actions.lower));
    result["upper"] = to_numpy(VectorXd(spec_.actions.upper));
    result["discount"] = problem_.discount;
    return result;
  }
  nb::tuple reset(std::uint64_t seed) {
    problem_ = make_();  // so that an episode depends on its seed and on none before it
    random_ = Random(seed);
    clock_ = 0;
    percept_ = {};
    percept_.observation.setZero(spec_.observation_size());
    Draws draws = random_.at(Purpose::environment, clock_);
    problem_.environment->reset(draws, percept_);
    running_ = true;
    return seen();
  }
  nb::tuple step(const Numbers& given) {
    require(running_, "environment '{}': reset must be called before step", spec_.name);
    const VectorXd action = vector_of(given);
    require(action.size() == spec_.actions.size(), "environment '{}': {} numbers, actions have {}",
            spec_.name, action.size(), spec_.actions.size());
    for (Index i = 0; i < action.size(); ++i) {
      const double lower = spec_.actions.is_discrete() ? 0.0 : spec_.actions.lower[i];
      const double upper =
          spec_.actions.is_discrete() ? spec_.actions.choices - 1.0 : spec_.actions.upper[i];
      require(action[i] >= lower && action[i] <= upper,
              "environment '{}': action {} is {}, must be in [{}, {}]", spec_.name, i, action[i],
              lower, upper);
    }
    Draws draws = random_.at(Purpose::environment, ++clock_);
    problem_.environment->step(action, draws, percept_);
    running_ = !percept_.terminated && !percept_.truncated;
    return seen();
  }

 private:
  nb::tuple seen() const {
    return nb::make_tuple(to_numpy(VectorXd(percept_.observation)), percept_.reward,
                          percept_.terminated, percept_.truncated);
  }

  std::function<ControlProblem()> make_;
  ControlProblem problem_;
  EnvironmentSpec spec_;
  Random random_{0};
  std::uint64_t clock_ = 0;
  Percept percept_;
  bool running_ = false;
};

}  // namespace

void bind_environments(nb::module_& m) {
  m.def("environment_names", &environment_names);
  m.def("environment_is_episodic",
        [](const std::string& name) { return make_problem(name).episodic; });
  m.def("environment_options", [](const std::string& name) {
    nb::list fields;
    make_problem(name, [&](const auto& entry) {
      typename std::decay_t<decltype(entry)>::Options options;
      fields = fields_of(options);
      return entry.make(options);
    });
    return fields;
  });
  nb::class_<BuiltIn>(m, "Environment", "One of the built-in environments.")
      .def(nb::init<const std::string&, const nb::dict&>(), nb::arg("name"), nb::arg("options"))
      .def("spec", &BuiltIn::spec)
      .def("reset", &BuiltIn::reset, nb::arg("seed"))
      .def("step", &BuiltIn::step, nb::arg("action"));
}

}  // namespace waggle::python
