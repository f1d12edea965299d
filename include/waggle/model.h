#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include <waggle/environment.h>
#include <waggle/learner.h>
#include <waggle/policy.h>
#include <waggle/reservoir.h>
#include <waggle/value.h>

namespace waggle {

/// Where a model comes from.
struct Provenance {
  std::vector<std::string> sources;  ///< the logs it was learnt from, or the environment
  std::string created;               ///< when, as the caller writes it (ISO 8601)
  std::string waggle_version;        ///< filled in by make_model, as are the next two
  Eigen::Index rows = 0;             ///< learnt from
  Eigen::Index episodes = 0;
};

/// How policy iteration went, in the last round if there were several.
struct Improvement {
  Eigen::Index sweeps = 0;  ///< made; 0: the value is that of the policy that made the data
  PolicyIterationEnd end = PolicyIterationEnd::stopped;  ///< if there were sweeps
};

/// Where a policy starts from.
enum class Start {
  fresh,           ///< an episode's beginning
  training_ended,  ///< the state after the last row learnt from
};

/// A learnt controller by itself: everything it needs to act, and to say what it is. A file of it
/// holds the same bits, so that a model acts as it did before it was saved.
struct Model {
  EnvironmentSpec environment;                      ///< what it controls
  ActionSpace actions;                              ///< as searched: bounded where it has to be
  LearnOptions options;                             ///< how it was made, and how it searches
  std::shared_ptr<const EchoStateNetwork> network;  ///< with the input scaling folded in
  std::optional<InputScaling> scaling;  ///< that scaling, for the record, if there was one
  ValueFit value;  ///< W, how well determined it is, and the state where training ended
  /// Lower triangular L, features × features, with LLᵀ = Cov(W); empty if not known.
  Eigen::MatrixXd deviation_factor;
  std::optional<Improvement> improvement;  ///< not known of files that do not say so
  ChannelRanges ranges;
  double divergence_limit = 0.0;  ///< as Learnt::divergence_limit
  std::vector<std::string> warnings;
  Provenance provenance;

  /// What of (r, a, o) the network reads.
  InputLayout layout() const { return InputLayout::of(environment); }
  /// The policy. It shares the network; the model need not outlive it.
  GreedyPolicy policy(Start start = Start::fresh, const Exploration& exploration = {}) const;

  bool has_confidence() const { return deviation_factor.size() > 0; }
  /// The standard error ‖Lᵀφ(x)‖ of the value Wᵀφ(x): how little the experience says about x. It
  /// covers the noise in the fit, not what the features cannot express. Throws Error if the size
  /// differs or has_confidence() is false. O(n²), no allocation.
  double standard_error(const Eigen::Ref<const Eigen::VectorXd>& state) const;

  /// Throws Error, naming the part, where sizes do not fit each other or a number is not finite.
  void validate() const;
};

struct ModelOptions {
  /// Find out how sure the value is: one more pass through the experience and n² numbers more.
  bool confidence = true;
};

/// The model of what was learnt about an environment. Throws Error if the result is not usable or
/// the environment is another.
Model make_model(const Learnt& learnt, const EnvironmentSpec& environment,
                 const Provenance& provenance = {}, const ModelOptions& options = {});
/// The same for what was learnt from a stream, which confidence reads once more.
Model make_model(const Learnt& learnt, const EnvironmentSpec& environment,
                 TrajectorySource& experience, const Provenance& provenance = {},
                 const ModelOptions& options = {});

/// The version of the file format that is written, and the newest that is read.
inline constexpr int kModelFormatVersion = 1;

/// Writes the model as a safetensors file, whole or not at all. Throws Error if it is not valid,
/// std::runtime_error if it cannot be written.
void save_model(const std::filesystem::path& path, const Model& model);
/// Reads one. Nothing in the file is trusted: throws Error, naming the file and the part, if it is
/// no model, damaged, inconsistent, or of a newer format.
Model load_model(const std::filesystem::path& path);

/// The same from and to bytes; `name` is for messages.
std::string serialise(const Model& model);
Model parse_model(std::string_view bytes, const std::string& name);

}  // namespace waggle
