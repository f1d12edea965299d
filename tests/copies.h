#pragma once

#include <memory>
#include <vector>

#include <waggle/rollout.h>

namespace waggle {

/// Environments of the library as copies that step together, with the draws a Simulation of each by
/// itself would give them.
class Copies final : public EnvironmentCopies {
 public:
  /// `at_once`: an ended episode is followed by the next between steps, else within the next step.
  Copies(std::vector<std::unique_ptr<Environment>> environments, std::uint64_t seed, bool at_once)
      : environments_(std::move(environments)),
        clocks_(environments_.size(), 0),
        at_once_(at_once) {
    for (std::size_t i = 0; i < environments_.size(); ++i) random_.emplace_back(seed + i);
  }

  EnvironmentSpec spec() const override { return environments_[0]->spec(); }
  Eigen::Index copies() const override { return std::ssize(environments_); }
  void reset(std::span<Percept> percepts) override {
    for (std::size_t i = 0; i < environments_.size(); ++i) begin(i, percepts[i]);
  }
  void step(const Eigen::Ref<const Eigen::MatrixXd>& actions,
            std::span<Percept> percepts) override {
    for (std::size_t i = 0; i < environments_.size(); ++i) {
      ++clocks_[i];
      if (percepts[i].terminated || percepts[i].truncated) {
        begin(i, percepts[i]);
        continue;
      }
      Draws draws = random_[i].at(Purpose::environment, clocks_[i]);
      environments_[i]->step(actions.col(static_cast<Eigen::Index>(i)), draws, percepts[i]);
    }
  }
  bool restart(std::span<const Eigen::Index> copies, std::span<Percept> percepts) override {
    for (const Eigen::Index copy : copies) {
      if (!at_once_) break;
      ++clocks_[static_cast<std::size_t>(copy)];
      begin(static_cast<std::size_t>(copy), percepts[static_cast<std::size_t>(copy)]);
    }
    return at_once_;
  }

 private:
  void begin(std::size_t i, Percept& percept) {
    const Eigen::Index size = percept.observation.size();
    percept = {};
    percept.observation.setZero(size);
    Draws draws = random_[i].at(Purpose::environment, clocks_[i]);
    environments_[i]->reset(draws, percept);
  }

  std::vector<std::unique_ptr<Environment>> environments_;
  std::vector<Random> random_;
  std::vector<std::uint64_t> clocks_;
  bool at_once_;
};

/// Some copies of one kind.
template <typename Kind, typename... Arguments>
std::vector<std::unique_ptr<Environment>> several(int count, const Arguments&... arguments) {
  std::vector<std::unique_ptr<Environment>> list;
  for (int i = 0; i < count; ++i) list.push_back(std::make_unique<Kind>(arguments...));
  return list;
}

}  // namespace waggle
