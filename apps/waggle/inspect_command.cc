#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <waggle/detail/require.h>
#include <waggle/fit/echo_state.h>
#include <waggle/model_file.h>

#include "commands.h"
#include "model_text.h"
#include "option_flags.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

struct InspectCommand {
  ConfigFile config;
  std::filesystem::path file;
  bool json = false;

  void run();
};

std::string echo_state_lines(const EchoStateReport& report) {
  const Contraction& measured = report.measured;
  const Index steps = measured.distances.size() - 1;
  return table_line("‖A‖₂, radius of A",
                    fmt::format("{:.4g}, {:.4g} ({:.4g} with the leak)", report.operator_norm,
                                report.spectral_radius, report.leaky_spectral_radius)) +
         table_line("echo state property",
                    report.guaranteed
                        ? fmt::format("holds for every input: a step contracts by {:.4g} or more",
                                      report.contraction_bound)
                        : "not guaranteed") +
         table_line("  as measured",
                    fmt::format("contracts by {:.4g} a step, {} after {} steps", measured.rate,
                                measured.met ? "two states met" : "two states had not met", steps));
}

void InspectCommand::run() {
  config.apply();
  const Model model = load_model(file);
  const EchoStateNetwork& network = memory_network(model);
  const EchoStateReport report = check_echo_state(network);
  if (json) {
    ordered_json result = model_json(model);
    result["echo_state"] = {{"operator_norm", report.operator_norm},
                            {"spectral_radius", report.spectral_radius},
                            {"leaky_spectral_radius", report.leaky_spectral_radius},
                            {"contraction_bound", report.contraction_bound},
                            {"guaranteed", report.guaranteed},
                            {"measured_rate", report.measured.rate},
                            {"met", report.measured.met}};
    print(result.dump(2) + "\n");
    return;
  }
  const Provenance& from = model.provenance;
  std::string text =
      fmt::format("{}: a controller of {} channels, {} bytes, made by waggle {}{}\n", file.string(),
                  network.inputs(), std::filesystem::file_size(file), from.waggle_version,
                  from.created.empty() ? "" : ", " + from.created);
  text += learnt_table(model);
  text += table_line("confidence", model.has_confidence()
                                       ? "known: act says the standard error of every value"
                                       : "not known");
  text += echo_state_lines(report);
  print(text);
}

}  // namespace

void add_inspect(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("inspect", "Say what a model is, how it was made and how well");
  auto options = std::make_shared<InspectCommand>();
  command->add_option("model", options->file, "a model file")->required();
  command->add_flag("--json", options->json, "print JSON, with every option");
  options->config.add(*command);
  command->footer("Example:\n  waggle inspect bee.safetensors");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
