#include "learn/judging_features.h"

#include <waggle/predictive.h>

namespace waggle {

using Eigen::MatrixXd;
using Eigen::Ref;

JudgingFeatures::JudgingFeatures(const Controller& controller)
    : last_(controller.reservoir->features()), constant_(controller.reservoir->constant_feature()) {
  if (const PredictiveNetwork* network = controller.predictive()) {
    last_ = network->heads().back().features();
    first_too_ = true;
    constant_ = 1;
  }
}

void JudgingFeatures::pick(const Ref<const MatrixXd>& all, Ref<MatrixXd> picked) const {
  picked.bottomRows(last_) = all.bottomRows(last_);
  if (first_too_) picked.row(0) = all.row(0);
}

}  // namespace waggle
