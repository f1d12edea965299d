#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "bind.h"
#include "controller.h"
#include "core/check.h"

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
  if (!state.knows_last_step()) {
    return nb::make_tuple(to_numpy(state.memory), clocks, to_numpy(state.held));
  }
  return nb::make_tuple(to_numpy(state.memory), clocks, to_numpy(state.held),
                        to_numpy(state.before), to_numpy(state.rewards),
                        to_numpy(state.observations), to_numpy(state.actions));
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
  if (nb::len(saved) > 3) {
    read.before = columns_of(nb::cast<Rows>(saved[3]));
    read.rewards = vector_of(nb::cast<Numbers>(saved[4]));
    read.observations = columns_of(nb::cast<Rows>(saved[5]));
    read.actions = columns_of(nb::cast<Rows>(saved[6]));
    for (const Index copies :
         {read.before.cols(), read.rewards.size(), read.observations.cols(), read.actions.cols()}) {
      require(copies == read.memory.cols(), "a state with the last step of {} copies of {}", copies,
              read.memory.cols());
    }
  }
  require(std::ssize(read.clocks) == read.memory.cols(), "a state with {} clocks for {} copies",
          read.clocks.size(), read.memory.cols());
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
      "The numbers of what was chosen last, a row for each copy; none if the state does not know.");
}

}  // namespace waggle::python
