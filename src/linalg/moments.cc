/// Sums of products on several threads, in parts that do not depend on how many there are.
#include <functional>

#include "core/parallel.h"
#include "linalg/dense.h"

namespace waggle::linalg {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;

namespace {

constexpr int kPanels = 4;  // that a sum of products is cut into, whatever the number of threads
constexpr double kWorthThreads = 2e6;  // products that it takes for a thread to be worth its start

Index panel_start(Index size, int panel) { return size * panel / kPanels; }

/// The columns of one panel of c += a · bᵀ.
void add_panel(int panel, const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b, MatrixXd& c) {
  const Index from = panel_start(c.cols(), panel);
  const Index count = panel_start(c.cols(), panel + 1) - from;
  add_outer_product(a, b.middleRows(from, count), c.middleCols(from, count));
}

/// The same of c += a · aᵀ, from the diagonal down.
void add_square_panel(int panel, const Ref<const MatrixXd>& a, MatrixXd& c) {
  const Index from = panel_start(c.cols(), panel);
  const Index to = panel_start(c.cols(), panel + 1);
  const auto own = a.middleRows(from, to - from);
  add_lower_square(own, c.block(from, from, to - from, to - from));
  add_outer_product(a.bottomRows(c.rows() - to), own, c.block(to, from, c.rows() - to, to - from));
}

void add_panels(int count, const MatrixXd& c, Index m, const std::function<void(int)>& add) {
  const double products = static_cast<double>(c.size()) * static_cast<double>(m);
  parallel_for(count, products >= kWorthThreads ? 0 : 1, add);
}

}  // namespace

void add_square(const Ref<const MatrixXd>& a, MatrixXd& c) {
  add_panels(kPanels, c, a.cols(), [&](int panel) { add_square_panel(panel, a, c); });
  c.triangularView<Eigen::StrictlyUpper>() = c.transpose();
}

void add_moments(const Ref<const MatrixXd>& a, const Ref<const MatrixXd>& b, MatrixXd& system,
                 const Ref<const MatrixXd>& f, MatrixXd* gram) {
  add_panels(gram == nullptr ? kPanels : 2 * kPanels, system, a.cols(), [&](int panel) {
    if (panel < kPanels) {
      add_panel(panel, a, b, system);
    } else {
      add_square_panel(panel - kPanels, f, *gram);
    }
  });
  if (gram != nullptr) gram->triangularView<Eigen::StrictlyUpper>() = gram->transpose();
}

}  // namespace waggle::linalg
