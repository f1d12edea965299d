#pragma once

#include <Eigen/Core>

#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

/// What is remembered of a history by a memory that nothing was learnt for.
namespace waggle {

/// A memory of (r_k, a_{k−1}, o_k), everything known before a_k is chosen. Its state m_k holds, one
/// after the other,
///
///     the units of an echo state network, the scaled input ẑ_k itself and a constant 1
///     `frames` more inputs ẑ_{k−1}, ẑ_{k−2}, …, exactly
///     `seen` more of what was seen (reward, if it is an input, and observation), further back
///     still the episode's first ẑ, of what was seen its age, which rises from 0 towards 1 over
///     some 64 steps
///
/// Nonlinear units remember what matters at many time scales, the linear part what has to be
/// recalled exactly. A new episode starts from m = 0. Immutable.
class HistoryMemory {
 public:
  /// The share of what is missing to 1 that the age rises by in a step.
  static constexpr double kAging = 1.0 / 64.0;

  /// The network reads inputs in this layout and must have direct inputs with a constant. Throws
  /// Error unless it does, or if a length is negative.
  HistoryMemory(EchoStateNetwork network, const InputLayout& layout, Eigen::Index frames,
                Eigen::Index seen);

  /// n, the size of m.
  Eigen::Index size() const { return age_ + 1; }
  /// The same for a network of so many units, the direct ones included.
  static Eigen::Index size_with(Eigen::Index units, const InputLayout& layout, Eigen::Index frames,
                                Eigen::Index seen) {
    return units + frames * layout.size() + (seen + 1) * seen_size(layout) + 1;
  }
  /// next = m_k from m_{k−1} and z = (r_k, a_{k−1}, o_k). The two do not overlap.
  void step(const Eigen::Ref<const Eigen::VectorXd>& m, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const;

  const EchoStateNetwork& network() const { return network_; }
  const InputLayout& layout() const { return layout_; }
  Eigen::Index frames() const { return frames_; }
  Eigen::Index seen() const { return seen_; }

  // Where things are in m.
  Eigen::Index input_offset() const { return network_.nonlinear_units(); }  ///< ẑ_k
  Eigen::Index constant() const { return network_.units() - 1; }
  Eigen::Index frames_offset() const { return network_.units(); }
  Eigen::Index seen_offset() const { return seen_offset_; }
  Eigen::Index first_offset() const { return first_offset_; }
  Eigen::Index age_offset() const { return age_; }
  /// Numbers seen at a step: the reward, if it is an input, and the observation.
  Eigen::Index seen_size() const { return seen_size(layout_); }
  /// Where the i-th of them is in z.
  Eigen::Index seen_channel(Eigen::Index i) const {
    if (layout_.reward && i == 0) return 0;
    return layout_.action_offset() + layout_.action_channels() + i - (layout_.reward ? 1 : 0);
  }

 private:
  static Eigen::Index seen_size(const InputLayout& layout) {
    return (layout.reward ? 1 : 0) + layout.observation_size;
  }

  EchoStateNetwork network_;
  InputLayout layout_;
  Eigen::Index frames_;
  Eigen::Index seen_;
  Eigen::Index seen_offset_;
  Eigen::Index first_offset_;
  Eigen::Index age_;
};

}  // namespace waggle
