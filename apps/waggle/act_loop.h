#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include <waggle/guard.h>
#include <waggle/model.h>

#include "act_events.h"

namespace waggle::app {

/// The control loop of waggle act: one line in, one line out. A line that is not understood is
/// answered with what is wrong, and is then as if it had not come.
class ActLoop {
 public:
  /// How the controller is guarded, what acts where it may not, and who is told what it notices.
  struct Guard {
    GuardOptions options = {};
    std::unique_ptr<Policy> fallback = nullptr;
    std::optional<AdaptationOptions> learning = std::nullopt;
    std::function<void(const std::string&)> tell = [](const std::string&) {};
  };

  /// `model` must outlive the loop.
  ActLoop(const Model& model, std::uint64_t seed, Start start, Guard guard);
  ActLoop(const ActLoop&) = delete;  // its parts know each other
  ActLoop& operator=(const ActLoop&) = delete;

  /// The answer to a line of JSON, which is one too.
  std::string answer(const std::string& line);

  /// Steps answered, over all episodes.
  std::uint64_t steps() const { return clock_; }
  /// What a loop that learns has made of the model.
  Model adapted() const { return policy_.adapted(); }

  /// What was noticed in all steps; empty if nothing was.
  std::string summary() const { return events_.summary(); }

 private:
  const EnvironmentSpec& spec() const { return model_.environment; }
  bool learns() const { return policy_.adaptation() != nullptr; }
  void begin_episode();
  void terminate();
  void act();
  double error_of_value() const { return model_.standard_error(policy_.features()); }

  Eigen::Index channel(const std::string& name) const;
  std::vector<Eigen::Index> labels(const std::string& column) const;
  void read_label(const std::string& column, const std::string& label);
  const std::string& name_of_channel(Eigen::Index channel) const;
  bool may_miss(Eigen::Index channel) const;
  void fill_missing(std::vector<bool> given, const Eigen::VectorXd& held, bool begins);
  double& slot(Eigen::Index channel);
  void forget_reward();

  bool read(const nlohmann::json& json);
  void read_applied(const nlohmann::json& json);
  double applied_number(const nlohmann::json& json) const;
  std::optional<double> choice(const std::string& label) const;

  std::string action_text(Eigen::Index i) const;

  const Model& model_;
  GuardedPolicy policy_;
  ActEvents events_;
  Random random_;
  Percept percept_;
  MissingObservations missing_;
  Eigen::VectorXd held_;       // what is read of those: as in the last line that was answered
  Eigen::VectorXd action_;     // the last one answered
  Eigen::VectorXd next_;       // the one that is decided on
  Eigen::VectorXd applied_;    // what the last one really was,
  bool says_applied_ = false;  // if this line says so
  std::uint64_t step_ = 0;     // since the episode began
  std::uint64_t clock_ = 0;    // since the first one did
  bool terminated_ = false;    // this line ends the episode
  std::vector<std::string> choice_texts_;  // as an answer has them
};

}  // namespace waggle::app
