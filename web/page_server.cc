#include "page_server.h"

#include <chrono>
#include <string>

#include <fmt/format.h>
#include <httplib.h>

#include <waggle/base/error.h>

namespace waggle::app {

namespace {

using httplib::Request;
using httplib::Response;
using httplib::Server;

constexpr const char* kHere = "127.0.0.1";  // nobody else's machine can reach it

/// Is this what a browser calls a server on this machine?
bool is_own_host(const std::string& host, int port) {
  for (const char* name : {kHere, "localhost"}) {
    if (host == fmt::format("{}:{}", name, port) || (port == 80 && host == name)) return true;
  }
  return false;
}

}  // namespace

PageServer::PageServer(std::string_view page, int port) : server_(std::make_unique<Server>()) {
  // Unless told otherwise, httplib lets two servers share a port.
  server_->set_socket_options([](socket_t socket) {
    const int yes = 1;  // not to wait for what an earlier server left behind
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  port_ = port == 0                            ? server_->bind_to_any_port(kHere)
          : server_->bind_to_port(kHere, port) ? port
                                               : -1;
  if (port_ < 0) {
    throw Error(fmt::format(
        "port = {}: is in use or not allowed; take another, or 0 for any that is free", port));
  }
  server_->set_keep_alive_max_count(1);
  server_->set_keep_alive_timeout(1);
  server_->set_read_timeout(1);
  server_->set_write_timeout(1);
  server_->set_pre_routing_handler([this](const Request& request, Response& response) {
    const bool own = request.get_header_value_count("Host") == 1 &&
                     is_own_host(request.get_header_value("Host"), port_);
    if (own) return Server::HandlerResponse::Unhandled;
    response.status = 403;
    return Server::HandlerResponse::Handled;
  });
  server_->Get("/", [page](const Request& /*request*/, Response& response) {
    response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
  });
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

PageServer::~PageServer() {
  server_->stop();
  thread_.join();
}

}  // namespace waggle::app
