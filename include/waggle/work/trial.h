#pragma once

#include <array>

#include <Eigen/Core>

namespace waggle {

struct TrialOptions {
  Eigen::Index block = 100;  ///< ≥ 8: steps in which one of the two acts
  Eigen::Index memory = 2000;  ///< ≥ 1, m: a turn counts for (1 − 1/m) of what it did, a step later
  double worse = 2.0;          ///< > 0: standard errors that the adapted one may earn less
  double discount = 0.98;      ///< γ in [0, 1)

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Finds out by trial which of two controllers earns more. They act in turn, in blocks: of four
/// blocks, a turn, one is the start's, a place later in every turn, and three are the adapted
/// one's. In the first turn the start acts alone. A turn's difference is
///
///     d = mean over the adapted blocks − the start's block
///
/// of the mean reward a step; the first quarter of a block, in which the last one's actions still
/// work, does not count. Where an episode terminates, rewards count as they do in the discounted
/// return of its steps in the mean: r_i by 1 − γ^i, i its place in the episode or block, from 1.
/// With turns weighted by age, w_c = f^(steps since),
///
///     D = Σ w_c d_c / Σ w_c,   σ² = Σ w_c (d_c − D)² / Σ w_c · n / (n − 1),   n = (Σ w_c)² / Σ
///     w_c²
///
/// and the adapted one is worse when D + t σ / √n < 0, t Student's quantile for n − 1 degrees of
/// freedom at which a normal one is `worse`. Neighbouring blocks share what drifts slowly, so that
/// it cancels.
class Trial {
 public:
  /// Throws Error for bad options.
  explicit Trial(const TrialOptions& options = {});

  /// Whether the adapted one is to act in the step to come.
  bool adapted() const { return begun_ && at_ != place_; }
  /// What a step has earned.
  struct Earned {
    double reward = 0.0;
    bool counts = true;       ///< false if it cannot be told whose doing it was
    bool terminated = false;  ///< whether the episode terminated with it
  };
  /// That of whoever had to act. Returns whether a block is over.
  bool add(const Earned& earned);
  /// Another episode begins; the last one did not terminate, or `add` was told so.
  void begin_episode() { end_segment(false); }
  /// The turns of the adapted one are forgotten: it is another one now.
  void restart();

  const TrialOptions& options() const { return options_; }
  Eigen::Index turns() const { return turns_; }  ///< with the adapted one, since the last restart
  double difference() const;                     ///< D; 0 before there was a turn
  /// t · (standard error); infinite of fewer turns than a scatter can be known from.
  double interval() const;
  bool worse() const { return difference() + interval() < 0.0; }

 private:
  static constexpr std::size_t kBlocks = 4;
  void end_segment(bool terminated);
  void end_block();
  void end_turn();

  TrialOptions options_;
  bool begun_ = false;     // the first turn is over
  std::size_t place_ = 0;  // of the start's block in this turn
  std::size_t at_ = 0;     // the block that is on
  Eigen::Index in_block_ = 0;
  // Of the block: steps that count, what they earned, and what they did since the episode began, as
  // it is and as it counts if that terminates.
  Eigen::Index counted_ = 0;
  double earned_ = 0.0, since_ = 0.0, since_terminated_ = 0.0, fade_ = 1.0;
  std::array<double, kBlocks> means_ = {};
  bool whole_ = true;  // enough of each block of this turn counted
  Eigen::Index turns_ = 0;
  double weight_ = 0.0, squared_weight_ = 0.0, sum_ = 0.0, squares_ = 0.0;  // Σw, Σw², Σwd, Σwd²
};

}  // namespace waggle
