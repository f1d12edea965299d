#include <utility>
#include <vector>

#include <fmt/format.h>

#include <waggle/env/recall.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

Index RecallOptions::counted() const {
  return cards() - 1 - (answer == RecallAnswer::back ? back : 0);
}

void RecallOptions::validate() const {
  require(symbols >= 2 && symbols <= 64, "symbols = {}: must be in [2, 64]", symbols);
  require(decks >= 1 && decks <= 1000, "decks = {}: must be in [1, 1000]", decks);
  require(back >= 0 && back <= cards() - 2,
          "back = {}: must be in [0, {}], since {} cards are shown; more decks have more", back,
          cards() - 2, cards());
  sensor.validate();
}

Recall::Recall(const RecallOptions& options) : options_(options) {
  options.validate();
  sensor_ = Sensor(options.sensor);
  for (Index i = 0; i < options.cards(); ++i) {
    cards_.push_back(static_cast<int>(i % options.symbols));
  }
}

EnvironmentSpec Recall::spec() const {
  EnvironmentSpec spec;
  spec.name = "recall";
  spec.actions = ActionSpace::discrete(static_cast<int>(options_.symbols));
  spec.action_names = {"answer"};
  for (Index i = 0; i < options_.symbols; ++i) {
    spec.observation_names.push_back(fmt::format("symbol {}", i));
  }
  spec.reward_name = "right";
  spec.reward_is_input = false;  // it would tell which answer was right
  return spec;
}

void Recall::show(Percept& percept) const {
  percept.observation.setZero();
  percept.observation[cards_[static_cast<std::size_t>(shown_)]] = 1.0;
}

void Recall::reset(Draws& draws, Percept& percept) {
  for (Index i = options_.cards() - 1; i > 0; --i) {
    std::swap(cards_[static_cast<std::size_t>(i)],
              cards_[static_cast<std::size_t>(draws.index(i + 1))]);
  }
  shown_ = 0;
  percept.reward = 0.0;
  show(percept);
  sensor_.reset(draws, percept.observation);
}

void Recall::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws, Percept& percept) {
  const Index asked = options_.answer == RecallAnswer::back ? shown_ - options_.back : 0;
  percept.reward = 0.0;
  if (asked >= 0) {
    const double unit = 1.0 / static_cast<double>(options_.counted());
    percept.reward = action[0] == cards_[static_cast<std::size_t>(asked)] ? unit : -unit;
  }
  // Whoever steps on after the end keeps seeing the last card.
  if (shown_ + 1 < options_.cards()) ++shown_;
  percept.terminated = shown_ + 1 == options_.cards();
  show(percept);
  sensor_.see(draws, percept.observation);
}

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
  constexpr double kDiscount = 0.5;  // an answer changes nothing that follows
  ControlProblem problem = problem_of(std::make_unique<Recall>(options), kDiscount,
                                      ControlProblem::Score::episode_return);
  problem.initial_name = "random answers";
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
