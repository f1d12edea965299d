#include <algorithm>
#include <cmath>

#include <waggle_paper/theory/lemma.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle::theory {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

void require_moments(const Ref<const MatrixXd>& moments, double lipschitz) {
  require(moments.size() > 0 && moments.rows() == moments.cols() && moments.allFinite(),
          "the features' second moments are {} × {}: must be square, finite and not empty",
          moments.rows(), moments.cols());
  // Sums of outer products differ from their transposes by rounding at most.
  Index row = 0, column = 0;
  const double asymmetry = (moments - moments.transpose()).cwiseAbs().maxCoeff(&row, &column);
  require(asymmetry <= 1e-8 * moments.cwiseAbs().maxCoeff(),
          "the features' second moments must be symmetric: entry ({}, {}) is {}, ({}, {}) is {}",
          row, column, moments(row, column), column, row, moments(column, row));
  require(lipschitz >= 0.0 && lipschitz < 1.0, "lipschitz = {}: must be in [0, 1)", lipschitz);
}

LemmaConditions conditions(Index features, double smallest, double largest, double lipschitz) {
  // An eigenvalue below the rounding error of the largest cannot be told from 0.
  const double rounding =
      static_cast<double>(features) * std::numeric_limits<double>::epsilon() * largest;
  smallest = smallest > rounding ? smallest : 0.0;
  return {.features = features,
          .lipschitz = lipschitz,
          .smallest = smallest,
          .largest = largest,
          .condition_number =
              smallest > 0.0 ? largest / smallest : std::numeric_limits<double>::infinity(),
          .rate = smallest - lipschitz * largest,
          .sharp_rate = (1.0 - lipschitz) * smallest};
}

}  // namespace

LemmaConditions lemma_conditions(const Ref<const MatrixXd>& second_moments, double lipschitz) {
  require_moments(second_moments, lipschitz);
  const VectorXd values = linalg::symmetric_eigen(second_moments).values;
  return conditions(values.size(), values[0], values[values.size() - 1], lipschitz);
}

Whitening whiten(const Ref<const MatrixXd>& second_moments, double lipschitz, double cutoff,
                 Index most) {
  require_moments(second_moments, lipschitz);
  require(cutoff >= 0.0 && cutoff < 1.0, "cutoff = {}: must be in [0, 1)", cutoff);
  require(most >= 1, "most = {}: must be at least 1", most);
  const linalg::SymmetricEigen eigen = linalg::symmetric_eigen(second_moments);
  const Index n = eigen.values.size();
  const double largest = eigen.values[n - 1];
  require(largest > 0.0, "the features are all 0: there is nothing to whiten");
  Whitening whitening;
  whitening.before = conditions(n, eigen.values[0], largest, lipschitz);
  whitening.kept = std::min<Index>(most, (eigen.values.array() > cutoff * largest).count());
  VectorXd kept = eigen.values.tail(whitening.kept);
  const LemmaConditions inside = conditions(whitening.kept, kept[0], largest, lipschitz);
  if (!std::isfinite(inside.condition_number)) {
    whitening.ridge = 1e-12 * largest;
    kept.array() += whitening.ridge;
  }
  whitening.map = kept.cwiseSqrt().cwiseInverse().asDiagonal() *
                  eigen.vectors.rightCols(whitening.kept).transpose();
  // The second moments of what comes out are diagonal: eigenvalues over what they were divided by.
  const VectorXd out = eigen.values.tail(whitening.kept).cwiseQuotient(kept);
  whitening.after = conditions(whitening.kept, out.minCoeff(), out.maxCoeff(), lipschitz);
  return whitening;
}

}  // namespace waggle::theory
