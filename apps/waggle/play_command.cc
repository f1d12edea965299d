#include "play_command.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check.h"
#include "option_flags.h"
#include "page_server.h"
#include "pages.h"
#include "progress.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): macOS has it in no header

namespace waggle::app {

namespace {

#ifdef __APPLE__
constexpr const char* kOpener = "open";
#else
constexpr const char* kOpener = "xdg-open";
#endif

/// Shows the address in the person's browser. Whether that worked is the browser's affair: the
/// address is printed anyway. Returns the opener's process, 0 if there is none.
pid_t open_browser(std::string address) {
  posix_spawn_file_actions_t quiet;
  if (posix_spawn_file_actions_init(&quiet) != 0) return 0;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_RDWR, 0);
  }
  std::string opener = kOpener;
  char* arguments[] = {opener.data(), address.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, kOpener, &quiet, nullptr, arguments, environ) != 0) child = 0;
  posix_spawn_file_actions_destroy(&quiet);
  return child;
}

struct PlayCommand {
  ConfigFile config;
  int port = 0;
  bool no_browser = false;

  void run() {
    config.apply();
    require(port >= 0 && port <= 65535, "port = {}: must be in [0, 65535]; 0 takes a free one",
            port);
    PageServer server(playground_page(), port);
    heed_interrupts();
    const std::string address = fmt::format("http://127.0.0.1:{}/", server.port());
    print(fmt::format("The playground is at {} until you press Ctrl-C.\n", address));
    pid_t opener = no_browser ? 0 : open_browser(address);
    while (!interrupted()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (opener > 0 && waitpid(opener, nullptr, WNOHANG) != 0) opener = 0;
    }
  }
};

}  // namespace

void add_play(CLI::App& app) {
  CLI::App* command = app.add_subcommand("play",
                                         "Play with a bee, a market maker, a pole and a log of "
                                         "your own in the browser, on this machine alone");
  auto options = std::make_shared<PlayCommand>();
  command->add_option("--port", options->port, "of 127.0.0.1; 0 takes a free one")
      ->capture_default_str();
  command->add_flag("--no-browser", options->no_browser, "only print the address");
  options->config.add(*command);
  command->footer("Example:\n  waggle play");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
