#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/guard.h>
#include <waggle/model.h>

namespace waggle {

enum class Precision { float32, float64 };
template <>
struct Names<Precision> {
  static constexpr NameTable<Precision, 2> all{
      {{"float", Precision::float32}, {"double", Precision::float64}}};
};

struct ExportOptions {
  /// What every name begins with: a letter, then letters, digits and underscores, at most 40.
  std::string name = "controller";
  Precision precision = Precision::float64;
  std::uint64_t seed = 0;  ///< of the random candidates, where the search needs them
  /// Whether the C holds what it reads, knows what is new and falls back, as GuardedPolicy.
  bool guarded = false;
  /// How, if so. It always holds; errors are not watched.
  GuardOptions guard = {};
  Fallback fallback = Fallback::none;  ///< of a guard

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ExportOptions& o) {
  v("name", o.name, "what every name begins with");
  v("precision", o.precision, "of the numbers");
  v("seed", o.seed, "of random candidates, where the search needs them");
  v("guarded", o.guarded, "hold what is read within what was learnt from, and know what is new");
  v("guard", o.guard, "how, if so");
  v("fallback", o.fallback, "what acts where novelty is above its limit");
}

/// A controller in C99, without dependencies but math.h, without allocation and without writable
/// data of its own.
struct ExportedC {
  std::string name;                ///< NAME, which every name in it begins with
  std::string header;              ///< NAME.h
  std::string source;              ///< NAME.c, which includes it
  Eigen::Index flash_bytes = 0;    ///< of constants; code comes on top
  Eigen::Index ram_bytes = 0;      ///< of one NAME_state
  Eigen::Index multiply_adds = 0;  ///< at most, in a step
};

/// Writes the model's greedy policy as C: the code in src/export/runtime, which is the same for
/// every controller, behind tables of the model's numbers.
///
///     void NAME_reset(NAME_state *state);                     begin an episode
///     int NAME_step(NAME_state *state, reward, observation, action);
///                                                             see (r_k, o_k), write a_k
///     int NAME_applied(NAME_state *state, action);            what a_k was, if not as written
///     NAME_real NAME_value(const NAME_state *state);          Wᵀφ(x_{k+1}) of that action
///
/// It makes the library's decisions, by the same maximiser, with ties decided the same way; in
/// double precision it differs by the rounding of sums in another order. Random candidates, where
/// the search needs some, are those of Random(seed).at(Purpose::policy, steps since the reset). A
/// discrete action is the index of its choice.
///
/// Where the library throws, 0 is returned in place of 1: by a step with an input that
/// GreedyPolicy::act would refuse, which is not taken and writes the last action again; by one
/// whose state overflows, which is forgotten; and by NAME_applied, told what GreedyPolicy::applied
/// would refuse, or a second time.
///
/// If guarded it does what a GuardedPolicy with that fallback does, and there is more to call:
///
///     void NAME_begin_episode(NAME_state *state);             as NAME_reset, but counts go on
///     int NAME_held(const NAME_state *state);                 an input was not read as it came
///     NAME_real NAME_novelty(const NAME_state *state);        if the model has a baseline
///     int NAME_fell_back(const NAME_state *state);            if there is a fallback
///
/// Counts are in the state, and stop at 2³² − 1 instead of starting again. A decision that
/// overflows is left to the fallback.
///
/// The controller's reservoir is an EchoStateNetwork or a PredictiveNetwork.
///
/// Throws Error for a model or options that are not valid, for a fallback that the model cannot
/// have, for any other reservoir, for more than 8192 units, and for weights beyond the range of
/// float, if that is the precision.
ExportedC export_c(const Model& model, const ExportOptions& options = {});

/// Writes PATH.h and PATH.c, each whole or not at all; an extension .h or .c of the path is left
/// out. Every name begins with the path's last part instead of options.name, with what C does not
/// allow in a name replaced by underscores. Throws as export_c, and std::runtime_error if a file
/// cannot be written.
ExportedC export_c(const std::filesystem::path& path, const Model& model, ExportOptions options);

}  // namespace waggle
