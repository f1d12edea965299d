#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <waggle/presets.h>
#include <waggle/shards.h>

#include "bind.h"
#include "columns.h"
#include "controller.h"
#include "options.h"
#include "shards/shard_records.h"

namespace waggle::python {

using Eigen::Index;

namespace {

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }
std::string_view view_of(const nb::bytes& bytes) {
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

ShardFit fit_of(const ShardPlan& plan, const nb::bytes& rounds) {
  return rounds.size() == 0 ? start_of(plan) : parse_fit(view_of(rounds), plan, "rounds");
}

/// A part: a file and, if it goes on, the one before; or columns with a name, whose first `lead`
/// rows are of the part before.
struct OpenPart {
  std::vector<nb::object> kept;
  std::optional<ShardLog> rows;

  OpenPart(const ShardPlan& plan, const nb::object& data, const std::string& name, Index lead) {
    if (name.empty()) {
      const std::vector<std::string> files = texts(data);
      const nb::gil_scoped_release release;
      rows.emplace(plan, files.back(), files.size() > 1 ? files.front() : "");
    } else {
      std::vector<LogColumn> columns = read_columns(nb::borrow<nb::list>(data), kept);
      const nb::gil_scoped_release release;
      rows.emplace(plan, std::move(columns), name, lead);
    }
  }
};

FitOptions fit_options(const std::string& preset, const nb::dict& given, std::uint64_t seed) {
  FitOptions fit = presets::by_name(preset).fit;
  apply_options(given, fit, kLearnTables);
  fit.reservoir.seed = seed;
  return fit;
}

std::string begin(const nb::object& data, const std::string& name, const nb::dict& reading,
                  const std::string& preset, const nb::dict& given, std::uint64_t seed,
                  std::vector<std::string> parts, bool continued, std::optional<Index> overlap) {
  const FitOptions fit = fit_options(preset, given, seed);
  LogOptions log_options;
  apply_options(reading, log_options, {});
  std::vector<nb::object> kept;
  std::optional<Log> log;
  if (name.empty()) {
    log.emplace(texts(data), log_options);
  } else {
    log.emplace(read_columns(nb::borrow<nb::list>(data), kept), name, log_options);
  }
  return to_json_text(
      begin_plan(*log, log_options, fit,
                 {.parts = std::move(parts), .continued = continued, .overlap = overlap}));
}

/// The plan with what its first rows tell.
std::string choose(const std::string& plan, const nb::list& parts, const std::string& preset,
                   const nb::dict& given, std::uint64_t seed) {
  const FitOptions fit = fit_options(preset, given, seed);
  ShardPlan begun = parse_plan(plan, "the plan", false);
  FirstRows first(begun);
  for (const nb::handle& item : parts) {
    if (!first.wants_more()) break;
    const nb::tuple part = nb::cast<nb::tuple>(item);
    try {
      OpenPart opened(begun, part[0], nb::cast<std::string>(part[1]), 0);
      first.add(*opened.rows);
    } catch (const Error&) {
      continue;  // what is wrong with it is said when it is measured
    }
  }
  const nb::gil_scoped_release release;
  choose_for_plan(begun, fit, first);
  return to_json_text(begun);
}

std::string measure(const std::string& plan, const nb::object& data, const std::string& name,
                    Index lead) {
  const ShardPlan like = parse_plan(plan, "the plan", false);
  OpenPart part(like, data, name, lead);
  const nb::gil_scoped_release release;
  return to_json_text(measure_part(like, *part.rows, part.rows->lead()));
}

std::string finish(const std::string& plan, const std::vector<std::string>& measures,
                   const std::vector<std::string>& parts, bool sampled) {
  ShardPlan made = parse_plan(plan, "the plan", false);
  made.parts = parts;
  std::vector<ShardMeasure> measured;
  for (const std::string& measure : measures) {
    measured.push_back(parse_measure(measure, "a measure"));
  }
  finish_plan(made, measured, sampled);
  return to_json_text(made);
}

nb::bytes sum(const ShardPlan& plan, const nb::bytes& rounds, Index part, const nb::object& data,
              const std::string& name, Index lead) {
  const ShardFit fit = fit_of(plan, rounds);
  OpenPart opened(plan, data, name, lead);
  std::string sums;
  {
    const nb::gil_scoped_release release;
    ShardStatistics statistics(plan, fit);
    statistics.add(part, sum_part(plan, fit, part, *opened.rows, opened.rows->lead()));
    sums = statistics.serialise();
  }
  return bytes_of(sums);
}

nb::str stage_name(const ShardFit& fit) { return nb::str(std::string(name_of(fit.stage)).c_str()); }

nb::tuple solve(const ShardPlan& plan, const nb::bytes& rounds, const nb::bytes& sums) {
  const ShardFit fit = fit_of(plan, rounds);
  ShardStatistics statistics = ShardStatistics::parse(view_of(sums), "the sums");
  std::string after;
  ShardFit solved;
  {
    const nb::gil_scoped_release release;
    solved = solve_round(plan, fit, statistics);
    after = serialise(plan, solved);
  }
  return nb::make_tuple(bytes_of(after), stage_name(solved));
}

nb::tuple stage(const ShardPlan& plan, const nb::bytes& rounds) {
  const ShardFit fit = fit_of(plan, rounds);
  return nb::make_tuple(stage_name(fit), fit.fingerprint());
}

nb::bytes merge_sums(const std::vector<nb::bytes>& parts) {
  std::optional<ShardStatistics> all;
  for (const nb::bytes& part : parts) {
    ShardStatistics statistics = ShardStatistics::parse(view_of(part), "the sums");
    if (all) {
      all->merge(std::move(statistics));
    } else {
      all = std::move(statistics);
    }
  }
  return bytes_of(all->serialise());
}

nb::dict sums_info(const nb::bytes& sums) {
  const ShardStatistics statistics = ShardStatistics::parse(view_of(sums), "the sums");
  nb::list nodes;
  for (const auto& [first, node] : statistics.nodes()) {
    nodes.append(nb::make_tuple(first, node.count));
  }
  nb::dict info;
  info["plan"] = statistics.plan();
  info["round"] = statistics.round();
  info["nodes"] = nodes;
  return info;
}

nb::object option_table(const std::string& preset, const nb::dict& given) {
  FitOptions fit = presets::by_name(preset).fit;
  apply_options(given, fit, kLearnTables);
  return to_python(nlohmann::ordered_json(as_table(given, list_options(fit, kLearnTables))));
}

/// What makes a plan, in the order of its steps.
void bind_planning(nb::module_& m) {
  m.def("begin_plan", &begin, nb::arg("data"), nb::kw_only(), nb::arg("name"), nb::arg("reading"),
        nb::arg("preset"), nb::arg("options"), nb::arg("seed"), nb::arg("parts"),
        nb::arg("continued"), nb::arg("overlap").none());
  m.def("choose_for_plan", &choose, nb::arg("plan"), nb::arg("parts"), nb::kw_only(),
        nb::arg("preset"), nb::arg("options"), nb::arg("seed"),
        "The plan with what its first rows tell: what predictive states are to remember.");
  m.def("first_rows", [] { return kFirstRows; });
  m.def("measure_part", &measure, nb::arg("plan"), nb::arg("data"), nb::arg("name"),
        nb::arg("lead"));
  m.def("finish_plan", &finish, nb::arg("plan"), nb::arg("measures"), nb::arg("parts"),
        nb::arg("sampled"));
  m.def("option_table", &option_table);
}

/// A plan, and the rounds by it.
void bind_plan(nb::module_& m) {
  nb::class_<ShardPlan>(m, "Plan", "What is fixed before any part is fitted.")
      .def_static("parse", [](const std::string& json) { return parse_plan(json, "the plan"); })
      .def_prop_ro("fingerprint", &ShardPlan::fingerprint)
      .def_prop_ro("parts", [](const ShardPlan& plan) { return plan.parts; })
      .def_prop_ro("overlap", [](const ShardPlan& plan) { return plan.overlap; })
      .def_prop_ro("predictive",
                   [](const ShardPlan& plan) { return plan.fit.predictive.has_value(); })
      .def_prop_ro("rows", [](const ShardPlan& plan) { return plan.measured.rows; })
      .def("sum", &sum, nb::arg("rounds"), nb::arg("part"), nb::arg("data"), nb::arg("name"),
           nb::arg("lead"), "The sums of one part, as the bytes of a safetensors file.")
      .def("solve", &solve, nb::arg("rounds"), nb::arg("sums"),
           "The rounds after this one, and what comes next.")
      .def("stage", &stage, nb::arg("rounds"), "What the next round is of, and its fingerprint.")
      .def(
          "model",
          [](const ShardPlan& plan, const nb::bytes& rounds) {
            return new Held(model_of(plan, fit_of(plan, rounds)));
          },
          nb::arg("rounds"), nb::rv_policy::take_ownership);
}

}  // namespace

void bind_shards(nb::module_& m) {
  bind_planning(m);
  bind_plan(m);
  m.def("merge_sums", &merge_sums, nb::arg("parts"));
  m.def("sums_info", &sums_info, nb::arg("sums"));
}

}  // namespace waggle::python
