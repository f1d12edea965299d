#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include <waggle/detail/require.h>

#include "commands.h"
#include "option_flags.h"
#include "page_server.h"
#include "pages.h"
#include "progress.h"

namespace waggle::app {

namespace {

#ifdef __APPLE__
constexpr const char* kOpener = "open";
#else
constexpr const char* kOpener = "xdg-open";
#endif

/// Shows the address in the person's browser. Whether that worked is the browser's affair: the
/// address is printed anyway.
void open_browser(const std::string& address) {
  [[maybe_unused]] const int code =
      std::system(fmt::format("{} {} >/dev/null 2>&1 </dev/null &", kOpener, address).c_str());
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
    if (!no_browser) open_browser(address);
    while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
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
