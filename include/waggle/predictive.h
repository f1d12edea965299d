#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/fit/history.h>
#include <waggle/reservoir.h>

/// Predictive states: what of a memory is worth keeping is what predicts the future.
///
///     memory        m_k                          a fixed network and delay lines (history.h)
///
///     prediction    s_k = P m_k                  ridge regression of the future on it: a filter
///
///     after-state   u(h, a) ≈ s_{k+1}            ridge regression, affine in the action
///
///     value         Q(h, a) = r̂(h, a) + Wᵀφ(u)   fitted iteration on random features of u
///
/// Three linear solves; docs/research/predictive.md explains them.
namespace waggle {

/// Searches for the best action in a fit of the value, at most: few fits need more.
inline constexpr int kValueSweeps = 8;

/// How predictive states and the value on them are fitted. The network of the memory is drawn by
/// FitOptions::reservoir.
struct PredictiveOptions {
  Eigen::Index frames = 3;  ///< inputs before the last that are remembered exactly
  /// And what was seen that many steps further back. Not given: none, or 48 where choices are
  /// rewarded for what only these tell.
  std::optional<Eigen::Index> seen = std::nullopt;
  /// Units of the network beside those of FitOptions::reservoir. Not given: none, or as many again
  /// where what is seen is noisy and more of the future is foreseen with them.
  std::optional<Eigen::Index> extra_units = std::nullopt;
  Eigen::Index dimensions = 8;  ///< of the predictions, kept at most
  Eigen::Index layer = 200;     ///< random features the second layer has; 0: there is none
  Eigen::Index dynamics = 200;  ///< random features the after-state has
  Eigen::Index features = 600;  ///< random features the value has
  int averaged = 4;             ///< last fits whose values are averaged

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, PredictiveOptions& o) {
  v("frames", o.frames, "inputs before the last that are remembered exactly");
  v("seen", o.seen, "what was seen that many steps further back, too");
  v("extra_units", o.extra_units, "beside those of the network; none: chosen from the data");
  v("dimensions", o.dimensions, "of the predictions, kept at most");
  v("layer", o.layer, "random features of the second layer; 0: there is none");
  v("dynamics", o.dynamics, "random features of the after-state");
  v("features", o.features, "random features of the value");
  v("averaged", o.averaged, "last fits whose values are averaged");
}

/// What was predicted, and how well: R² of rows not fitted to.
struct PredictionQuality {
  std::vector<Eigen::Index> horizons;
  std::vector<std::string> names;  ///< of what is predicted
  Eigen::MatrixXd explained;       ///< horizons × names; NaN where nothing varies
  double reward_model = 0.0;       ///< share of the reward's variance that only r̂ explains

  /// Whether anything is predicted better than by its mean, or by chance.
  bool any() const;
};

/// max(V s + b, 0): random directions and where they bend.
struct RectifiedFeatures {
  Eigen::MatrixXd directions;  ///< V
  Eigen::VectorXd offsets;     ///< b

  Eigen::Index size() const { return offsets.size(); }
  /// out = the features of every column of s.
  void write(const Eigen::Ref<const Eigen::MatrixXd>& s, Eigen::Ref<Eigen::MatrixXd> out) const;
};

/// What one fit has found out, for a memory of size n and actions of c channels v (the numbers of
/// an action, or the one-hot code of a choice):
///
///     s¹ = first · m
///     s  = second · (m, layer(s¹)),  q numbers        (or s¹ where there is no second layer)
///     u  = base · dynamics(s) + Σ_{i=0…c} v_i A_i (1, s),   v_0 = 1: the next s, the reward where
///                                                           that is not among what is seen, and v
///                                                           itself where the actuator has limits
///     r̂  = vᵀ reward m + Σ_ij bends_ij max(v_i − knots_ij, 0)
struct PredictiveHead {
  Eigen::MatrixXd first;       ///< q₁ × n
  RectifiedFeatures layer;     ///< of s¹
  Eigen::MatrixXd second;      ///< q × (n + layer), or empty
  RectifiedFeatures dynamics;  ///< of s
  Eigen::MatrixXd base;        ///< (q or q + 1, and c more where u holds v) × dynamics
  Eigen::MatrixXd drift;       ///< as many × (1 + c)(1 + q): A_0, A_1, …, A_c
  Eigen::MatrixXd reward;      ///< c × n, or empty
  Eigen::MatrixXd knots;       ///< c × any number, or empty
  Eigen::MatrixXd bends;       ///< as knots
  RectifiedFeatures value;     ///< of u
  Eigen::Index squared = 0;    ///< numbers of u, its first, whose products are features, too

  Eigen::Index size() const { return dynamics.directions.cols(); }  ///< q
  Eigen::Index after() const { return base.rows(); }                ///< numbers of u
  Eigen::Index products() const { return squared * (squared + 1) / 2; }
  bool has_reward() const { return reward.size() > 0 || knots.size() > 0; }
  /// The features of u that the value is linear in: 1, u, `value`, u_i u_j for i ≤ j < squared.
  Eigen::Index features() const { return 1 + after() + value.size() + products(); }
  /// out = these, of every column of u.
  void write_features(const Eigen::Ref<const Eigen::MatrixXd>& u,
                      Eigen::Ref<Eigen::MatrixXd> out) const;
  /// S with Σ w_ij u_i u_j = uᵀ S u, from the weights w of the products.
  Eigen::MatrixXd form(const Eigen::Ref<const Eigen::VectorXd>& weights) const;
};

/// A memory and what one or several fits have made of it, as a reservoir system. Its state is
///
///     (m_k, the channels of a_k, u of every head, r̂)
///
/// and its features are r̂ and, for every head, (1, u, max(Vu + b, 0), products); so the value is
/// linear in them, the weight of r̂ is 1, and averaging the values of several fits is one weight
/// vector. Immutable.
class PredictiveNetwork final : public ReservoirSystem {
 public:
  /// Throws Error, naming the part, if there is no head, sizes differ or a number is not finite.
  PredictiveNetwork(HistoryMemory memory, std::vector<PredictiveHead> heads);

  Eigen::Index units() const override { return units_; }
  Eigen::Index inputs() const override { return memory_.layout().size(); }
  void step(const Eigen::Ref<const Eigen::VectorXd>& x, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override;
  Eigen::Index features() const override { return features_; }
  void map_features(const Eigen::Ref<const Eigen::MatrixXd>& x,
                    Eigen::Ref<Eigen::MatrixXd> out) const override;
  Eigen::Index constant_feature() const override { return 1; }
  bool is_thread_safe() const override { return true; }
  Eigen::Index last_fit() const override { return heads_.back().features(); }
  Eigen::Index shared_feature() const override { return 0; }
  /// What is seen (HistoryMemory::seen_channel): the mean of the heads' u, where it comes last.
  Eigen::VectorXd forecast(const Eigen::Ref<const Eigen::VectorXd>& state) const override;
  std::unique_ptr<QFunction> q_function(const InputLayout& layout) const override;
  Eigen::Index candidates() const override { return 8; }  // then along each number of the action
  double smoothing() const override { return 0.0; }       // its values do not jump
  void require_layout(const InputLayout& layout) const override;
  static constexpr std::string_view kKind = "predictive";
  std::string_view kind() const override { return kKind; }
  void save(Safetensors& file) const override;

  const HistoryMemory& memory() const { return memory_; }
  const std::vector<PredictiveHead>& heads() const { return heads_; }
  /// c, the channels of an action.
  Eigen::Index channels() const { return memory_.layout().action_channels(); }

 private:
  HistoryMemory memory_;
  std::vector<PredictiveHead> heads_;
  Eigen::Index units_ = 0;
  Eigen::Index features_ = 0;
};

}  // namespace waggle
