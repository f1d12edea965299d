#include <waggle/base/exchange.h>

#include "data/tree_sum.h"

namespace waggle {

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;

Index leaf_rows(Index rows) {
  constexpr Index kFewLeaves = 8;       // a small log, too, can be spread
  constexpr Index kLongestLeaf = 4096;  // longer ones save no time
  Index leaf = kShortestLeaf;
  while (leaf < kLongestLeaf && rows >= 2 * leaf * kFewLeaves) leaf *= 2;
  return leaf;
}

void add_arrays(const Arrays& more, const Arrays& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (more[i]->size() == 0) continue;
    if (to[i]->size() == 0) {
      to[i]->swap(*more[i]);
    } else {
      *to[i] += *more[i];
    }
  }
}

void write_arrays(const Arrays& arrays, Exchange::Numbers& to) {
  for (const MatrixXd* array : arrays) {
    to.push_back(static_cast<double>(array->rows()));
    to.push_back(static_cast<double>(array->cols()));
    to.insert(to.end(), array->data(), array->data() + array->size());
  }
}

const double* read_arrays(const double* from, const Arrays& arrays) {
  for (MatrixXd* array : arrays) {
    const auto rows = static_cast<Index>(from[0]);
    const auto columns = static_cast<Index>(from[1]);
    *array = Map<const MatrixXd>(from + 2, rows, columns);
    from += 2 + rows * columns;
  }
  return from;
}

MatrixXd joined(Exchange* exchange, MatrixXd columns) {
  if (exchange == nullptr) return columns;
  const Index rows = columns.rows();
  const Exchange::Numbers all =
      exchange->all({columns.data(), columns.data() + columns.size()},
                    [](const std::vector<Exchange::Numbers>& parts) {
                      Exchange::Numbers side_by_side;
                      for (const Exchange::Numbers& part : parts) {
                        side_by_side.insert(side_by_side.end(), part.begin(), part.end());
                      }
                      return side_by_side;
                    });
  return Map<const MatrixXd>(all.data(), rows, std::ssize(all) / rows);
}

}  // namespace waggle
