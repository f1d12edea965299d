#include "tuning_text.h"

#include <algorithm>

#include <fmt/format.h>

#include <waggle/detail/require.h>
#include <waggle/detail/text.h>

#include "model_text.h"

namespace waggle::app {

std::optional<TuneOptions> tune_budget(const std::string& text) {
  if (text == "off") return std::nullopt;
  const auto refuse = [&](bool ok) {
    require(ok,
            "--tune {}: must be a time such as 60s, 5m or 1h, a number of settings such as 12, or "
            "off",
            shown(text));
  };
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = text.substr(digits);
  double number = 0.0;
  try {
    std::size_t used = 0;
    number = std::stod(text.substr(0, digits), &used);
    refuse(used == digits);
  } catch (const std::logic_error&) {  // no number, or none that fits
    refuse(false);
  }
  TuneOptions options;
  if (unit.empty()) {
    require(number >= 1.0 && number <= 1e6 && number == std::floor(number),
            "--tune {}: as a number of settings it must be a whole one of at least 1; a time has a "
            "unit: {}s",
            text, text);
    options.seconds = std::nullopt;
    options.trials = static_cast<int>(number);
    return options;
  }
  const double seconds = unit == "s" ? 1.0 : unit == "m" ? 60.0 : unit == "h" ? 3600.0 : 0.0;
  refuse(seconds > 0.0);
  require(number > 0.0, "--tune {}: in no time nothing can be tried; say off to try nothing", text);
  options.seconds = number * seconds;
  return options;
}

namespace {

std::string with_error(const Estimate& estimate) {
  return fmt::format("{:.3g} ± {:.2g}", estimate.value, estimate.standard_error);
}

/// ± is one column wide but two bytes long.
std::string padded(const std::string& text, std::size_t width) {
  const auto bytes = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  const auto columns = static_cast<std::size_t>(bytes);
  return text + std::string(columns < width ? width - columns : 1, ' ');
}

}  // namespace

std::string tuning_text(const TuneResult& tuned) {
  if (!tuned.tried()) return table_line("nothing was tried", tuned.reason);
  std::size_t width = 10;
  double seconds = 0.0;
  for (const TuneTrial& trial : tuned.trials) {
    width = std::max(width, trial.settings.size() + 2);
    seconds += trial.seconds;
  }
  std::string text = table_line(
      "settings tried",
      fmt::format("{}, on two halves of {} rows, in {:.1f} s{}", tuned.trials.size(), tuned.rows,
                  seconds, tuned.out_of_time ? "; there were more to try" : ""));
  text += "    " + padded("settings", width) + padded("over logged", 18) +
          padded("over as given", 18) + padded("support", 10) + "s\n";
  for (std::size_t i = 0; i < tuned.trials.size(); ++i) {
    const TuneTrial& trial = tuned.trials[i];
    text += (i == tuned.taken ? "  * " : "    ") + padded(trial.settings, width);
    if (!trial.failed.empty()) {
      text += "failed: " + trial.failed + "\n";
      continue;
    }
    text += padded(with_error(trial.difference), 18) +
            padded(i == 0 ? "" : with_error(trial.gain), 18) +
            padded(fmt::format("{:.0f} %", 100.0 * trial.support), 10) +
            fmt::format("{:.1f}\n", trial.seconds);
  }
  const TuneTrial& taken = tuned.trials[tuned.taken];
  return text + table_line("taken", fmt::format("{}: {}", taken.settings, tuned.reason));
}

}  // namespace waggle::app
