#include "program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>

#include <fmt/format.h>

#include <waggle/base/error.h>
#include <waggle/base/execution.h>
#include <waggle/version.h>

#include "option_flags.h"
#include "progress.h"
#include "usage.h"

namespace waggle::app {

namespace {

constexpr int kDone = 0;
constexpr int kBadInput = 2;

/// Parses and runs what is asked for. False if that was only help or the version: they are printed,
/// and it is an error if they cannot be.
bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw;
    std::ostringstream text;
    app.exit(error, text, text);
    print(text.str());
    return false;
  }
}

int ended(int code, const std::string& what) {
  fmt::print(stderr, "{}: {}\n", program_name, what);
  return code;
}

}  // namespace

void Threads::add(CLI::App& command) {
  command
      .add_option_function<int>(
          "--threads",
          [this](int threads) {
            if (threads < 0) {
              throw Error(fmt::format("--threads {}: must not be negative", threads));
            }
            limit_.emplace(threads);
          },
          kThreadsHelp)
      ->default_str("0");
}

int run_program(CLI::App& app, int argc, char** argv) {
  program_name = app.get_name();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow further is an error of writing
  prepare_process();
  app.set_version_flag("--version", "waggle " WAGGLE_VERSION);
  app.require_subcommand(0, 1);  // none is checked below, after unknown options are named
  check_numbers(app);
  try {
    if (!parse(app, argc, argv)) return kDone;
    if (app.get_subcommands().empty()) {
      throw Error(fmt::format("a subcommand is required (see {} --help)", program_name));
    }
    return interrupted() ? kInterrupted : kDone;
  } catch (const CLI::ParseError& error) {
    return ended(kBadInput, usage_fault(app, error));
  } catch (const Error& error) {
    return ended(kBadInput, error.what());
  } catch (const Interrupted&) {
    return ended(kInterrupted, fmt::format("interrupted; {}", kNothingSaved));
  } catch (const std::bad_alloc&) {
    return ended(kFailed, "out of memory; fewer units or members need less of it");
  } catch (const std::filesystem::filesystem_error& error) {
    return ended(kFailed, fmt::format("'{}': {}", error.path1().string(), error.code().message()));
  } catch (const std::exception& error) {
    return ended(kFailed, error.what());
  }
}

}  // namespace waggle::app
