#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <waggle/base/describe.h>
#include <waggle/fit/activation.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

TEST(Activation, IsWhatItsTraitsSay) {
  std::set<std::string_view> names;
  for (const Activation activation : kActivations) {
    const ActivationTraits traits = traits_of(activation);
    SCOPED_TRACE(traits.name);
    EXPECT_TRUE(names.insert(traits.name).second);
    const VectorXd v = VectorXd::LinSpaced(801, -4.0, 4.0);
    VectorXd y = v;
    apply_activation(activation, y.data(), y.size());
    if (is_linear(activation)) {
      EXPECT_EQ(y, v);
    }
    if (is_rectified(activation)) {
      EXPECT_EQ(y, v.cwiseMax(0.0));
    }
    double steepest = 0.0;
    for (Index i = 0; i + 1 < v.size(); ++i) {
      steepest = std::max(steepest, std::abs((y[i + 1] - y[i]) / (v[i + 1] - v[i])));
    }
    EXPECT_NEAR(steepest, traits.steepest, 1e-4);
    double none = NAN;
    apply_activation(activation, &none, 1);
    EXPECT_TRUE(std::isnan(none));
  }
}

TEST(Activation, GoesByOneNameInFilesToo) {
  EXPECT_EQ(Names<Activation>::all.size(), kActivations.size());
  EXPECT_EQ(name_of(Activation::identity), "identity");
  EXPECT_EQ(name_of(Activation::tanh), "tanh");
}

}  // namespace
}  // namespace waggle
