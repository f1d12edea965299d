#pragma once

#include <chrono>
#include <list>
#include <string>
#include <string_view>

#include <waggle/error.h>

namespace waggle::app {

/// Hands one page to the browsers of this machine, at http://127.0.0.1:port/.
///
/// One thread and no waiting: connections that say nothing, send half a request or do not read are
/// in nobody's way, are given a few seconds, and are ended earlier if there are too many. A request
/// that names another host than this machine is refused, so that no page of the web reaches this
/// one by pointing its own name here.
class PageServer {
 public:
  /// Listens. Port 0 takes a free one. `page` must outlive the server. Throws Error if the port is
  /// taken or not allowed.
  PageServer(std::string_view page, int port);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const { return port_; }

  /// Answers whoever asks; returns after `duration` at most, or when a signal arrives.
  void serve(std::chrono::milliseconds duration);

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int socket = -1;
    Clock::time_point deadline;
    std::string request;    // until its headers are complete
    std::string head;       // of the answer; empty until there is one
    std::string_view body;  // of the answer
    std::size_t sent = 0;   // of both
    bool answered = false;  // all of it: only the other side's end is waited for
  };

  using Connections = std::list<Connection>;

  void accept_some();
  Connections::iterator end_of(Connections::iterator connection);
  bool advance(Connection& connection);
  bool read(Connection& connection);
  bool write(Connection& connection);
  void answer(Connection& connection) const;

  std::string_view page_;
  int port_ = 0;
  int listener_ = -1;
  Connections connections_;  // the oldest first
};

}  // namespace waggle::app
