#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/require.h>
#include <waggle/detail/text.h>
#include <waggle/guard.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/rollout.h>

#include "commands.h"
#include "environments.h"
#include "option_flags.h"
#include "progress.h"
#include "repeat_command.h"
#include "usage.h"

namespace waggle::app {

using Eigen::Index;

namespace {

constexpr Index kChunk = 16;  // rows between two looks at whether to end

/// Policies that are no model files.
const std::set<std::string> kNamedPolicies = {"initial", "optimal", "reference"};

struct SimulateCommand {
  ConfigFile config;
  OptionFlags flags;
  std::string environment;
  Index steps = 2000;
  std::optional<Index> episode_steps;
  std::uint64_t seed = 0;
  std::string policy = "initial";
  bool learn = false;
  std::optional<double> gamma;
  std::filesystem::path out;

  void run();
  toml::table environment_options(Exploration& exploration, ActuatorLimits& limits,
                                  AdaptationOptions& learning);
};

/// A model file, or nearly the name of a policy.
Model load_policy(const std::string& name) {
  try {
    return load_model(name);
  } catch (const Error& error) {
    throw Error(error.what() + meant_name(name, {kNamedPolicies.begin(), kNamedPolicies.end()}));
  }
}

/// The policy of a model file, exploring as asked for.
std::unique_ptr<Policy> learnt_policy(const Model& model, const BuiltIn& built_in,
                                      const Exploration& exploration) {
  require_controls(model, built_in);
  exploration.validate(model.controller.actions);
  return std::make_unique<GreedyPolicy>(model.policy(Start::fresh, exploration));
}

/// The same as waggle act --learn would run it.
std::unique_ptr<GuardedPolicy> learning_policy(const Model& model, const BuiltIn& built_in,
                                               const AdaptationOptions& options) {
  require_controls(model, built_in);
  return std::make_unique<GuardedPolicy>(model, GuardOptions{}, Start::fresh, nullptr, options);
}

/// What became of it.
std::string learning_text(const GuardedPolicy* learner) {
  if (learner == nullptr) return "";
  const Adaptation& learning = *learner->adaptation();
  return fmt::format(
      "learnt at work from {} steps, {} left out; back to the start: {}; earned {:+.4g} a step "
      "beside it, ± {:.2g}\n",
      learning.updates(), learning.pauses(), learning.went_back(), learning.trial().difference(),
      learning.trial().interval());
}

/// The command that learns from such a log, for a controller of this environment.
std::string learn_hint(const std::filesystem::path& log, const std::string& environment,
                       const EnvironmentSpec& spec, double discount, const ActuatorLimits& limits) {
  std::string text = fmt::format("waggle learn {} --reward {} --action {}",
                                 shell_word(log.string()), shell_word(spec.reward_name),
                                 shell_word(fmt::format("{}", fmt::join(spec.action_names, ","))));
  if (spec.actions.is_discrete()) {
    text += " --choices " + shell_word(fmt::format("{}", fmt::join(choice_words(spec), ",")));
  } else if (spec.actions.is_bounded()) {
    std::vector<double> bounds;
    for (Index i = 0; i < spec.actions.size(); ++i) {
      bounds.insert(bounds.end(), {spec.actions.lower[i], spec.actions.upper[i]});
    }
    text += fmt::format(" --action-bounds={}", fmt::join(bounds, ","));
  }
  if (!spec.reward_is_input) text += " --no-reward-input";
  if (!limits.max_change.empty()) {
    text += fmt::format(" --max-change {}", fmt::join(limits.max_change, ","));
  }
  if (limits.hold > 1) text += fmt::format(" --hold {}", limits.hold);
  return text + fmt::format(" --gamma {} -o {}.safetensors", discount, environment);
}

/// Takes a table out of what was given.
toml::table taken(toml::table& given, const char* name) {
  toml::table inner;
  if (const toml::node* node = given.get(name)) {
    require(node->is_table(), "{} = {}: must be a table", name, TomlSource::shown(*node));
    inner = *node->as_table();
    given.erase(name);
  }
  return inner;
}

/// What was given for the environment, for the exploration of a learnt policy and for the actuator.
/// A name that both the environment and the command know is the environment's.
toml::table SimulateCommand::environment_options(Exploration& exploration, ActuatorLimits& limits,
                                                 AdaptationOptions& learning) {
  toml::table given = merge(config.apply(), flags);
  read_options(taken(given, "limits"), limits);
  const toml::table learn_options = taken(given, "learning");
  read_options(learn_options, learning);
  require(learn || learn_options.empty(), "how to learn is for --learn");
  require(!learn || !kNamedPolicies.contains(policy), "--learn: name a model with --policy");
  toml::table explore = taken(given, "exploration");
  if (episode_steps && has_option(environment, "episode_steps")) {
    given.insert_or_assign("episode_steps", *episode_steps);
    episode_steps.reset();
  }
  require(episode_steps.value_or(0) >= 0, "--episode-steps {}: must not be negative",
          episode_steps.value_or(0));
  read_options(explore, exploration);
  require(explore.empty() || !learn, "--learn explores by itself: see --learn-noise");
  require(explore.empty() || !kNamedPolicies.contains(policy),
          "exploration is for a learnt policy: name a model with --policy");
  return given;
}

void SimulateCommand::run() {
  Exploration exploration;
  ActuatorLimits limits;
  AdaptationOptions learning;
  const toml::table given = environment_options(exploration, limits, learning);
  require(steps >= 1, "--steps {}: must be at least 1", steps);
  BuiltIn built_in = make_built_in(environment, given);
  double divergence_limit = RolloutOptions().divergence_limit;
  Model model;  // outlives its policy
  const GuardedPolicy* learner = nullptr;
  require(!gamma || policy == "optimal", "--gamma is for --policy optimal");
  if (policy == "optimal") {
    require(built_in.optimal_policy != nullptr, "--policy optimal: that of {} is not known",
            environment);
    built_in.initial = built_in.optimal_policy(gamma.value_or(built_in.discount));
  } else if (policy == "reference") {
    require(built_in.reference_policy != nullptr,
            "--policy reference: {} has none that acts on what is seen alone{}", environment,
            built_in.optimal_policy ? "; optimal knows everything" : "");
    built_in.initial = built_in.reference_policy();
  } else if (policy != "initial") {
    model = load_policy(policy);
    if (learn) {
      auto policy_at_work = learning_policy(model, built_in, learning);
      learner = policy_at_work.get();
      built_in.initial = std::move(policy_at_work);
    } else {
      built_in.initial = learnt_policy(model, built_in, exploration);
    }
    divergence_limit = model.divergence_limit;
  }
  LimitedPolicy limited(*built_in.initial, limits, built_in.environment->spec().actions);
  require_output(out, {policy, config.path()});

  Simulation simulation(*built_in.environment, seed, episode_steps.value_or(0));
  const bool episodes = built_in.episodic || episode_steps.value_or(0) > 0;
  LogWriter writer(out, simulation.spec(), episodes);
  heed_interrupts();
  Index done = 0;
  bool diverged = false;
  double sum = 0.0;
  // In a thread of its own, for nobody may take what it writes.
  run_interruptibly([&] {
    ProgressLine progress("simulate " + environment, "rows", static_cast<double>(steps));
    while (done < steps && !diverged && !interrupted()) {
      Rollout part = simulation.run(
          limited, {.steps = std::min(kChunk, steps - done), .divergence_limit = divergence_limit});
      diverged = part.diverged;
      done += part.trajectory.steps();
      sum += part.trajectory.rewards().sum();
      // A log without an episode column has nowhere to say that the run was cut here.
      if (diverged && !episodes) part.trajectory.end_episode(EpisodeEnd::none);
      writer.write(part.trajectory);
      progress.update(static_cast<double>(done));
    }
    writer.finish();
  });
  if (diverged) {
    fmt::print(stderr,
               "waggle: the policy lost the system after {} of {} rows: the log ends there\n", done,
               steps);
  }
  if (interrupted()) {
    fmt::print(stderr, "waggle: interrupted after {} of {} rows, which are saved\n", done, steps);
  }
  print(fmt::format("{}: {} rows of {}, mean {} {:.4g}\n{}next: {}\n", out.string(), done,
                    environment, simulation.spec().reward_name, sum / static_cast<double>(done),
                    learning_text(learner),
                    learn_hint(out, environment, simulation.spec(), built_in.discount, limits)));
}

}  // namespace

void add_simulate(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("simulate", "Run a built-in environment under a policy and log it");
  auto options = std::make_shared<SimulateCommand>();
  command->add_option("environment", options->environment, in_words(environment_names(), "or"))
      ->required();
  command->add_option("--steps", options->steps, "rows to log")->capture_default_str();
  command->add_option("--seed", options->seed, "of all randomness")->capture_default_str();
  command
      ->add_option("--policy", options->policy,
                   "initial (knowing nothing: the paper's π_0), optimal (knowing everything), "
                   "reference (knowing the true model, from what is seen) or a model file (its "
                   "learnt policy)")
      ->capture_default_str();
  command->add_option("--gamma", options->gamma,
                      "discount of the optimal policy. Not given: the problem's own, the paper's");
  command->add_option(
      "--episode-steps", options->episode_steps,
      "start a new episode after so many steps. Not given: as the environment does");
  command->add_option("-o,--out", options->out, "the log to write, as CSV")->required();
  options->flags.add(*command, Exploration(), "exploration", "Exploration of a learnt policy",
                     {{"noise", "exploration_noise"}});
  command->add_flag("--learn", options->learn,
                    "a model goes on learning while it acts, as by waggle act --learn");
  options->flags.add(*command, AdaptationOptions(), "learning", "How --learn learns",
                     {{"noise", "learn_noise"}, {"epsilon", "learn_epsilon"}});
  options->flags.add(*command, ActuatorLimits(), "limits",
                     "Limits of the actuator, which any policy is taken to");
  add_environment_flags(*command, options->flags);
  options->config.add(*command, &options->flags);
  command->footer(
      "--episode-steps is the environment's own option where it has one.\n"
      "Row k holds the reward and observation seen at step k and the action then chosen.\n"
      "Ctrl-C saves the rows so far (exit code 130).\n"
      "Example:\n  waggle simulate bee-world --steps 2000 --seed 1 -o log.csv\n"
      "  waggle simulate bee-world --policy bee.safetensors --epsilon 0.1 -o more.csv");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
