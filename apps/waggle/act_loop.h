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

  std::string answer_json(const std::string& line);
  std::string answer_csv(std::string line);

  /// Steps answered, over all episodes.
  std::uint64_t steps() const { return clock_; }
  /// What a loop that learns has made of the model.
  Model adapted() const { return policy_.adapted(); }

  /// What was noticed in all steps; empty if nothing was.
  std::string summary() const { return events_.summary(); }

 private:
  /// What a cell read is: number 0 the reward, 1 + i observation i; the label of observations from
  /// i on; or number i of what was applied.
  struct Place {
    enum class Kind { none, percept, label, applied };
    Kind kind = Kind::none;
    Eigen::Index index = 0;

    bool operator==(const Place&) const = default;
  };

  const EnvironmentSpec& spec() const { return model_.environment; }
  bool learns() const { return policy_.adaptation() != nullptr; }
  bool needs_reward() const { return spec().reward_is_input || learns(); }
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
  std::string far_outside() const;

  bool read_json(const nlohmann::json& json);
  void read_applied(const nlohmann::json& json);
  double applied_json(const nlohmann::json& json) const;
  std::string header(const std::vector<std::string>& names);
  Place place(const std::string& name) const;
  void read_csv(const std::vector<std::string>& cells);
  double applied_cell(const std::string& cell) const;
  std::optional<double> choice(const std::string& label) const;

  std::string json_cell(Eigen::Index i) const;
  std::string csv_action(Eigen::Index i) const;

  const Model& model_;
  GuardedPolicy policy_;
  ActEvents events_;
  Random random_;
  Percept percept_;
  MissingObservations missing_;
  Eigen::VectorXd held_;     // what is read of those: as in the last line that was answered
  Eigen::VectorXd action_;   // the last one answered
  Eigen::VectorXd next_;     // the one that is decided on
  Eigen::VectorXd applied_;  // what the last one really was,
  bool told_ = false;        // if this line says so
  std::uint64_t step_ = 0;   // since the episode began
  std::uint64_t clock_ = 0;  // since the first one did
  bool terminated_ = false;  // this line ends the episode
  std::vector<std::string> json_labels_;
  bool header_may_come_ = true;  // CSV: no row has come yet
  bool header_is_due_ = false;   // one came that was not understood
  std::vector<Place> order_;     // of the columns, if a header said so, which is
  std::vector<std::string> header_;
};

}  // namespace waggle::app
