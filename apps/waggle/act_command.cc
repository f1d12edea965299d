#include "act_command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <waggle/model_file.h>

#include "act_loop.h"
#include "core/check.h"
#include "option_flags.h"

namespace waggle::app {

namespace {

/// Lines of the standard input, as they come.
class LineReader {
 public:
  /// False at the end. A line longer than a mebibyte comes as its beginning and sets `too_long`.
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
  static constexpr std::size_t kLongest = std::size_t{1} << 20;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t begin_ = 0, end_ = 0;
};

/// False if nobody is listening any more.
bool write_line(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0) {
      throw std::runtime_error(
          fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct ActCommand {
  ConfigFile config;
  std::filesystem::path file;
  std::string format = "json";
  std::uint64_t seed = 0;
  bool resume = false;

  void run() {
    config.apply();
    require(format == "json" || format == "csv", "--format {}: must be json or csv", format);
    const Model model = load_model(file);
    ActLoop loop(model, seed, resume ? Start::training_ended : Start::fresh);
    std::signal(SIGPIPE, SIG_IGN);
    LineReader lines;
    std::string line;
    bool too_long = false;
    while (lines.next(line, too_long)) {
      if (too_long) line = "(a line longer than 1 MiB)";
      if (!write_line(format == "json" ? loop.answer_json(line) : loop.answer_csv(line))) return;
    }
  }
};

}  // namespace

void add_act(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "act", "Control: read what is seen, a line at a time, and answer each with an action");
  auto options = std::make_shared<ActCommand>();
  command->add_option("model", options->file, "a model file")->required();
  command->add_option("--format", options->format, "of the lines: json or csv")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of random candidates, where the search needs them")
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "start in the state where training ended, not in an episode's first");
  options->config.add(*command);
  command->footer(
      "In:   {\"reward\": 1.2, \"observation\": [20.5, 3]}, or every channel by its name:\n"
      "      {\"nectar\": 1.2}; {\"reset\": true} starts an episode; \"applied\": 0.03 beside "
      "them\n"
      "      says what the last action really was, where it was not what was answered\n"
      "      what may be missing (learn --missing hold) may be null or left out, in CSV empty\n"
      "Out:  {\"action\": 0.05, \"value\": 3.1, \"standard_error\": 0.02}, or {\"error\": \"…\"} "
      "for "
      "a line\n      that is not understood, which is then as if it had not come\n"
      "CSV:  reward,observation,… in, action,value,standard_error out; a first line of names may\n"
      "      say another order, with a column 'applied' (or 'applied_NAME' for each of several\n"
      "      actions), empty where it was as answered; the line 'reset' starts an episode\n"
      "Example:\n  echo '{\"nectar\": 1.2}' | waggle act bee.safetensors");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
