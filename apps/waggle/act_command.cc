#include "act_command.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <waggle/model.h>

#include "core/check.h"
#include "core/text.h"
#include "logs/csv.h"
#include "option_flags.h"
#include "options/json.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

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

/// One line in, one line out.
class Loop {
 public:
  Loop(const Model& model, std::uint64_t seed, Start start)
      : model_(model),
        policy_(model.policy(start)),
        random_(seed),
        action_(VectorXd::Zero(model.actions.size())) {
    percept_.observation = VectorXd::Zero(model.environment.observation_size());
    for (const std::string& name : model.environment.choice_names) {
      // As the log had it: a number is a number.
      const bool number = parse_number(name).kind == Table::Cell::Kind::number;
      json_labels_.push_back(number ? name : nlohmann::json(name).dump());
    }
  }

  std::string answer_json(const std::string& line) {
    try {
      const nlohmann::json json = parse_json(line, "line");
      require(json.is_object(), "line: must be a JSON object");
      const bool reset = read_json(json);
      if (reset) begin_episode();
      if (reset && json.size() == 1) return "{\"reset\":true}";
      act();
      std::string text = "{\"action\":";
      if (action_.size() == 1) {
        text += json_cell(0);
      } else {
        for (Index i = 0; i < action_.size(); ++i) text += (i == 0 ? "[" : ",") + json_cell(i);
        text += "]";
      }
      text += fmt::format(",\"value\":{}", policy_.value());
      if (model_.has_confidence()) text += fmt::format(",\"standard_error\":{}", error_of_value());
      return text + "}";
    } catch (const Error& error) {
      return nlohmann::json{{"error", error.what()}}.dump();
    }
  }

  std::string answer_csv(const std::string& line) {
    try {
      if (line == "reset") {
        begin_episode();
        return "reset";
      }
      const std::vector<std::string> cells = split(line);
      if (first_line_) {
        first_line_ = false;
        if (parse_number(cells.front()).kind != Table::Cell::Kind::number) return header(cells);
      }
      read_csv(cells);
      act();
      std::string text;
      for (Index i = 0; i < action_.size(); ++i) text += (i > 0 ? "," : "") + csv_action(i);
      text += fmt::format(",{}", policy_.value());
      if (model_.has_confidence()) text += fmt::format(",{}", error_of_value());
      return text;
    } catch (const Error& error) {
      return "error," + csv_cell(error.what());
    }
  }

 private:
  const EnvironmentSpec& spec() const { return model_.environment; }

  void begin_episode() {
    policy_.begin_episode();
    step_ = 0;
  }
  void act() {
    Draws draws = random_.at(Purpose::policy, step_);
    policy_.act(percept_, draws, action_);
    ++step_;
  }
  double error_of_value() const { return model_.standard_error(policy_.state()); }

  /// The channel of a name: 0 the reward, 1 + i observation i, −1 none.
  Index channel(const std::string& name) const {
    for (std::size_t i = 0; i < spec().observation_names.size(); ++i) {
      if (spec().observation_names[i] == name) return 1 + static_cast<Index>(i);
    }
    return name == spec().reward_name || name == "reward" ? 0 : -1;
  }
  double& slot(Index channel) {
    return channel == 0 ? percept_.reward : percept_.observation[channel - 1];
  }
  const std::string& name_of_channel(Index channel) const {
    return channel == 0 ? spec().reward_name
                        : spec().observation_names[static_cast<std::size_t>(channel - 1)];
  }

  static double number(const nlohmann::json& json, const std::string& name) {
    require(json.is_number(), "{}: must be a number", printable(name));
    const double value = json.get<double>();
    require(std::isfinite(value), "{}: must be finite", printable(name));
    return value;
  }

  /// Reads a percept; returns whether an episode begins with it.
  bool read_json(const nlohmann::json& json) {
    bool reset = false;
    std::vector<bool> seen(1 + spec().observation_names.size());
    for (const auto& [key, value] : json.items()) {
      const Index at = channel(key);
      if (at >= 0) {
        slot(at) = number(value, key);
        seen[static_cast<std::size_t>(at)] = true;
      } else if (key == "observation") {
        const Index size = spec().observation_size();
        require(value.is_array() && static_cast<Index>(value.size()) == size,
                "observation: must be a list of {} numbers", size);
        for (Index i = 0; i < size; ++i) {
          slot(1 + i) = number(value[static_cast<std::size_t>(i)], name_of_channel(1 + i));
          seen[static_cast<std::size_t>(1 + i)] = true;
        }
      } else if (key == "reset") {
        require(value.is_boolean(), "reset: must be true or false");
        reset = value.get<bool>();
      } else {
        std::vector<std::string> names = spec().observation_names;
        names.insert(names.end(), {spec().reward_name, "reward", "observation", "reset"});
        throw Error(missing_name("channel", key, names));
      }
    }
    if (reset && json.size() == 1) return true;
    for (Index i = 0; i <= spec().observation_size(); ++i) {
      if (i == 0 && !spec().reward_is_input) continue;
      require(seen[static_cast<std::size_t>(i)], "{}: is missing", printable(name_of_channel(i)));
    }
    return reset;
  }

  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    require(!quoted, "a quote is not closed");
    return cells;
  }

  /// Names instead of numbers in the first line say in which order the numbers come.
  std::string header(const std::vector<std::string>& names) {
    std::vector<Index> order;
    for (const std::string& name : names) order.push_back(channel(name));
    for (Index i = spec().reward_is_input ? 0 : 1; i <= spec().observation_size(); ++i) {
      if (std::find(order.begin(), order.end(), i) == order.end()) {
        throw Error(missing_name("column", name_of_channel(i), names));
      }
    }
    order_ = order;
    std::string text;
    for (const std::string& name : spec().action_names) text += csv_cell(name) + ",";
    return text + (model_.has_confidence() ? "value,standard_error" : "value");
  }

  void read_csv(const std::vector<std::string>& cells) {
    std::vector<Index> order = order_;
    if (order.empty()) {
      for (Index i = spec().reward_is_input ? 0 : 1; i <= spec().observation_size(); ++i) {
        order.push_back(i);
      }
    }
    require(cells.size() == order.size(), "{} numbers, must be {}", cells.size(), order.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (order[i] < 0) continue;  // a column of a log that the model does not read
      const Table::Cell cell = parse_number(cells[i]);
      require(cell.kind == Table::Cell::Kind::number && std::isfinite(cell.value),
              "{}: {} is not a finite number", printable(name_of_channel(order[i])),
              shown(cells[i]));
      slot(order[i]) = cell.value;
    }
  }

  std::string json_cell(Index i) const {
    if (!json_labels_.empty()) return json_labels_[static_cast<std::size_t>(action_[i])];
    return fmt::format("{}", action_[i]);
  }
  std::string csv_action(Index i) const {
    const auto& labels = spec().choice_names;
    if (!labels.empty()) return csv_cell(labels[static_cast<std::size_t>(action_[i])]);
    return fmt::format("{}", action_[i]);
  }

  const Model& model_;
  GreedyPolicy policy_;
  Random random_;
  Percept percept_;
  VectorXd action_;
  std::uint64_t step_ = 0;  // since the episode began
  std::vector<std::string> json_labels_;
  bool first_line_ = true;
  std::vector<Index> order_;  // channel of each column, if a header said so
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
    Loop loop(model, seed, resume ? Start::training_ended : Start::fresh);
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
      "      {\"nectar\": 1.2}; {\"reset\": true} starts an episode\n"
      "Out:  {\"action\": 0.05, \"value\": 3.1, \"standard_error\": 0.02}, or {\"error\": \"…\"} "
      "for "
      "a line\n      that is not understood, which is then as if it had not come\n"
      "CSV:  reward,observation,… in, action,value,standard_error out; a first line of names may\n"
      "      say another order; the line 'reset' starts an episode\n"
      "Example:\n  echo '{\"nectar\": 1.2}' | waggle act bee.safetensors");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
