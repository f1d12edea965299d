#include "diagnose_command.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <waggle/fit/echo_state.h>
#include <waggle/version.h>

#include "config.h"
#include "progress.h"
#include "reservoir_flags.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct DiagnoseCommand {
  SupervisedFlags flags;
  Index inputs = 1;
  Index delays = 0;
  bool json = false;

  void run();
};

struct Diagnosis {
  ReservoirOptions options;
  Index units;  ///< with an activation
  Activation activation;
  Index inputs;
  EchoStateReport report;
  MemoryCapacity memory;
};

/// The delay by which half of the whole capacity is reached.
Index half_delay(const MemoryCapacity& memory) {
  double sum = 0.0;
  for (Index j = 0; j < memory.capacity.rows(); ++j) {
    sum += memory.capacity.row(j).sum();
    if (sum >= 0.5 * memory.total) return j + 1;
  }
  return memory.capacity.rows();
}

std::string diagnosis_table(const Diagnosis& d) {
  const auto row = [](const std::string& label, const std::string& value, const std::string& note) {
    return fmt::format("  {:<36} {:>9}{}\n", label, value, note.empty() ? "" : "  " + note);
  };
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  const Contraction& measured = d.report.measured;
  const Index steps = measured.distances.size() - 1;
  std::string text =
      fmt::format("{} {} units, seed {}, {} input{}\n", d.units, name_of(d.activation),
                  d.options.seed, d.inputs, d.inputs == 1 ? "" : "s");
  text += row("operator norm ‖A‖₂", number(d.report.operator_norm), "");
  text += row("spectral radius of A", number(d.report.spectral_radius), "");
  text += row("spectral radius with the leak", number(d.report.leaky_spectral_radius), "");
  text += row("bound on a step's contraction", number(d.report.contraction_bound),
              d.report.guaranteed ? "the echo state property holds for every input"
                                  : "not below 1: it proves nothing");
  text += row("contraction measured, a step", number(measured.rate),
              measured.met ? fmt::format("two states met after {} steps", steps)
                           : fmt::format("two states had not met after {} steps", steps));
  text += row(fmt::format("memory capacity, delays 1–{}", d.memory.capacity.rows()),
              fmt::format("{:.1f}", d.memory.total),
              d.memory.diverged ? "the states do not stay finite"
                                : fmt::format("half of it up to delay {}", half_delay(d.memory)));
  return text;
}

ordered_json diagnosis_json(const Diagnosis& d) {
  ordered_json json;
  json["version"] = WAGGLE_VERSION;
  json["reservoir"] = app::to_json(d.options);
  json["reservoir"]["seed"] = d.options.seed;
  json["inputs"] = d.inputs;
  json["operator_norm"] = d.report.operator_norm;
  json["spectral_radius"] = d.report.spectral_radius;
  json["leaky_spectral_radius"] = d.report.leaky_spectral_radius;
  json["contraction_bound"] = d.report.contraction_bound;
  json["guaranteed"] = d.report.guaranteed;
  json["measured"] = {{"rate", d.report.measured.rate},
                      {"met", d.report.measured.met},
                      {"steps", d.report.measured.distances.size() - 1}};
  json["memory"] = {{"delays", d.memory.capacity.rows()},
                    {"total", d.memory.total},
                    {"diverged", d.memory.diverged}};
  for (Index c = 0; c < d.memory.capacity.cols(); ++c) {
    const Eigen::VectorXd channel = d.memory.capacity.col(c);
    json["memory"]["capacity"].push_back(std::vector<double>(channel.begin(), channel.end()));
  }
  return json;
}

Diagnosis diagnose(const ReservoirOptions& options, Index inputs, Index delays) {
  const EchoStateNetwork network(options, inputs);
  const EchoStateReport report = check_echo_state(network, options.seed);
  return {options,
          network.nonlinear_units(),
          network.activation(),
          inputs,
          report,
          measure_memory(network, delays, options.seed)};
}

void DiagnoseCommand::run() {
  ReservoirOptions options = flags.read().reservoir;
  if (auto& procedure = options.procedure_one; procedure && !procedure->input_bound) {
    // No input that the memory is probed with is larger.
    procedure->input_bound =
        0.8 * std::sqrt(static_cast<double>(inputs) * static_cast<double>(procedure->delay + 1));
  }
  heed_interrupts();
  const Diagnosis diagnosis = run_interruptibly([&] { return diagnose(options, inputs, delays); });
  print(json ? diagnosis_json(diagnosis).dump(2) + "\n" : diagnosis_table(diagnosis));
}

}  // namespace

void add_diagnose(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "diagnose", "Check a reservoir's echo state property and measure its memory");
  auto options = std::make_shared<DiagnoseCommand>();
  command->add_option("--inputs", options->inputs, "input channels")->capture_default_str();
  command->add_option("--delays", options->delays, "the longest; 0: twice the units")
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON, with the capacity of every delay");
  options->flags.add_reservoir(*command);
  command->footer(
      "Example:\n  waggle-paper diagnose --units 100 --activation identity --orthogonal "
      "--operator-norm 0.95");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
