#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <waggle/base/names.h>
#include <waggle/detail/atomic_file.h>
#include <waggle/detail/require.h>
#include <waggle/export.h>
#include <waggle/model_file.h>

#include "commands.h"
#include "option_flags.h"
#include "repeat_command.h"

namespace waggle::app {

namespace {

struct ExportCommand {
  ConfigFile config;
  std::filesystem::path file;
  std::string to = "c";
  std::string precision{name_of(ExportOptions().precision)};
  std::uint64_t seed = ExportOptions().seed;
  bool guarded = ExportOptions().guarded;
  std::string fallback;
  OptionFlags flags;
  std::filesystem::path out;
  bool json = false;

  void run() {
    ExportOptions options = guard_options(merge(config.apply(), flags));
    require(to == "c", "--to {}: must be c", to);
    const auto numbers = value_named<Precision>(precision);
    require(numbers.has_value(), "--precision {}: must be float or double", precision);
    const Model model = load_model(file);
    std::filesystem::path base = out;
    if (base.extension() == ".h" || base.extension() == ".c") base.replace_extension();
    for (const char* ending : {".h", ".c"}) {
      require_output(base.string() + ending, {file, config.path()});
    }
    options.precision = *numbers;
    options.seed = seed;
    const ExportedC exported = export_c(out, model, options);
    if (json) {
      const nlohmann::ordered_json result = {{"header", base.string() + ".h"},
                                             {"source", base.string() + ".c"},
                                             {"name", exported.name},
                                             {"precision", precision},
                                             {"guarded", guarded},
                                             {"flash_bytes", exported.flash_bytes},
                                             {"ram_bytes", exported.ram_bytes},
                                             {"multiply_adds", exported.multiply_adds}};
      print(result.dump(2) + "\n");
      return;
    }
    // A file name with a dash in front must not pass for an option.
    std::string source = base.string() + ".c";
    if (source.starts_with('-')) source = "./" + source;
    print(
        fmt::format("wrote {} and {}: {} bytes of flash for constants, {} bytes of RAM, at most {} "
                    "multiply–adds a step\nto call: {}_reset, {}\n"
                    "compile with: cc -std=c99 -O2 -c {}\n",
                    shell_word(base.string() + ".h"), shell_word(base.string() + ".c"),
                    exported.flash_bytes, exported.ram_bytes, exported.multiply_adds, exported.name,
                    functions(model), shell_word(source)));
  }

 private:
  /// What the flags of the guard say. Throws Error for flags without one.
  ExportOptions guard_options(const toml::table& given) const {
    ExportOptions options;
    read_options(given, options.guard);
    for (const auto& [name, value] : given) {
      require(guarded, "--{}: needs --guard", dashed(std::string(name.str())));
    }
    require(guarded || fallback.empty(), "--fallback {}: needs --guard", fallback);
    options.guarded = guarded;
    if (fallback.empty()) return options;
    options.fallback = value_named<Fallback>(fallback).value_or(Fallback::none);
    require(options.fallback != Fallback::none,
            "--fallback {}: must be hold or zero; another model is exported by itself, and "
            "called where NAME_fell_back says so",
            fallback);
    return options;
  }

  /// What can be called beside NAME_reset.
  std::string functions(const Model& model) const {
    std::vector<const char*> names = {"_step", "_applied", "_value"};
    if (guarded) names.insert(names.begin(), "_begin_episode");
    if (guarded) names.push_back("_held");
    if (guarded && model.baseline) names.push_back("_novelty");
    if (!fallback.empty()) names.push_back("_fell_back");
    const char* last = names.back();
    names.pop_back();
    return fmt::format("{} and {}", fmt::join(names, ", "), last);
  }
};

}  // namespace

void add_export(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("export", "Write a model as C99 without dependencies or allocation");
  auto options = std::make_shared<ExportCommand>();
  command->add_option("model", options->file, "a model file")->required();
  command->add_option("--to", options->to, "the language: c")->capture_default_str();
  command
      ->add_option(
          "-o,--out", options->out,
          "NAME of NAME.h and NAME.c, and of what is in them: NAME_reset, NAME_step; what C "
          "does not allow in a name becomes _")
      ->required();
  command
      ->add_option("--precision", options->precision,
                   help_of(&ExportOptions::precision) + ": float or double")
      ->capture_default_str();
  command->add_option("--seed", options->seed, help_of(&ExportOptions::seed))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print the sizes as JSON");
  command->add_flag("--guard", options->guarded,
                    help_of(&ExportOptions::guarded) + ", as act does");
  command->add_option(
      "--fallback", options->fallback,
      help_of(&ExportOptions::fallback) + ": hold (the last action) or zero; with --guard");
  options->flags.add(*command, GuardOptions{}, "", "With --guard");
  command->get_option("--hold")->group("");  // always: there is nobody to read an error
  options->config.add(*command, &options->flags);
  command->footer(
      "Examples:\n  waggle export bee.safetensors --to c --precision float -o controller\n"
      "  waggle export bee.safetensors --guard --fallback hold --novelty-limit 1.5 -o controller");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
