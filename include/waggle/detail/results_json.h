#pragma once

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <waggle/evaluation.h>
#include <waggle/tuning.h>

/// Results as JSON, the same from the command and in Python.
namespace waggle {

inline nlohmann::ordered_json to_json(const Estimate& estimate) {
  return {{"value", estimate.value},
          {"standard_error", estimate.standard_error},
          {"lower", estimate.lower},
          {"upper", estimate.upper}};
}

inline nlohmann::ordered_json to_json(const OffPolicyEstimate& estimate) {
  nlohmann::ordered_json json = {{"known", estimate.known()},
                                 {"episodic", estimate.episodic},
                                 {"support", estimate.support},
                                 {"level", estimate.level}};
  if (!estimate.known()) {
    json["unknown"] = estimate.unknown;
    return json;
  }
  json["learnt"] = to_json(estimate.learnt);
  json["logged"] = to_json(estimate.logged);
  json["difference"] = to_json(estimate.difference);
  return json;
}

/// All but the single rows. Numbers of an action that there are none of are empty lists.
inline nlohmann::ordered_json to_json(const LogEvaluation& evaluation) {
  const LogEvaluation& e = evaluation;
  const auto list = [](const Eigen::VectorXd& vector) {
    return std::vector<double>(vector.begin(), vector.end());
  };
  nlohmann::ordered_json json = {{"rows", e.rows},
                                 {"episodes", e.episodes},
                                 {"judged", e.judged},
                                 {"mean_reward", e.mean_reward}};
  if (e.off_policy) json["off_policy"] = to_json(*e.off_policy);
  json.update({{"bellman_error", e.bellman_error},
               {"greedy_bellman_error", e.greedy_bellman_error},
               {"lowest_value", e.lowest_value},
               {"highest_value", e.highest_value},
               {"with_return", e.with_return},
               {"slope", e.slope},
               {"intercept", e.intercept},
               {"correlation", e.correlation},
               {"same_share", e.same_share},
               {"action_difference", list(e.action_difference)},
               {"action_deviation", list(e.action_deviation)},
               {"warnings", e.warnings}});
  return json;
}

inline nlohmann::ordered_json to_json(const TuneResult& tuned) {
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const TuneTrial& trial : tuned.trials) {
    nlohmann::ordered_json item = {{"settings", trial.settings}, {"seconds", trial.seconds}};
    if (trial.failed.empty()) {
      item["difference"] = to_json(trial.difference);
      item["gain"] = to_json(trial.gain);
      item["support"] = trial.support;
    } else {
      item["failed"] = trial.failed;
    }
    trials.push_back(std::move(item));
  }
  nlohmann::ordered_json result = {{"rows", tuned.rows},
                                   {"reason", tuned.reason},
                                   {"out_of_time", tuned.out_of_time},
                                   {"trials", trials}};
  if (tuned.tried()) result["taken"] = tuned.taken;
  return result;
}

}  // namespace waggle
