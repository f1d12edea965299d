#pragma once

#include <memory>
#include <string_view>
#include <thread>

namespace httplib {
class Server;
}

namespace waggle::app {

/// Hands one page to the browsers of this machine, at http://127.0.0.1:port/, while it lives. A
/// request that names another host than this machine is refused, so that no page of the web reaches
/// this one by pointing its own name here.
class PageServer {
 public:
  /// Port 0 takes a free one. `page` must outlive the server. Throws Error if the port is taken or
  /// not allowed.
  PageServer(std::string_view page, int port);
  /// Requests that are half done are ended, which takes a second at most.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const { return port_; }

 private:
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace waggle::app
