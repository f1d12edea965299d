#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <waggle/controller.h>
#include <waggle/export.h>
#include <waggle/least_squares.h>
#include <waggle/log.h>
#include <waggle/market_maker.h>
#include <waggle/online.h>
#include <waggle/policy_iteration.h>
#include <waggle/recall.h>
#include <waggle/reference/bee_world.h>
#include <waggle/reservoir.h>
#include <waggle/value.h>

namespace waggle {

/// The names an enumeration goes by in files and on the command line.
template <typename Enum>
struct Names;

template <>
struct Names<Activation> {
  static constexpr auto all = [] {
    std::array<std::pair<std::string_view, Activation>, kActivations.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = {traits_of(kActivations[i]).name, kActivations[i]};
    }
    return names;
  }();
};
template <>
struct Names<Distribution> {
  static constexpr std::array<std::pair<std::string_view, Distribution>, 2> all{
      {{"uniform", Distribution::uniform}, {"gaussian", Distribution::gaussian}}};
};
template <>
struct Names<Solver> {
  static constexpr std::array<std::pair<std::string_view, Solver>, 2> all{
      {{"svd", Solver::svd}, {"triangular", Solver::triangular}}};
};
template <>
struct Names<RidgeScale> {
  static constexpr std::array<std::pair<std::string_view, RidgeScale>, 2> all{
      {{"absolute", RidgeScale::absolute}, {"relative", RidgeScale::relative}}};
};
template <>
struct Names<Method> {
  static constexpr std::array<std::pair<std::string_view, Method>, 2> all{
      {{"bellman_residual", Method::bellman_residual}, {"lstd", Method::lstd}}};
};
template <>
struct Names<Maximiser> {
  static constexpr std::array<std::pair<std::string_view, Maximiser>, 2> all{
      {{"exact", Maximiser::exact}, {"sampled", Maximiser::sampled}}};
};
template <>
struct Names<PolicyIterationEnd> {
  static constexpr std::array<std::pair<std::string_view, PolicyIterationEnd>, 3> all{
      {{"fixed_point", PolicyIterationEnd::fixed_point},
       {"cycle", PolicyIterationEnd::cycle},
       {"stopped", PolicyIterationEnd::stopped}}};
};
template <>
struct Names<OnlineUpdate> {
  static constexpr std::array<std::pair<std::string_view, OnlineUpdate>, 3> all{
      {{"plain", OnlineUpdate::plain},
       {"whitened", OnlineUpdate::whitened},
       {"recursive", OnlineUpdate::recursive}}};
};
template <>
struct Names<OnlineTarget> {
  static constexpr std::array<std::pair<std::string_view, OnlineTarget>, 2> all{
      {{"next", OnlineTarget::next}, {"greedy", OnlineTarget::greedy}}};
};
template <>
struct Names<RewardTiming> {
  static constexpr std::array<std::pair<std::string_view, RewardTiming>, 2> all{
      {{"arrival", RewardTiming::arrival}, {"departure", RewardTiming::departure}}};
};
template <>
struct Names<RecallAnswer> {
  static constexpr std::array<std::pair<std::string_view, RecallAnswer>, 2> all{
      {{"back", RecallAnswer::back}, {"first", RecallAnswer::first}}};
};
template <>
struct Names<LogOptions::ActionKind> {
  static constexpr std::array<std::pair<std::string_view, LogOptions::ActionKind>, 3> all{
      {{"automatic", LogOptions::ActionKind::automatic},
       {"discrete", LogOptions::ActionKind::discrete},
       {"continuous", LogOptions::ActionKind::continuous}}};
};
template <>
struct Names<LogOptions::Missing> {
  static constexpr std::array<std::pair<std::string_view, LogOptions::Missing>, 2> all{
      {{"refuse", LogOptions::Missing::refuse}, {"hold", LogOptions::Missing::hold}}};
};
template <>
struct Names<Precision> {
  static constexpr std::array<std::pair<std::string_view, Precision>, 2> all{
      {{"float", Precision::float32}, {"double", Precision::float64}}};
};
template <>
struct Names<Fallback> {
  static constexpr std::array<std::pair<std::string_view, Fallback>, 3> all{
      {{"none", Fallback::none}, {"hold", Fallback::hold}, {"zero", Fallback::zero}}};
};
template <>
struct Names<reference::EulerLagrangeSign> {
  static constexpr std::array<std::pair<std::string_view, reference::EulerLagrangeSign>, 2> all{
      {{"printed", reference::EulerLagrangeSign::printed},
       {"corrected", reference::EulerLagrangeSign::corrected}}};
};
template <>
struct Names<reference::Integrator> {
  static constexpr std::array<std::pair<std::string_view, reference::Integrator>, 2> all{
      {{"dormand_prince", reference::Integrator::dormand_prince},
       {"rosenbrock", reference::Integrator::rosenbrock}}};
};

/// The name of a value, "?" if it has none.
template <typename Enum>
std::string_view name_of(Enum value) {
  for (const auto& [name, candidate] : Names<Enum>::all) {
    if (candidate == value) return name;
  }
  return "?";
}

/// The value of a name, if it is one.
template <typename Enum>
std::optional<Enum> value_named(std::string_view name) {
  for (const auto& [candidate, value] : Names<Enum>::all) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

}  // namespace waggle
