#include <cmath>
#include <map>

#include <fmt/format.h>

#include "results.h"
#include "sections.h"

namespace waggle::app {

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

/// `theorem` is how the names of its files begin.
void draw_convergence(SectionBuilder& builder, const std::string& theorem) {
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

}  // namespace

void draw_theorem_1(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  draw_convergence(builder, "theorem_1");
}

void draw_theorem_2(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  draw_convergence(builder, "theorem_2");
}

}  // namespace waggle::app
