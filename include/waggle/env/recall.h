#pragma once

#include <vector>

#include <waggle/base/names.h>
#include <waggle/env/control_problem.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>

namespace waggle {

/// What is asked for in Recall.
enum class RecallAnswer {
  back,   ///< the symbol shown `back` steps ago
  first,  ///< the symbol shown first
};
template <>
struct Names<RecallAnswer> {
  static constexpr NameTable<RecallAnswer, 2> all{
      {{"back", RecallAnswer::back}, {"first", RecallAnswer::first}}};
};

/// Recall: cards are shown one a step, and one of them is asked for (the game of POPGym's
/// RepeatPrevious and RepeatFirst: Morad et al., ICLR 2023).
///
///     cards       N = 13 · symbols · decks, 13 of each symbol in every deck, shuffled together
///     shown       o_k = the symbol of card k as a one-hot vector, k = 0 … N−1
///     right       a_k = symbol of card k − back (back = 0: the card on display), or of card 0
///     reward      r_{k+1} = ±1/n, + where a_k is right; 0 where k < back
///
/// The episode terminates as card N−1 is shown, so there are N−1 answers, of which n = N−1−back
/// count (all, where the first is asked for): who is always right earns exactly 1, who guesses
/// 2/symbols − 1 on average. POPGym counts the card on display as the first: its k is back + 1.
struct RecallOptions {
  RecallAnswer answer = RecallAnswer::back;
  Eigen::Index back = 4;     ///< in [0, N−2]; unused where the first is asked for
  Eigen::Index symbols = 4;  ///< in [2, 64]
  Eigen::Index decks = 1;    ///< in [1, 1000]
  SensorOptions sensor = {};

  Eigen::Index cards() const { return 13 * symbols * decks; }
  /// n, the answers of an episode that count.
  Eigen::Index counted() const;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, RecallOptions& o) {
  v("answer", o.answer, "which symbol is asked for: that of some steps ago, or the first");
  v("back", o.back, "how many steps ago; 0: the one on display");
  v("symbols", o.symbols, "how many there are");
  v("decks", o.decks, "of 13 cards of each symbol, shown in an episode");
  describe(v, o.sensor);
}

class Recall final : public Environment {
 public:
  explicit Recall(const RecallOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// The symbols of all cards in the order they are shown: hidden, for tests and figures.
  const std::vector<int>& cards() const { return cards_; }

 private:
  /// Card k as a one-hot vector.
  void show(Percept& percept) const;

  RecallOptions options_;
  Sensor sensor_;
  std::vector<int> cards_;
  Eigen::Index shown_ = 0;  // k
};

/// Throws Error for options out of range.
ControlProblem recall_problem(const RecallOptions& options = {});

}  // namespace waggle
