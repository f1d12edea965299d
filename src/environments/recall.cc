#include <vector>

#include <waggle/environments.h>

namespace waggle {

using Eigen::Index;

namespace {

/// Ordinary memory: writes down every symbol seen and looks up the one asked for. Always right
/// where nothing is added to what is seen, and it is seen in time.
class RecallPolicy final : public Policy {
 public:
  /// Answers with what was seen `back` percepts ago, or with the first if that is asked for.
  RecallPolicy(RecallAnswer answer, Index back) : answer_(answer), back_(back) {}

  void begin_episode() override { seen_.clear(); }
  void act(const Percept& percept, Draws& /*draws*/, Eigen::Ref<Eigen::VectorXd> action) override {
    Index symbol = 0;
    percept.observation.maxCoeff(&symbol);
    seen_.push_back(symbol);
    const Index asked = answer_ == RecallAnswer::first ? 0 : std::ssize(seen_) - 1 - back_;
    action[0] = asked < 0 ? 0.0 : static_cast<double>(seen_[static_cast<std::size_t>(asked)]);
  }

 private:
  RecallAnswer answer_;
  Index back_;
  std::vector<Index> seen_;
};

}  // namespace

ControlProblem recall_problem(const RecallOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Recall>(options);
  problem.initial = std::make_unique<HeldUniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random answers";
  problem.discount = 0.5;  // an answer changes nothing that follows
  problem.score = ControlProblem::Score::episode_return;
  // Through noise, or with what is asked for not seen yet, nobody is always right, and what is best
  // is not known.
  const bool in_time =
      options.answer == RecallAnswer::first || options.sensor.delay <= options.back;
  if (options.sensor.noise > 0.0 || !in_time) return problem;
  problem.reference = [] {
    return ControlProblem::Reference{.label = "every answer right", .score = 1.0};
  };
  problem.reference_policy = [options] {
    return std::make_unique<RecallPolicy>(options.answer, options.back - options.sensor.delay);
  };
  return problem;
}

}  // namespace waggle
