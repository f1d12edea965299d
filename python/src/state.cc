#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <waggle/detail/require.h>

#include "arrays.h"
#include "bind.h"
#include "controller.h"

namespace waggle::python {

using Eigen::Index;

LastStep State::last_step(Index copy) const {
  return {before.col(copy),
          {.reward = rewards[copy], .observation = observations.col(copy)},
          actions.col(copy)};
}

namespace {

nb::tuple saved(const State& state) {
  nb::list clocks;
  for (const std::uint64_t clock : state.clocks) clocks.append(clock);
  return nb::make_tuple(to_numpy(state.memory), clocks, to_numpy(state.held),
                        to_numpy(state.before), to_numpy(state.rewards),
                        to_numpy(state.observations), to_numpy(state.actions));
}

void restore(State& state, const nb::tuple& saved) {
  const auto columns = [&](int i) { return columns_of(nb::cast<Rows>(saved[i])); };
  State read{.memory = columns(0),
             .clocks = {},
             .held = columns(2),
             .before = columns(3),
             .rewards = vector_of(nb::cast<Numbers>(saved[4])),
             .observations = columns(5),
             .actions = columns(6)};
  for (const nb::handle clock : saved[1]) read.clocks.push_back(nb::cast<std::uint64_t>(clock));
  for (const Index copies : {std::ssize(read.clocks), read.held.cols(), read.before.cols(),
                             read.rewards.size(), read.observations.cols(), read.actions.cols()}) {
    require(copies == read.memory.cols(), "a state with parts of {} copies and of {}", copies,
            read.memory.cols());
  }
  new (&state) State(std::move(read));
}

}  // namespace

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
  m.def(
      "chosen", [](const State& state) { return to_numpy(state.actions); }, nb::arg("state"),
      "The numbers of what was chosen last, a row for each copy.");
}

}  // namespace waggle::python
