#pragma once

#include <array>
#include <string_view>

#include <Eigen/Core>

#include <waggle/base/names.h>

namespace waggle {

enum class Activation { relu, tanh, identity };

/// All that the rest of the library needs to know of an activation σ. A new one takes an entry in
/// the enumeration, one in traits_of and one in apply_activation (which the compiler asks for), and
/// one in the C of exported controllers (src/export/runtime: tables.h and network.c); its name in
/// files and on the command line, the search for the best action and the echo state property follow
/// from these.
struct ActivationTraits {
  /// What the search for the best action may rely on.
  enum class Form {
    linear,     ///< σ(v) = v
    rectified,  ///< σ(v) = max(v, 0): the value has one kink for each unit
    any,        ///< nothing: actions are tried
  };

  std::string_view name;
  Form form = Form::any;
  double steepest = 0.0;  ///< the greatest slope: Lipschitz constant
};

constexpr ActivationTraits traits_of(Activation activation) {
  using Form = ActivationTraits::Form;
  switch (activation) {  // no default: the compiler refuses an activation that is not described
    case Activation::relu:
      return {"relu", Form::rectified, 1.0};
    case Activation::tanh:
      return {"tanh", Form::any, 1.0};
    case Activation::identity:
      return {"identity", Form::linear, 1.0};
  }
  return {};
}

/// values_i = σ(values_i); NaN stays NaN.
void apply_activation(Activation activation, double* values, Eigen::Index size);

constexpr bool is_linear(Activation activation) {
  return traits_of(activation).form == ActivationTraits::Form::linear;
}
constexpr bool is_rectified(Activation activation) {
  return traits_of(activation).form == ActivationTraits::Form::rectified;
}
constexpr bool is_piecewise_linear(Activation activation) {
  return is_linear(activation) || is_rectified(activation);
}

constexpr std::size_t count_activations() {
  std::size_t count = 0;
  while (!traits_of(static_cast<Activation>(count)).name.empty()) ++count;
  return count;
}

/// Every activation there is, in the order of the enumeration.
constexpr auto kActivations = [] {
  std::array<Activation, count_activations()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Activation>(i);
  return all;
}();

template <>
struct Names<Activation> {
  static constexpr auto all = [] {
    NameTable<Activation, kActivations.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = {traits_of(kActivations[i]).name, kActivations[i]};
    }
    return names;
  }();
};

}  // namespace waggle
