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

inline nlohmann::ordered_json to_json(const PolicyWorth& worth) {
  nlohmann::ordered_json json = {{"known", worth.known()},
                                 {"episodic", worth.episodic},
                                 {"support", worth.support},
                                 {"level", worth.level}};
  if (!worth.known()) {
    json["unknown"] = worth.unknown;
    return json;
  }
  json["learnt"] = to_json(worth.learnt);
  json["logged"] = to_json(worth.logged);
  json["difference"] = to_json(worth.difference);
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
  if (e.worth) json["worth"] = to_json(*e.worth);
  json.update({{"bellman_error", e.bellman_error},
               {"greedy_bellman_error", e.greedy_bellman_error},
               {"lowest_value", e.lowest_value},
               {"highest_value", e.highest_value},
               {"with_return", e.with_return},
               {"slope", e.slope},
               {"intercept", e.intercept},
               {"correlation", e.correlation},
               {"deciles", nlohmann::ordered_json::array()},
               {"same_share", e.same_share},
               {"action_difference", list(e.action_difference)},
               {"action_deviation", list(e.action_deviation)},
               {"warnings", e.warnings}});
  for (const LogEvaluation::Decile& decile : e.deciles) {
    json["deciles"].push_back({{"rows", decile.rows},
                               {"value", decile.value},
                               {"realised", decile.realised},
                               {"deviation", decile.deviation}});
  }
  return json;
}

inline nlohmann::ordered_json to_json(const TuneResult& tuned) {
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const TuneTrial& trial : tuned.trials) {
    nlohmann::ordered_json item = {{"settings", trial.settings}, {"seconds", trial.seconds}};
    if (trial.failed.empty()) {
      item["difference"] = to_json(trial.difference);
      item["gain"] = to_json(trial.gain);
      item["stretch"] = trial.stretch;
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
