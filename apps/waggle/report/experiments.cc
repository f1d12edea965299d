#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/check.h"
#include "experiment.h"
#include "results.h"
#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

std::string or_else(const std::string& text, const std::string& other) {
  return text.empty() ? other : text;
}

std::string seeds_of(const ordered_json& experiment) {
  const double seeds = number_in(experiment, "seeds").value_or(0);
  const double first = number_in(experiment, "first_seed").value_or(0);
  if (seeds == 1) return fmt::format("seed {:.0f}", first);
  return fmt::format("seeds {:.0f} to {:.0f}", first, first + seeds - 1);
}

std::string range_of(const ordered_json& metric) {
  const auto low = number_in(metric, "p05"), high = number_in(metric, "p95");
  return low && high && *low < *high ? shown(low) + " – " + shown(high) : "";
}

ReportTable result_table(const ordered_json& experiment) {
  const std::string paper = or_else(text_in(experiment, "paper_column"), "paper");
  const std::string reference = or_else(text_in(experiment, "reference_column"), "exact");
  ReportTable table{
      fmt::format("Learner '{}', {}: the median and the range from the 5th to the 95th "
                  "percentile",
                  text_in(experiment, "learner"), seeds_of(experiment)),
      {"quantity", paper, "ours", "5–95 %", reference},
      {}};
  const ordered_json& labels = member_of(experiment, "labels");
  for (const auto& [name, metric] : experiment.at("metrics").items()) {
    table.rows.push_back({or_else(text_in(labels, name), name),
                          shown(number_in(metric, key_of(paper))),
                          or_else(shown(number_in(metric, "median")), "none"), range_of(metric),
                          shown(number_in(metric, key_of(reference)))});
  }
  for (const auto& [name, fact] : member_of(experiment, "facts").items()) {
    const std::string label = text_in(fact, "label");
    if (label.empty()) continue;
    table.rows.push_back({label, shown(number_in(fact, "paper")), shown(number_in(fact, "value")),
                          "", shown(number_in(fact, "reference"))});
  }
  table.drop_empty_columns();
  return table;
}

void add_notes(const ordered_json& experiment, std::vector<std::string>& notes) {
  const auto diverged = member_of(experiment, "diverged_seeds").size();
  const double seeds = number_in(experiment, "seeds").value_or(0);
  const std::string learner = text_in(experiment, "learner");
  if (diverged > 0) {
    notes.push_back(fmt::format("'{}' lost the system for {} of {}; {} left out.", learner,
                                diverged, counted(seeds, "seed"),
                                diverged == 1 ? "it is" : "they are"));
  }
  if (const double fits = number_in(experiment, "rank_deficient").value_or(0); fits > 0) {
    notes.push_back(fmt::format("'{}', {:.0f} of {} {} rank deficient; the ridge decides the rest.",
                                learner, fits, counted(seeds, "fit"), fits == 1 ? "was" : "were"));
  }
  for (const auto& [warning, count] : member_of(experiment, "warnings").items()) {
    notes.push_back(
        fmt::format("'{}', {} of {}: {}.", learner, count.dump(), counted(seeds, "seed"), warning));
  }
}

/// Every seed of every learner as a dot, their quartiles as a box, the paper's run and the optimum
/// as lines.
void add_distribution(SectionBuilder& builder, const std::vector<const ordered_json*>& learners) {
  const Reward reward = reward_of(*learners.front());
  const std::string& name = reward.column;
  Columns points{{"learner", "value"}, {{}, {}}};
  ordered_json names = ordered_json::array();
  for (const ordered_json* learner : learners) {
    const ordered_json& metric = learner->at("metrics").at(name);
    for (const ordered_json& value : member_of(metric, "values")) {
      points.values[0].push_back(static_cast<double>(names.size()));
      points.values[1].push_back(value.is_number() ? value.get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN());
    }
    names.push_back(text_in(*learner, "learner"));
  }
  const ordered_json& metric = learners.front()->at("metrics").at(name);
  builder.figure(
      {"seeds", learners.size() > 1 ? "Every learner, every seed" : "Every seed", "",
       fmt::format("Each dot is one seed, the box holds the middle half of them. {} Further {} is "
                   "better; the optimum cannot be beaten but by chance in a finite run.",
                   number_in(metric, "paper") ? "The paper prints one run." : "",
                   reward.higher_is_better ? "right" : "left")},
      {{"", {}, [&](const std::vector<Loaded>&) {
          const std::string data = builder.dataset("seeds", points);
          const Axis x{reward.axis.title};
          // The learner's name from its place: datasets hold numbers only.
          const ordered_json name_of = {
              {{"calculate", names.dump(-1, ' ', true) + "[datum.learner]"}, {"as", "name"}}};
          const ordered_json y = {
              {"field", "name"}, {"type", "nominal"}, {"sort", names}, {"title", "learner"}};
          std::vector<Layer> layers = {{data,
                                        "boxplot",
                                        "value",
                                        "",
                                        "",
                                        colour::kMeasured,
                                        {{"extent", "min-max"}, {"size", 14}, {"opacity", 0.35}},
                                        {{"y", y}},
                                        name_of},
                                       {data,
                                        "circle",
                                        "value",
                                        "",
                                        "one seed",
                                        colour::kMeasured,
                                        {{"size", 16}, {"opacity", 0.7}},
                                        {{"y", y}},
                                        name_of}};
          const auto line = [&](const char* id, const std::string& label, const char* colour,
                                const std::optional<double>& value) {
            if (!value) return;
            layers.push_back({builder.dataset(id, {{"value"}, {{*value}}}),
                              "rule",
                              "value",
                              "",
                              label,
                              colour,
                              {{"strokeWidth", 2}}});
          };
          line("paper", "the paper's run", colour::kPaper, number_in(metric, "paper"));
          line("optimum", "exact optimum", colour::kExact, number_in(metric, "reference"));
          return layered(x, {}, layers, 110 + 32 * static_cast<int>(names.size()));
        }}});
}

std::string folder_name(const ordered_json& experiment) {
  const std::string timing = text_in(experiment, "timing");
  return text_in(experiment, "experiment") + (timing.empty() ? "" : "-" + timing);
}

void add_experiment(Document& document, const ordered_json& results, const ordered_json& experiment,
                    const std::filesystem::path& folder) {
  SectionBuilder builder(document, folder_name(experiment), folder,
                         member_of(experiment, "figures"));
  builder.section.title = text_in(experiment, "title");
  builder.section.text = text_in(experiment, "text");
  if (const auto seed = number_in(experiment, "figure_seed")) {
    builder.section.text += fmt::format(
        " The flights and runs drawn are those of seed {:g}, the median of the seeds run.", *seed);
  }
  builder.section.command = text_in(results, "command");
  builder.section.version = text_in(results, "version");
  builder.section.options = member_of(experiment, "options");
  builder.section.tables.push_back(result_table(experiment));
  add_notes(experiment, builder.section.notes);
  const ResultKind* kind = find_result_kind(text_in(experiment, "experiment"));
  if (kind != nullptr && kind->draw != nullptr) kind->draw(builder, experiment);
  if (!reward_of(experiment).column.empty()) add_distribution(builder, {&experiment});
  builder.finish();
}

/// Several learners of one problem: one table and one figure for all of them.
void add_comparison(Document& document, const ordered_json& results,
                    const std::vector<const ordered_json*>& learners,
                    const std::filesystem::path& folder) {
  const ordered_json& first = *learners.front();
  ordered_json listed = ordered_json::array();
  std::vector<LearningCurve> curves;
  for (const ordered_json* learner : learners) {
    for (ordered_json entry :
         member_of(*learner, "figures")) {  // under a name of the learner's own
      curves.push_back(
          {text_in(*learner, "learner"), fmt::format("learning_curve_{}", curves.size())});
      entry["name"] = curves.back().file;
      listed.push_back(std::move(entry));
    }
  }
  SectionBuilder builder(document, "compare-" + folder_name(first), folder, listed);
  builder.section.title = text_in(first, "title") + ": all learners";
  builder.section.text =
      "The same number of steps and the same size of reservoir for all of them. None knows the "
      "problem.";
  builder.section.command = text_in(results, "command");
  builder.section.version = text_in(results, "version");
  const Reward reward = reward_of(first);
  const std::string& name = reward.column;
  const ordered_json& metric = first.at("metrics").at(name);
  const ordered_json& labels = member_of(first, "labels");
  ReportTable table{fmt::format("{}, {}", or_else(text_in(labels, name), name), seeds_of(first)),
                    {"learner", "median", "5–95 %"},
                    {}};
  if (const auto paper = number_in(metric, "paper")) {
    table.rows.push_back({"the paper's run", shown(paper), ""});
  }
  for (const ordered_json* learner : learners) {
    const ordered_json& own = learner->at("metrics").at(name);
    table.rows.push_back({text_in(*learner, "learner"),
                          or_else(shown(number_in(own, "median")), "none"), range_of(own)});
    builder.section.options[text_in(*learner, "learner")] =
        member_of(member_of(*learner, "options"), "learner");
    add_notes(*learner, builder.section.notes);
  }
  table.rows.push_back({"exact optimum", shown(number_in(metric, "reference")), ""});
  builder.section.tables.push_back(std::move(table));
  add_distribution(builder, learners);
  if (!curves.empty()) add_learning_curves(builder, reward, curves);
  builder.finish();
}

}  // namespace

void add_experiments(Document& document, const ordered_json& results,
                     const std::filesystem::path& folder) {
  std::map<std::string, std::vector<const ordered_json*>> problems;
  std::vector<std::string> order;
  for (const ordered_json& experiment : results.at("experiments")) {
    require(!text_in(experiment, "title").empty(),
            "its results have no titles, as an older waggle wrote them; run its command again");
    auto& learners = problems[folder_name(experiment)];
    if (learners.empty()) order.push_back(folder_name(experiment));
    learners.push_back(&experiment);
  }
  for (const std::string& problem : order) {
    const auto& learners = problems[problem];
    if (learners.size() > 1 && !reward_of(*learners.front()).column.empty()) {
      add_comparison(document, results, learners, folder);
      continue;
    }
    for (const ordered_json* learner : learners) {
      add_experiment(document, results, *learner, folder);
    }
  }
}

}  // namespace waggle::app
