#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "results.h"
#include "sections.h"

namespace waggle::app {

using nlohmann::ordered_json;

void add_ridge_path(SectionBuilder& builder, const Reward& reward) {
  const FigureFile file{"ridge_path", {"relative", "error", reward.column}};
  const auto against = [file](const std::string& title, const Axis& y, const std::string& column,
                              const char* colour) {
    return ChartPlan{title, {file}, [=](const std::vector<Loaded>& files) {
                       return layered({"λ / mean squared feature", true, false, ".0e"}, y,
                                      {{files[0].data,
                                        "line",
                                        "relative",
                                        column,
                                        "",
                                        colour,
                                        {{"point", {{"size", 20}}}}}},
                                      220);
                     }};
  };
  builder.figure({"ridge", "How much to regularise", "",
                  "The cross-validated error, which the log alone can tell, and what the greedy "
                  "policy then earns, "
                  "which is what one wants to know and takes a run of the system for each λ. The "
                  "first is smooth "
                  "and the second is not: one run of one seed is a noisy judge."},
                 {against("cross-validated error", {"error", true}, "error", colour::kMeasured),
                  against(reward.axis.title, reward.axis, reward.column, colour::kEstimate)});
}

void add_learning_curves(SectionBuilder& builder, const Reward& reward,
                         const std::vector<LearningCurve>& curves) {
  std::vector<ChartPlan> plans;
  plans.reserve(curves.size());
  for (const LearningCurve& curve : curves) {
    plans.push_back({"learner '" + curve.learner + "'",
                     {{curve.file, {"steps", "median", "p05", "p95", "optimum"}}},
                     [&reward](const std::vector<Loaded>& files) {
                       const std::string& data = files[0].data;
                       return layered({"steps of experience"}, reward.axis,
                                      {{data,
                                        "area",
                                        "steps",
                                        "p05",
                                        "",
                                        colour::kMeasured,
                                        {{"opacity", 0.25}},
                                        {{"y2", {{"field", "p95"}}}}},
                                       {data,
                                        "line",
                                        "steps",
                                        "median",
                                        "median over the seeds",
                                        colour::kMeasured,
                                        {{"point", {{"size", 20}}}}},
                                       {data, "line", "steps", "optimum", "exact optimum",
                                        colour::kExact, kDashed}});
                     }});
  }
  builder.figure({"learning", "Learning in rounds", "",
                  "What each round of data earned: it is collected by the policy learnt from the "
                  "rounds before, "
                  "some of its actions still at random. The band holds nine in ten seeds."},
                 plans);
}

void add_bias_figures(SectionBuilder& builder) {
  builder.figure({"bias", "Error of the curvature of the value", "",
                  "LSTD's error should fall with the square root of the data, and that of the "
                  "Bellman residual stay "
                  "where it is: the noise of the next state enters its squares and biases it."},
                 {{"",
                   {{"bias", {"steps", "lstd_error", "bellman_residual_error"}}},
                   [](const std::vector<Loaded>& files) {
                     const std::string& data = files[0].data;
                     const nlohmann::ordered_json dots = {{"point", {{"size", 20}}}};
                     return layered(
                         {"steps of data", true, false, "~s"}, {"error (absolute)", true},
                         {{data, "line", "steps", "lstd_error", "LSTD", colour::kMeasured, dots},
                          {data, "line", "steps", "bellman_residual_error", "Bellman residual",
                           colour::kEstimate, dots}});
                   }}});
}

namespace {

/// The straight line through the medians on logarithmic axes, as its two ends.
struct Fit {
  double slope = 0.0;
  Columns ends;
};

Fit fit_line(const Columns& data, const std::string& x, const std::string& y) {
  std::map<double, std::vector<double>> by_x;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    if (data.at(x)[i] > 0.0 && data.at(y)[i] > 0.0) by_x[data.at(x)[i]].push_back(data.at(y)[i]);
  }
  std::vector<double> xs, ys;
  double mean_x = 0.0, mean_y = 0.0;
  for (const auto& [at, values] : by_x) {
    xs.push_back(at);
    ys.push_back(quantile(values, 0.5));
    mean_x += std::log(xs.back());
    mean_y += std::log(ys.back());
  }
  Fit fit{0.0, {{x, "fit"}, {{}, {}}}};
  if (xs.size() < 2) return fit;
  fit.slope = log_slope(xs, ys);
  const auto n = static_cast<double>(xs.size());
  for (const double end : {xs.front(), xs.back()}) {
    fit.ends.values[0].push_back(end);
    fit.ends.values[1].push_back(std::exp((mean_y + fit.slope * (n * std::log(end) - mean_x)) / n));
  }
  return fit;
}

ChartPlan scaling(SectionBuilder& builder, const std::string& title, const std::string& file,
                  const std::string& x, const std::string& x_title, const std::string& y) {
  return {
      title, {{file, {x, y}}}, [&builder, file, x, x_title, y](const std::vector<Loaded>& files) {
        std::vector<Layer> layers = {
            {files[0].data, "point", x, y, "one seed", colour::kMeasured, {{"size", 18}}}};
        Fit fit = fit_line(files[0].columns, x, y);
        if (fit.ends.rows() > 0) {
          layers.push_back({builder.dataset(file + "_fit", std::move(fit.ends)), "line", x, "fit",
                            fmt::format("fitted: error ∝ {}^{:.2f}", x, fit.slope),
                            colour::kEstimate});
        }
        return layered({x_title, true, false, "~s"}, {"root mean square error", true}, layers);
      }};
}

}  // namespace

void add_convergence_figures(SectionBuilder& builder, const ordered_json& experiment) {
  const std::string theorem =
      text_in(experiment, "experiment") == "convergence-theorem-1" ? "theorem_1" : "theorem_2";
  builder.figure({"slopes", "Errors fall as the theorem says", "",
                  "Both axes are logarithmic, so a power law is a straight line. Against the "
                  "steps: what is left "
                  "between the estimate and the best readout of the same features, which a central "
                  "limit theorem "
                  "lets fall as the square root. Against the features: the whole error, given "
                  "plenty of steps."},
                 {scaling(builder, "against the steps", theorem + "_steps", "steps",
                          "steps of data ℓ", "estimation_error"),
                  scaling(builder, "against the features", theorem + "_features", "features",
                          "features N", "error")});
}

void add_online_figures(SectionBuilder& builder, const ordered_json& experiment) {
  if (text_in(experiment, "experiment") == "online-control") {
    builder.figure(
        {"nectar", "Nectar while learning", "",
         "The mean of the last 200 steps, random moves included: within a thousand steps "
         "the bee is near its best."},
        {{"",
          {{"running_nectar", {"step", "mean_nectar", "optimum"}}},
          [](const std::vector<Loaded>& files) {
            const std::string& data = files[0].data;
            return layered(
                {"time step"}, {"mean nectar per step"},
                {{data, "line", "step", "mean_nectar", "while it learns"},
                 {data, "line", "step", "optimum", "exact optimum", colour::kExact, kDashed}});
          }}});
    return;
  }
  builder.figure({"distance", "How far from the solve over all steps", "",
                  "The distance of each algorithm's values from those of LSTD on all steps. "
                  "Recursive least squares arrive; "
                  "whitened steps follow; plain ones crawl along the directions in which the "
                  "features hardly vary."},
                 {{"",
                   {{"distance", {"updates", "recursive", "whitened", "plain"}}},
                   [](const std::vector<Loaded>& files) {
                     const std::string& data = files[0].data;
                     return layered(
                         {"updates"}, {"distance from LSTD", true},
                         {{data, "line", "updates", "plain", "plain", colour::kEstimate},
                          {data, "line", "updates", "whitened", "whitened", colour::kOther},
                          {data, "line", "updates", "recursive", "recursive", colour::kMeasured}});
                   }}});
  builder.figure(
      {"lemma", "The Lemma's decay", "",
       "The mean flow of the whitened algorithm and the bound of the paper's Lemma, which "
       "it must stay below: a straight line on a logarithmic axis."},
      {{"", {{"mean_flow", {"time", "distance", "lemma"}}}, [](const std::vector<Loaded>& files) {
          const std::string& data = files[0].data;
          return layered(
              {"time of the flow"}, {"distance from the fixed point", true},
              {{data, "line", "time", "distance", "mean flow"},
               {data, "line", "time", "lemma", "the Lemma's bound", colour::kExact, kDashed}});
        }}});
}

}  // namespace waggle::app
