#pragma once

#include <cstdint>

#include <Eigen/Core>

#include <waggle/predictive.h>
#include <waggle/trajectory.h>

namespace waggle {

/// How many random features to draw, of which scale, by which random numbers.
struct FeatureDraw {
  Eigen::Index count;
  double scale;
  std::uint64_t seed;
  std::uint64_t stream;
};
/// Directions of standard deviation 1/scale in unit-variance coordinates, and normal offsets: most
/// bend where the data is if the scale is below 1, few if it is large.
RectifiedFeatures draw_features(Eigen::Index inputs, const FeatureDraw& draw);
/// Random features of what is predicted, and of as many numbers of the action as the after-state
/// holds, for a value. A value is linear in a reward that is predicted and not seen.
RectifiedFeatures draw_value_features(const InputLayout& layout, Eigen::Index predictions,
                                      Eigen::Index carried, const FeatureDraw& draw);

}  // namespace waggle
