#include <cmath>

#include <waggle_paper/theory/hidden_markov.h>

#include <waggle/base/random.h>

#include "core/check.h"

namespace waggle::theory {

using Eigen::Index;

void HiddenMarkovOptions::validate() const {
  require(flip > 0.0 && flip < 1.0, "flip = {}: must be in (0, 1)", flip);
  require(contrast >= 0.0 && contrast <= 1.0, "contrast = {}: must be in [0, 1]", contrast);
}

namespace {

/// The z with (z + 1)/2 + s(z² − 1)/4 = u, s = c h: the distribution function inverted, written so
/// that s = 0 needs no case of its own.
double observe(double s, double u) {
  const double rest = 2.0 * (2.0 * u - 1.0) + s;  // s z² + 2 z = rest
  return rest / (1.0 + std::sqrt(1.0 + s * rest));
}

}  // namespace

HiddenMarkovSeries hidden_markov(const HiddenMarkovOptions& options, Index steps,
                                 std::uint64_t seed) {
  options.validate();
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  HiddenMarkovSeries series{options, Eigen::VectorXd(steps), Eigen::VectorXd(steps),
                            Eigen::VectorXd(steps)};
  const Random random(seed);
  double hidden = random.at(Purpose::series).uniform() < 0.5 ? -1.0 : 1.0;
  double filtered = 0.0;
  for (Index k = 0; k < steps; ++k) {
    Draws draws = random.at(Purpose::series, static_cast<std::uint64_t>(k) + 1);
    if (k > 0 && draws.uniform() < options.flip) hidden = -hidden;
    const double z = observe(options.contrast * hidden, draws.uniform());
    const double prior = k > 0 ? (1.0 - 2.0 * options.flip) * filtered : 0.0;
    const double evidence = options.contrast * z;
    filtered = (prior + evidence) / (1.0 + evidence * prior);
    series.observed[k] = z;
    series.hidden[k] = hidden;
    series.filtered[k] = filtered;
  }
  return series;
}

}  // namespace waggle::theory
