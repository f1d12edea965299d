#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/model.h>

namespace waggle {
namespace {

using Eigen::VectorXd;

/// Everything that does not fit, by name.
std::string of(const Misfit& misfit) {
  std::string text;
  const auto add = [&](const char* name, bool there) { text += there ? name : ""; };
  add("reward ", misfit.reward);
  add("reward_input ", misfit.reward_input);
  add("observations ", misfit.observations);
  add("observation_size ", misfit.observation_size);
  add("actions ", misfit.actions);
  add("action_size ", misfit.action_size);
  add("choices ", misfit.choices);
  add("choice_names ", misfit.choice_names);
  add("choice_words ", misfit.choice_words);
  add("bounds ", misfit.bounds);
  return text;
}

EnvironmentSpec arm() {
  EnvironmentSpec spec;
  spec.actions = ActionSpace::box(-1.0, 1.0);
  spec.action_names = {"torque"};
  spec.observation_names = {"angle", "speed"};
  return spec;
}

EnvironmentSpec valve() {
  EnvironmentSpec spec;
  spec.actions = ActionSpace::discrete(2);
  spec.action_names = {"valve"};
  spec.choice_names = {"shut", "open"};
  return spec;
}

Model made_for(const EnvironmentSpec& spec) {
  Model model;
  model.environment = spec;
  model.controller.actions = spec.actions;
  return model;
}

std::string found(const EnvironmentSpec& spec,
                  const std::function<void(EnvironmentSpec&)>& change) {
  EnvironmentSpec machine = spec;
  change(machine);
  return of(misfit(made_for(spec), machine));
}

TEST(Misfit, IsWhatDiffers) {
  const auto changed = [](const auto& change) { return found(arm(), change); };
  EXPECT_EQ(changed([](EnvironmentSpec&) {}), "");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.name = "another"; }), "");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.reward_name = "gain"; }), "reward ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.reward_is_input = false; }), "reward_input ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) {
              s.observation_names = {"speed", "angle"};
            }),
            "observations ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.observation_names = {"angle"}; }),
            "observations observation_size ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.action_names = {"force"}; }), "actions ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) {
              s.actions = ActionSpace::box(VectorXd::Zero(2), VectorXd::Ones(2));
            }),
            "action_size ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.actions = ActionSpace::box(-2.0, 2.0); }), "");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.actions = ActionSpace::box(-2.0, 0.5); }),
            "bounds ");
  EXPECT_EQ(changed([](EnvironmentSpec& s) { s.actions = ActionSpace::discrete(3); }),
            "choices choice_words ");
}

TEST(Misfit, ARewardThatIsNotReadMayBeShown) {
  EnvironmentSpec spec = arm();
  spec.reward_is_input = false;
  EXPECT_EQ(found(spec, [](EnvironmentSpec& s) { s.reward_is_input = true; }), "");
}

TEST(Misfit, ChoicesAreTheSameWordsInTheSameOrderOrNumbers) {
  const auto changed = [](const std::vector<std::string>& own, std::vector<std::string> theirs) {
    EnvironmentSpec spec = valve();
    spec.choice_names = own;
    return found(spec, [&](EnvironmentSpec& s) { s.choice_names = std::move(theirs); });
  };
  EXPECT_EQ(changed({"shut", "open"}, {"shut", "open"}), "");
  EXPECT_EQ(changed({"shut", "open"}, {"open", "shut"}), "choice_names choice_words ");
  EXPECT_EQ(changed({"0", "1"}, {"shut", "open"}), "choice_names ");
  EXPECT_EQ(changed({}, {"shut", "open"}), "choice_names ");
  EXPECT_EQ(changed({"shut", "open"}, {}), "choice_names choice_words ");
  EXPECT_EQ(choice_words(valve()), std::vector<std::string>({"shut", "open"}));
  EnvironmentSpec unnamed = valve();
  unnamed.choice_names.clear();
  EXPECT_EQ(choice_words(unnamed), std::vector<std::string>({"0", "1"}));
}

}  // namespace
}  // namespace waggle
