#pragma once

#include <memory>
#include <string_view>

#include <Eigen/Core>

#include <waggle/controller.h>
#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {

class Tensors;

/// A value that is looked up instead of fitted, as a baseline for those that are:
///
///     Q(h, a) = the mean return after those k rows of the log whose states were nearest to
///               x = F(h, z(a))
///
/// φ(x) has a number for each row that is remembered, 1/k for the k nearest and 0 for the others,
/// and W has their returns, so that this value is linear in its features like any other.
class NeighbourSystem final : public ReservoirSystem {
 public:
  static constexpr std::string_view kKind = "neighbours";

  /// `points` has a state of the network in each column; distances are measured in these units of
  /// each number. Throws Error if sizes differ, a number is not finite, a unit not positive, or
  /// `nearest` not in [1, points].
  NeighbourSystem(EchoStateNetwork network, Eigen::MatrixXd points, Eigen::VectorXd units,
                  Eigen::Index nearest);

  Eigen::Index units() const override { return network_.units(); }
  Eigen::Index inputs() const override { return network_.inputs(); }
  void step(const Eigen::Ref<const Eigen::VectorXd>& x, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    network_.step(x, z, next);
  }
  Eigen::Index features() const override { return points_.cols(); }
  void map_features(const Eigen::Ref<const Eigen::MatrixXd>& x,
                    Eigen::Ref<Eigen::MatrixXd> out) const override;
  bool is_thread_safe() const override { return true; }
  Eigen::Index candidates() const override { return 16; }
  std::string_view kind() const override { return kKind; }
  void save(Safetensors& file) const override;
  static std::shared_ptr<const ReservoirSystem> read(const Safetensors& file,
                                                     const InputLayout& layout, Tensors& tensors);

  Eigen::Index nearest() const { return nearest_; }

 private:
  EchoStateNetwork network_;
  Eigen::MatrixXd points_;  // in their units
  Eigen::VectorXd units_;
  Eigen::Index nearest_;
};

struct NeighbourOptions {
  double discount = 0.98;     ///< γ in [0, 1)
  Eigen::Index nearest = 10;  ///< k ≥ 1
  Eigen::Index most = 2'000;  ///< rows that are remembered, evenly spread
};

/// The controller that does what paid best in the log where it looked alike. The actions must be
/// bounded or discrete. Throws Error for bad options, and if fewer than k rows have a return that
/// is known to within a twentieth.
Controller learn_from_neighbours(const EchoStateNetwork& network, const InputLayout& layout,
                                 const ActionSpace& actions, const Trajectory& log,
                                 const NeighbourOptions& options = {});

}  // namespace waggle
