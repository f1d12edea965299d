#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <waggle/base/names.h>
#include <waggle/fit/activation.h>
#include <waggle/fit/scaling.h>

namespace waggle {

class QFunction;
struct InputLayout;
struct Safetensors;

/// A reservoir system x_{k+1} = F(x_k, z_k), r_k = h(x_k) (equation reservoir_system_eqns).
///
/// Implement `step` to plug in your own F: a Controller takes any, so do fit_value, iterate_policy,
/// fit_supervised and, by LearnWith, `learn` and `learn_from_log`. The learnt part of h is linear
/// in the features φ(x), so h(x) = Wᵀφ(x). φ is the identity unless overridden.
///
/// Whoever acts on a system, saves it or shows it asks it, and never which kind it is: a new kind
/// of value is a class that overrides what it does better, and a line in the table of
/// models/kinds.cc, by which files of it are read.
class ReservoirSystem {
 public:
  virtual ~ReservoirSystem() = default;

  /// n, the size of x.
  virtual Eigen::Index units() const = 0;
  /// d, the size of z.
  virtual Eigen::Index inputs() const = 0;

  /// next = F(x, z). x and next have size n and do not overlap, z has size d.
  virtual void step(const Eigen::Ref<const Eigen::VectorXd>& x,
                    const Eigen::Ref<const Eigen::VectorXd>& z,
                    Eigen::Ref<Eigen::VectorXd> next) const = 0;

  /// The size of φ(x); n unless overridden.
  virtual Eigen::Index features() const { return units(); }
  /// out = φ(x), column by column: x is n × m, out is features() × m.
  virtual void map_features(const Eigen::Ref<const Eigen::MatrixXd>& x,
                            Eigen::Ref<Eigen::MatrixXd> out) const;

  /// The feature that is always 1, or −1 if there is none. LSTD's ridge counts almost nothing for
  /// it.
  virtual Eigen::Index constant_feature() const { return -1; }

  /// Whether its functions may be called from several threads at once. Unless overridden they are
  /// only called from the thread that asks for something.
  virtual bool is_thread_safe() const { return false; }

  /// Whether φ(x) is x itself, so that nothing need be computed for it.
  virtual bool has_own_features() const { return true; }
  /// Independent networks side by side, whose values may be fitted one by one and averaged, and the
  /// features that each has to itself; those after them belong to all.
  virtual Eigen::Index members() const { return 1; }
  virtual Eigen::Index member_units() const { return features(); }
  /// The features at the end of φ that belong to the last of several fits, and the one before them
  /// that all fits share (or −1): how sure a value is, and what is novel, is known of these.
  virtual Eigen::Index last_fit() const { return features(); }
  virtual Eigen::Index shared_feature() const { return -1; }
  /// What is expected to be seen next by a state after an action, in the units of the inputs; empty
  /// if the system does not say.
  virtual Eigen::VectorXd forecast(const Eigen::Ref<const Eigen::VectorXd>& /*state*/) const {
    return {};
  }

  /// Q(history, ·) = Wᵀφ(F(x, z(·))) for inputs in this layout (q_function.h): a whole step for
  /// each action unless overridden.
  virtual std::unique_ptr<QFunction> q_function(const InputLayout& layout) const;
  /// How the best action is looked for, unless a controller's options say so: random actions tried,
  /// and the share of the bounds over which a value that jumps is averaged.
  virtual Eigen::Index candidates() const { return 100; }
  virtual double smoothing() const { return 0.3; }
  /// Throws Error unless it can be used with inputs in this layout.
  virtual void require_layout(const InputLayout& layout) const;

  /// Its name in the table of kinds; empty if there are no files of it.
  virtual std::string_view kind() const { return {}; }
  /// Adds all of it to a file. Throws Error if there are none of its kind.
  virtual void save(Safetensors& file) const;

  /// Steps through the columns of z (d × m). The first column of states (n × (m+1)) is the state
  /// to start from; column k+1 becomes F(column k, z_k). Throws Error if the sizes do not fit.
  void drive(const Eigen::Ref<const Eigen::MatrixXd>& z, Eigen::Ref<Eigen::MatrixXd> states) const;
};

/// The system as one of a kind, or null if it is of another: for what only that kind has to show.
template <typename Kind>
const Kind* as(const ReservoirSystem& system) {
  return system.kind() == Kind::kKind ? static_cast<const Kind*>(&system) : nullptr;
}

/// The weights of Definition proc:procedure (Gonon, Grigoryeva and Ortega), with which Theorems 1
/// and 2 hold. The state carries the last inputs exactly, s_k = (z_{k−1}, …, z_{k−1−T₀}) of size
/// m = d(T₀+1), and N random features of them, each with its mirror image:
///
///     x_k = (s_k, A s_k + ζ, −s_k, −A s_k − ζ)₊,     n = 2(m + N)
///
/// The rows of A are uniform on the ball of radius R in R^m, ζ on ±max(MR, 1). The network's
/// recurrent matrix is nilpotent, so the echo state property holds whatever the input is.
struct ProcedureOne {
  Eigen::Index features = 100;  ///< N ≥ 1
  Eigen::Index delay = 10;      ///< T₀ ≥ 0: the memory is T₀+1 inputs
  double radius = 1.0;          ///< R > 0
  /// M: a bound on ‖(z_{k−T₀}, …, z_k)‖, in the units in which the inputs enter. If not given,
  /// learners take it from their data; a network drawn by itself needs it.
  std::optional<double> input_bound = std::nullopt;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ProcedureOne& o) {
  v("features", o.features, "random features of the last inputs");
  v("delay", o.delay, "how many steps back the oldest input lies that is remembered");
  v("radius", o.radius, "of the ball the features' weights are drawn from");
  v("input_bound", o.input_bound, "on the norm of the last inputs; none: taken from the data");
}

/// The largest ‖(z_{k−T₀}, …, z_k)‖ along the columns of z, for ProcedureOne::input_bound. Columns
/// before the first count as 0.
double input_bound(const Eigen::Ref<const Eigen::MatrixXd>& z, Eigen::Index delay);

/// How the weights of an echo state network are drawn. The defaults suit inputs of unit spread and
/// a controller that has to remember at many time scales; presets::paper() has the paper's.
struct ReservoirOptions {
  Eigen::Index units = 300;                  ///< n ≥ 1
  Activation activation = Activation::relu;  ///< σ
  double leak = 1.0;                         ///< in (0, 1]; 1 is no leak
  /// If given, the units' leaks are spread evenly in logarithm from this to `leak`: some units
  /// follow the input, others remember for longer.
  std::optional<double> slowest_leak = 0.3;
  double recurrent_scaling = 1.0;  ///< A before it is rescaled is U(−s, s) of this s, …
  double input_scaling = 1.0;      ///< … C of this one …
  double bias_scaling = 0.3;       ///< … and ζ of this
  bool orthogonal = true;          ///< A is a random rotation, before rescaling
  double density = 1.0;            ///< share of non-zero entries of A, in (0, 1]
  std::optional<double> operator_norm = 0.9;             ///< rescale A to this ‖A‖₂
  std::optional<double> spectral_radius = std::nullopt;  ///< or to this max |eigenvalue|
  /// Draw the weights by Procedure 1 instead: ReLU units without a leak, its own sizes and scales.
  /// None of the options above is then used.
  std::optional<ProcedureOne> procedure_one = std::nullopt;
  /// Let the readout see the input too: append z_k (as scaled) and a constant 1 to the state.
  bool direct_inputs = true;
  std::uint64_t seed = 0;

  /// Throws Error where a field is out of its range, or options are given that exclude each other.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ReservoirOptions& o) {
  v("units", o.units, "units in a network; memory grows with their square, time faster");
  v("activation", o.activation, "how a unit responds");
  v("leak", o.leak, "how fast units follow their input, in (0, 1]; 1 is at once");
  v("slowest_leak", o.slowest_leak,
    "spread the leaks of units from this to `leak`; none: all alike");
  v("recurrent_scaling", o.recurrent_scaling, "of the weights between units, before rescaling");
  v("input_scaling", o.input_scaling, "of the weights from inputs to units");
  v("bias_scaling", o.bias_scaling, "of the constants added to units");
  v("orthogonal", o.orthogonal, "make the weights between units a random rotation");
  v("density", o.density, "share of units that are connected, in (0, 1]");
  v("operator_norm", o.operator_norm,
    "rescale the weights between units to this norm; below 1 they forget for sure");
  v("spectral_radius", o.spectral_radius, "rescale them to this largest eigenvalue instead");
  v("procedure_one", o.procedure_one, "draw the weights by Procedure 1 instead");
  v("direct_inputs", o.direct_inputs, "let the readout see the inputs and a constant too");
  v("seed", o.seed, "draws the weights");
}

/// The weights of an echo state network as plain data, to be saved and restored: from the same
/// weights, the same bits.
struct NetworkWeights {
  /// One member's A, n × n: dense, or sparse by columns, or that of Procedure 1; none if it is 0.
  struct Block {
    Eigen::MatrixXd dense;
    Eigen::SparseMatrix<double> sparse;
    /// N × dT₀: what Procedure 1's A does to all but the newest input.
    std::optional<Eigen::MatrixXd> delayed;
  };

  Eigen::Index member_units = 0;  ///< n of one member
  std::vector<Block> recurrent;   ///< one for each member
  Eigen::MatrixXd input;          ///< C: all members, then the linear units
  Eigen::VectorXd bias;           ///< ζ, as C
  Activation activation = Activation::relu;
  Eigen::VectorXd leak;       ///< one for each unit of the members
  bool has_constant = false;  ///< the last linear unit is the constant 1
};

/// The echo state network
///
///     x_{k+1} = (1 − leak) x_k + leak σ(A x_k + C z_k + ζ)
///
/// with A n × n, C n × d, ζ of size n. Immutable, so one network may serve many threads.
///
/// The state may hold several such networks side by side (A is then block diagonal), followed by
/// linear units that just pass on their own C z_k + ζ: the direct inputs and the constant.
class EchoStateNetwork final : public ReservoirSystem {
 public:
  /// Draws A, C and ζ. Rescaling A is exact to rounding: ‖A‖₂ is its largest singular value, the
  /// spectral radius its largest |eigenvalue|, each from a dense O(n³) decomposition. By Procedure
  /// 1 A is never formed: a step costs O(N m) instead of O((N + m)²). Throws Error for invalid
  /// options, inputs < 1, members < 1, a rescaling of an A that is zero, or more units than
  /// memory is for.
  ///
  /// With several members, as many independent networks stand side by side in one state: an
  /// ensemble.
  EchoStateNetwork(const ReservoirOptions& options, Eigen::Index inputs, Eigen::Index members = 1);

  /// From given weights. Throws Error if the sizes differ or an entry is not finite.
  EchoStateNetwork(Eigen::MatrixXd recurrent, Eigen::MatrixXd input, Eigen::VectorXd bias,
                   Activation activation = Activation::relu, double leak = 1.0);

  /// As saved. Throws Error if the sizes differ, an entry is not finite or a leak not in (0, 1].
  explicit EchoStateNetwork(NetworkWeights weights);
  /// All of it, to be saved.
  NetworkWeights weights() const;

  /// The network that reads (z − mean) / spread instead of z. The scaling is folded into C and ζ,
  /// so it costs nothing at run time.
  EchoStateNetwork with_input_scaling(const InputScaling& scaling) const;

  Eigen::Index units() const override { return bias_.size(); }
  Eigen::Index inputs() const override { return input_.cols(); }
  void step(const Eigen::Ref<const Eigen::VectorXd>& x, const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override;

  Eigen::Index constant_feature() const override { return has_constant_ ? units() - 1 : -1; }
  bool is_thread_safe() const override { return true; }
  bool has_own_features() const override { return false; }
  std::unique_ptr<QFunction> q_function(const InputLayout& layout) const override;
  static constexpr std::string_view kKind = "network";
  std::string_view kind() const override { return kKind; }
  void save(Safetensors& file) const override;

  /// out = A x + C z + ζ.
  void preactivation(const Eigen::Ref<const Eigen::VectorXd>& x,
                     const Eigen::Ref<const Eigen::VectorXd>& z,
                     Eigen::Ref<Eigen::VectorXd> out) const;
  /// The same for every column of x (n × B) and z (d × B), by one matrix product. Sums are taken in
  /// another order, so that it differs from the above in the last digits.
  void preactivations(const Eigen::Ref<const Eigen::MatrixXd>& x,
                      const Eigen::Ref<const Eigen::MatrixXd>& z,
                      Eigen::Ref<Eigen::MatrixXd> out) const;
  /// values turns from A x + C z + ζ into the next state, in place.
  void activate(const Eigen::Ref<const Eigen::VectorXd>& x,
                Eigen::Ref<Eigen::VectorXd> values) const;

  Eigen::MatrixXd recurrent() const;                       ///< A, a dense copy
  const Eigen::MatrixXd& input() const { return input_; }  ///< C
  const Eigen::VectorXd& bias() const { return bias_; }    ///< ζ
  Activation activation() const { return activation_; }
  const Eigen::VectorXd& leak() const { return leak_; }  ///< of each nonlinear unit
  /// Units with an activation; those after them are linear and unleaked.
  Eigen::Index nonlinear_units() const { return members() * member_units_; }
  Eigen::Index members() const override { return static_cast<Eigen::Index>(blocks_.size()); }
  /// n of one member.
  Eigen::Index member_units() const override { return member_units_; }
  /// Whether it was drawn by Procedure 1.
  bool is_delay_line() const { return blocks_.front().delayed.has_value(); }

 private:
  using Block = NetworkWeights::Block;
  void draw(const ReservoirOptions& options, Eigen::Index member);
  void draw_procedure_one(const ReservoirOptions& options, Eigen::Index member);
  void require_delay_line(const Eigen::MatrixXd& features, Eigen::Index member) const;
  void prepare();

  Eigen::Index member_units_ = 0;
  bool has_constant_ = false;
  std::vector<Block> blocks_;
  Eigen::MatrixXd input_;
  Eigen::VectorXd bias_;
  Activation activation_ = Activation::relu;
  Eigen::VectorXd leak_;

  // What follows from the weights.
  bool leaky_ = false;  // some leak is below 1
  /// Sparse blocks again, where the activation leaves no columns to be passed over.
  std::vector<Eigen::SparseMatrix<double, Eigen::RowMajor>> by_rows_;
};

}  // namespace waggle
