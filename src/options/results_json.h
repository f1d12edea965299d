#pragma once

#include <utility>

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
