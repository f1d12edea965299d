#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <waggle/base/names.h>
#include <waggle/detail/require.h>
#include <waggle/model_file.h>

#include "act_loop.h"
#include "commands.h"
#include "option_flags.h"
#include "progress.h"
#include "usage.h"

namespace waggle::app {

namespace {

/// Lines of the standard input, as they come.
class LineReader {
 public:
  /// False at the end, or when interrupted. A line longer than a mebibyte comes as its beginning
  /// and sets `too_long`.
  bool next(std::string& line, bool& too_long) {
    line.clear();
    too_long = false;
    while (true) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t stop = rest.find('\n');
      const std::size_t length = std::min(stop, rest.size());
      if (line.size() + length > kLongest) too_long = true;
      if (!too_long) line.append(rest.substr(0, length));
      if (stop != std::string_view::npos) {
        begin_ += stop + 1;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return true;
      }
      begin_ = end_ = 0;
      if (!wait()) return false;
      const ssize_t got = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw std::runtime_error(
            fmt::format("cannot read the standard input: {}", std::strerror(errno)));
      }
      if (got == 0) return !line.empty() || too_long;
      end_ = static_cast<std::size_t>(got);
    }
  }

 private:
  /// Until there is something to read; false when interrupted, which a read would not notice.
  static bool wait() {
    constexpr int kLook = 200;  // milliseconds
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (!interrupted() && ::poll(&input, 1, kLook) == 0) {
    }
    return !interrupted();
  }

  static constexpr std::size_t kLongest = std::size_t{1} << 20;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t begin_ = 0, end_ = 0;
};

/// Throws Error unless the other model reads and does what this one does.
void require_same_machine(const Model& model, const Model& other, const std::string& name) {
  const Misfit found = misfit(other, model.environment);
  const auto require_same = [&](const char* what, bool differ) {
    require(!differ, "--fallback {}: its {} are not those of the model", name, what);
  };
  require_same("actions", found.actions);
  require_same("choices", found.choice_names || found.choices);
  require_same("observations", found.observations);
  require(!found.reward_input, "--fallback {}: it reads the reward '{}', which the model does not",
          name, other.environment.reward_name);
}

/// A model, or nearly the name of a fallback.
Model load_fallback(const std::string& name) {
  try {
    return load_model(name);
  } catch (const Error& error) {
    throw Error(error.what() + meant_name(name, {"hold", "zero"}));
  }
}

/// What acts where the controller may not: a fallback by its name, or another model.
std::unique_ptr<Policy> fallback_policy(const std::string& name, const Model& model) {
  if (name.empty()) return nullptr;
  const Fallback fallback = value_named<Fallback>(name).value_or(Fallback::none);
  if (fallback == Fallback::none) {
    const Model other = load_fallback(name);
    require_same_machine(model, other, name);
    return std::make_unique<GreedyPolicy>(other.policy());
  }
  const ActionSpace& actions = model.environment.actions;
  const std::string fault = fault_in(fallback, actions);
  require(fault.empty(), "--fallback {}: {}; say hold, or name a model", name, fault);
  return make_fallback(fallback, actions);
}

struct ActCommand {
  ConfigFile config;
  std::filesystem::path file;
  std::uint64_t seed = 0;
  bool resume = false;
  std::string fallback;
  bool learn = false;
  std::filesystem::path save;
  std::uint64_t save_every = 1000;
  OptionFlags flags;

  void run() {
    GuardOptions guard;
    toml::table given = merge(config.apply(), flags);
    const std::optional<AdaptationOptions> learning = read_learning(given);
    read_options(given, guard);
    guard.validate();
    const Model model = load_model(file);
    ActLoop loop(model, seed, resume ? Start::training_ended : Start::fresh,
                 {.options = guard,
                  .fallback = fallback_policy(fallback, model),
                  .learning = learning,
                  .tell = tell});
    if (learn) require_output(save, {fallback, config.path()});
    std::signal(SIGPIPE, SIG_IGN);
    heed_interrupts();
    // Whatever ends it: what was learnt is saved, what was noticed is told.
    std::exception_ptr failure;
    try {
      answer(loop);
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      if (learn) save_model(save, become(loop));
    } catch (...) {
      failure = std::current_exception();
    }
    const std::string summary = loop.summary();
    if (!summary.empty()) tell(summary);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  /// How to learn, if that is asked for; takes it out of what was given.
  std::optional<AdaptationOptions> read_learning(toml::table& given) const {
    const toml::node* const node = given.get("learning");
    require(learn || (save.empty() && node == nullptr),
            "--save, --memory and what else is about learning need --learn");
    if (!learn) return std::nullopt;
    require(!save.empty(),
            "--learn: say where to save what it becomes, as --save FILE; that may be the model "
            "itself, which is then replaced");
    AdaptationOptions options;
    if (node != nullptr) {
      require(node->is_table(), "learning = {}: must be a table", TomlSource::shown(*node));
      read_options(*node->as_table(), options);
      given.erase("learning");
    }
    options.validate();
    return options;
  }

  /// What the loop has made of the model.
  Model become(const ActLoop& loop) const {
    Model model = loop.adapted();
    if (model.provenance.adapted_from.empty()) model.provenance.adapted_from = file.string();
    return model;
  }

  /// Between two answers; a disk that is full is no reason to leave the machine alone.
  void save_now_and_then(const ActLoop& loop) {
    if (!learn || save_every == 0 || loop.steps() < saved_ + save_every) return;
    saved_ = loop.steps();
    try {
      save_model(save, become(loop));
      said_failure_ = false;
    } catch (const std::exception& error) {
      if (!said_failure_) tell(fmt::format("step {}: {}", saved_, error.what()));
      said_failure_ = true;
    }
  }

  std::uint64_t saved_ = 0;  // the step of the last time
  bool said_failure_ = false;

  static void tell(const std::string& text) { fmt::print(stderr, "waggle: {}\n", text); }

  /// Until nothing more comes, or nobody listens.
  void answer(ActLoop& loop) {
    LineReader lines;
    std::string line;
    bool too_long = false;
    while (lines.next(line, too_long)) {
      if (too_long) line = "(a line longer than 1 MiB)";
      if (!write_out(loop.answer(line) + "\n")) return;
      save_now_and_then(loop);
    }
  }
};

}  // namespace

void add_act(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "act", "Control: read what is seen, a line at a time, and answer each with an action");
  auto options = std::make_shared<ActCommand>();
  command->add_option("model", options->file, "a model file")->required();
  command->add_option("--seed", options->seed, "of random candidates, where the search needs them")
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "start in the state where training ended, not in an episode's first");
  command->add_option("--fallback", options->fallback,
                      "what acts where novelty is above the limit: hold (the last action), zero, "
                      "or another model");
  command->add_flag("--learn", options->learn,
                    "go on learning from every step, beside the model as it is, which goes on "
                    "acting in one of four blocks of steps; needs --save and the reward");
  command->add_option("--save", options->save,
                      "where --learn keeps what the model becomes, at the end and now and then, "
                      "whole or not at all; may be the model itself");
  command
      ->add_option("--save-every", options->save_every,
                   "how many steps that is; 0: only at the end")
      ->capture_default_str();
  options->flags.add(*command, GuardOptions{}, "", "What it reads and where it may not act");
  options->flags.add(*command, AdaptationOptions{}, "learning", "How --learn learns");
  options->config.add(*command, &options->flags);
  command->footer(
      "In:   {\"reward\": 1.2, \"observation\": [20.5, 3]}, or every channel by its name:\n"
      "      {\"nectar\": 1.2}; {\"reset\": true} starts an episode; \"applied\": 0.03 beside "
      "them\n"
      "      says what the last action really was, where it was not what was answered;\n"
      "      {\"reward\": -1, \"terminated\": true} ends an episode of which nothing follows\n"
      "      what may be missing (learn --missing hold) may be null or left out\n"
      "Out:  {\"action\": 0.05, \"value\": 3.1, \"standard_error\": 0.02, \"novelty\": 0.6}, or\n"
      "      {\"error\": \"…\"} for a line that is not understood, which is then as if it had not "
      "come.\n"
      "      A novelty of 1 is what 99 % of the experience stays below. Where there is something "
      "to\n"
      "      say, also \"held\": the channels that were NaN or beyond what was learnt from, of "
      "which\n"
      "      the last value or the end of the range was read; \"stuck\": those that do not change\n"
      "      any more; \"by\": \"fallback\" or, of --learn, \"adapted\"; \"alarm\": the step since "
      "when its errors are larger\n"
      "Example:\n  echo '{\"nectar\": 1.2}' | waggle act bee.safetensors\n"
      "  waggle act bee.safetensors --learn --save bee2.safetensors   # and later, to go on from "
      "there:\n"
      "  waggle act bee2.safetensors --learn --save bee2.safetensors --resume");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
