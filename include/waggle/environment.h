#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/random.h>
#include <waggle/base/spaces.h>

namespace waggle {

/// What an environment is, for whoever has to talk to it.
struct EnvironmentSpec {
  std::string name;
  ActionSpace actions;
  std::vector<std::string> action_names;       ///< one for each number in an action
  std::vector<std::string> choice_names;       ///< one for each choice if they have names, or empty
  std::vector<std::string> observation_names;  ///< one for each observed number; may be empty
  std::string reward_name = "reward";
  /// Whether the reward is one of the reservoir's inputs. Bee World: yes, it is all the bee sees.
  bool reward_is_input = true;

  Eigen::Index observation_size() const {
    return static_cast<Eigen::Index>(observation_names.size());
  }
};

/// What the agent sees at step k before it acts: (r_k, o_k), and whether the episode ends here.
struct Percept {
  double reward = 0.0;
  Eigen::VectorXd observation;
  bool terminated = false;  ///< the process has ended: nothing has value from here on
  bool truncated = false;   ///< only the record ends here: the value goes on
};

/// A system to be controlled. Implement three small functions:
///
///     spec()   sizes, bounds and names; constant over the object's life
///     reset()  start an episode and write the first percept (r_0, o_0)
///     step()   apply a_k and write (r_{k+1}, o_{k+1})
///
/// All randomness comes from `draws`, which the caller keys by (seed, step), so an environment
/// holds no generator of its own. `percept.observation` arrives with the size of the spec; write
/// into it. See examples/ for a complete one.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual EnvironmentSpec spec() const = 0;
  virtual void reset(Draws& draws, Percept& percept) = 0;
  virtual void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                    Percept& percept) = 0;
};

}  // namespace waggle
