#include <waggle/controller.h>
#include <waggle/fit/activation.h>
#include <waggle/q_function.h>

#include "control/piecewise_linear.h"
#include "core/check.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void QFunction::prepare_all(const Ref<const MatrixXd>& x, const Ref<const MatrixXd>& z) {
  all_x_ = x;
  all_z_ = z;
}

void QFunction::select(Index column) { prepare(all_x_.col(column), all_z_.col(column)); }

void QFunction::at_each(const MatrixXd& candidates, VectorXd& values) {
  for (Index j = 0; j < candidates.cols(); ++j) values[j] = at(candidates.col(j));
}

Maximum QFunction::along(Index /*channel*/, const VectorXd& /*channels*/, double /*lower*/,
                         double /*upper*/, double /*half_width*/) {
  throw Error("the value is not piecewise linear in the action: it cannot be maximised exactly");
}

namespace {

/// Any reservoir system: a step for each action.
class SteppedValue final : public QFunction {
 public:
  SteppedValue(const ReservoirSystem& reservoir, const InputLayout& layout)
      : reservoir_(reservoir),
        first_(layout.action_offset()),
        weights_(VectorXd::Zero(reservoir.features())),
        state_(VectorXd::Zero(reservoir.units())),
        z_(VectorXd::Zero(layout.size())),
        next_(state_),
        features_(weights_) {}

  void set_weights(const Ref<const VectorXd>& weights) override { weights_ = weights; }
  void prepare(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z) override {
    state_ = x;
    z_ = z;
  }
  void step(const Ref<const VectorXd>& channels, Ref<VectorXd> next) override {
    z_.segment(first_, channels.size()) = channels;
    reservoir_.step(state_, z_, next);
  }
  double of_state(const Ref<const VectorXd>& state) override {
    reservoir_.map_features(state, features_);
    return weights_.dot(features_);
  }
  const VectorXd& features() const override { return features_; }
  double at(const Ref<const VectorXd>& channels) override {
    step(channels, next_);
    return of_state(next_);
  }

 private:
  const ReservoirSystem& reservoir_;
  Index first_;  // channel of the action
  VectorXd weights_, state_, z_, next_, features_;
};

/// An echo state network: A x + ζ + C (r, o) is formed once, and an action then costs O(n).
class NetworkValue final : public QFunction {
 public:
  NetworkValue(const EchoStateNetwork& network, const InputLayout& layout)
      : network_(network),
        first_(layout.action_offset()),
        state_(VectorXd::Zero(network.units())),
        base_(state_),
        shifted_(state_),
        next_(state_),
        features_(state_),
        maximiser_(network.units()) {
    set_weights(state_);
  }

  void set_weights(const Ref<const VectorXd>& weights) override {
    weights_ = weights;
    scaled_weights_ = network_.leak().cwiseProduct(weights_.head(network_.nonlinear_units()));
  }
  void prepare(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z) override {
    state_ = x;
    network_.preactivation(state_, z, base_);
    remember();
  }
  Index prepared_size() const override { return base_.size(); }
  void write_prepared(Ref<VectorXd> prepared) const override { prepared = base_; }
  void prepare_from(const Ref<const VectorXd>& x, const Ref<const VectorXd>& /*z*/,
                    const Ref<const VectorXd>& prepared) override {
    state_ = x;
    base_ = prepared;
    remember();
  }
  void prepare_all(const Ref<const MatrixXd>& x, const Ref<const MatrixXd>& z) override {
    all_x_ = x;
    bases_.resize(x.rows(), x.cols());
    network_.preactivations(x, z, bases_);
  }
  void select(Index column) override {
    state_ = all_x_.col(column);
    base_ = bases_.col(column);
    remember();
  }
  void step(const Ref<const VectorXd>& channels, Ref<VectorXd> next) override {
    next = base_;
    for (Index i = 0; i < channels.size(); ++i) {
      if (channels[i] != 0.0) next += column(i) * channels[i];
    }
    network_.activate(state_, next);
  }
  double of_state(const Ref<const VectorXd>& state) override {
    features_ = state;
    return weights_.dot(state);
  }
  const VectorXd& features() const override { return features_; }
  double at(const Ref<const VectorXd>& channels) override {
    step(channels, next_);
    return weights_.dot(next_);
  }

  void at_each(const MatrixXd& candidates, VectorXd& values) override {
    if (candidates.rows() != 1 || !is_rectified(network_.activation())) {
      QFunction::at_each(candidates, values);
      return;
    }
    const Index n = network_.nonlinear_units();
    kernels::relu_candidate_values(base_.data(), column(0).data(), scaled_weights_.data(), n,
                                   candidates.data(), candidates.cols(), values.data());
    const Index linear = network_.units() - n;
    const double constant = remembered_ + weights_.tail(linear).dot(base_.tail(linear));
    const double slope = weights_.tail(linear).dot(column(0).tail(linear));
    values += slope * candidates.row(0).transpose();
    values.array() += constant;
  }

  bool is_piecewise_linear() const override {
    return waggle::is_piecewise_linear(network_.activation());
  }

  Maximum along(Index channel, const VectorXd& channels, double lower, double upper,
                double half_width) override {
    const Index n = network_.nonlinear_units();
    const Index linear = network_.units() - n;
    const bool kinked = is_rectified(network_.activation());
    shifted_ = base_;
    for (Index j = 0; j < channels.size(); ++j) {
      if (j != channel) shifted_ += column(j) * channels[j];
    }
    const auto along = column(channel);
    double constant = remembered_ + weights_.tail(linear).dot(shifted_.tail(linear));
    double slope = weights_.tail(linear).dot(along.tail(linear));
    if (!kinked) {
      constant += scaled_weights_.dot(shifted_.head(n));
      slope += scaled_weights_.dot(along.head(n));
    }
    const Index units = kinked ? n : 0;
    return maximiser_({.b = shifted_.head(units),
                       .c = along.head(units),
                       .w = scaled_weights_.head(units),
                       .constant = constant,
                       .slope = slope,
                       .lower = lower,
                       .upper = upper,
                       .half_width = half_width});
  }

 private:
  void remember() {
    const Index n = network_.nonlinear_units();
    remembered_ = (weights_.head(n) - scaled_weights_).dot(state_.head(n));
  }
  /// Of C, for a channel of the action.
  MatrixXd::ConstColXpr column(Index channel) const {
    return network_.input().col(first_ + channel);
  }

  const EchoStateNetwork& network_;
  Index first_;  // channel of the action
  VectorXd weights_;
  VectorXd scaled_weights_;  // of the nonlinear units, each times its leak
  VectorXd state_;           // x, as prepared
  VectorXd base_;            // A x + C z + ζ without the action
  MatrixXd bases_;           // the same for all that were prepared together
  double remembered_ = 0.0;  // what the leak keeps of the value of x
  VectorXd shifted_;         // base_ with all but one channel applied
  VectorXd next_;
  VectorXd features_;  // the last state asked for
  PiecewiseLinearMaximiser maximiser_;
};

}  // namespace

std::unique_ptr<QFunction> ReservoirSystem::q_function(const InputLayout& layout) const {
  return std::make_unique<SteppedValue>(*this, layout);
}

std::unique_ptr<QFunction> EchoStateNetwork::q_function(const InputLayout& layout) const {
  return std::make_unique<NetworkValue>(*this, layout);
}

}  // namespace waggle
