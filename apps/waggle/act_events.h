#pragma once

#include <functional>
#include <string>
#include <vector>

#include <waggle/guard.h>

namespace waggle::app {

/// Says in words what a guarded controller notices: in its answers, at once where it is new, and
/// all together at the end.
class ActEvents {
 public:
  /// `model` and `policy` must outlive it; `tell` is given one line at a time, without its end.
  ActEvents(const Model& model, const GuardedPolicy& policy,
            std::function<void(const std::string&)> tell);

  /// After every step of the policy: tells what there was not before. `percept` is as it came.
  void look(const Percept& percept);

  /// What an answer says beside the value: members of a JSON object, each after a comma.
  std::string text() const;

  /// What was noticed in all steps; empty if nothing was.
  std::string summary() const;

 private:
  bool held(Eigen::Index channel) const;
  const std::string& name(Eigen::Index channel) const;
  void look_at(Eigen::Index channel, double value);
  void look_at_fallback();
  void look_at_alarm();
  void look_at_learning();
  std::string counts(InputFault fault) const;

  const Model& model_;
  const GuardedPolicy& policy_;
  std::function<void(const std::string&)> tell_;
  bool fell_back_ = false;
  Eigen::Index novel_ = 0;  // steps of a novelty above 1
  bool alarmed_ = false;
  bool tried_ = false;  // the adapted controller has acted
  Eigen::Index went_back_ = 0;
};

}  // namespace waggle::app
