#include "learn/judging_features.h"

namespace waggle {

using Eigen::MatrixXd;
using Eigen::Ref;

JudgingFeatures::JudgingFeatures(const Controller& controller)
    : last_(controller.reservoir->last_fit()),
      first_too_(controller.reservoir->shared_feature() >= 0),
      constant_(controller.reservoir->constant_feature()) {}

void JudgingFeatures::pick(const Ref<const MatrixXd>& all, Ref<MatrixXd> picked) const {
  picked.bottomRows(last_) = all.bottomRows(last_);
  if (first_too_) picked.row(0) = all.row(0);
}

}  // namespace waggle
