#include "prediction/feature_draws.h"

#include <cmath>
#include <utility>

#include <waggle/base/random.h>

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

RectifiedFeatures draw_features(Index inputs, const FeatureDraw& draw) {
  RectifiedFeatures features{MatrixXd(draw.count, inputs), VectorXd(draw.count)};
  const double factor = 1.0 / (draw.scale * std::sqrt(static_cast<double>(inputs)));
  Draws draws = Random(draw.seed).at(Purpose::features, draw.stream);
  for (Index i = 0; i < draw.count; ++i) {
    for (Index j = 0; j < inputs; ++j) features.directions(i, j) = factor * draws.normal();
    features.offsets[i] = draws.normal();
  }
  return features;
}

RectifiedFeatures draw_value_features(const InputLayout& layout, Index predictions, Index carried,
                                      const FeatureDraw& draw) {
  RectifiedFeatures features = draw_features(predictions + carried, draw);
  if (layout.reward) return features;
  // The reward comes first of what follows the predictions.
  MatrixXd directions = MatrixXd::Zero(draw.count, predictions + 1 + carried);
  directions.leftCols(predictions) = features.directions.leftCols(predictions);
  directions.rightCols(carried) = features.directions.rightCols(carried);
  features.directions = std::move(directions);
  return features;
}

}  // namespace waggle
