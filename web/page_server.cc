#include "page_server.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waggle::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kToAsk = 2s;    // from the connection to the end of the headers
constexpr auto kToRead = 10s;  // without taking a byte of the answer
constexpr auto kToEnd = 1s;
constexpr std::size_t kMostConnections = 200;  // programs may have 256 files open on some systems
constexpr std::size_t kMostAtOnce = 50;        // so that all are read from before they are too many
constexpr std::size_t kMostRequest = 16 << 10;

struct Request {
  std::string method, path;
  std::vector<std::string> hosts;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// What matters of a request with complete headers.
Request parse(std::string_view text) {
  Request request;
  const std::string_view line = text.substr(0, text.find("\r\n"));
  const std::size_t space = std::min(line.find(' '), line.size());
  request.method = line.substr(0, space);
  const std::string_view rest = line.substr(std::min(space + 1, line.size()));
  request.path = rest.substr(0, rest.find_first_of(" ?"));
  for (std::size_t at = line.size() + 2; at < text.size();) {
    const std::size_t end = std::min(text.find("\r\n", at), text.size());
    const std::string_view field = text.substr(at, end - at);
    if (field.empty()) break;
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos && lower(std::string(field.substr(0, colon))) == "host") {
      request.hosts.push_back(lower(trimmed(field.substr(colon + 1))));
    }
    at = end + 2;
  }
  return request;
}

/// Is this what a browser calls a server on this machine?
bool is_own_host(const std::string& host, int port) {
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == fmt::format("{}:{}", name, port) || (port == 80 && host == name)) return true;
  }
  return false;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

PageServer::PageServer(std::string_view page, int port) : page_(page) {
  std::signal(SIGPIPE, SIG_IGN);  // a browser that goes away is no reason to end
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  if (listener_ < 0) throw std::system_error(errno, std::generic_category(), "cannot listen");
  fcntl(listener_, F_SETFD, FD_CLOEXEC);
  fcntl(listener_, F_SETFL, O_NONBLOCK);
  const int yes = 1;  // not to wait for what an earlier server left behind
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // nobody else's machine can reach it
  socklen_t size = sizeof address;
  auto* general = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, general, size) != 0 || listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, general, &size) != 0) {
    close(listener_);
    throw Error(fmt::format(
        "port = {}: is in use or not allowed; take another, or 0 for any that is free", port));
  }
  port_ = ntohs(address.sin_port);
}

PageServer::~PageServer() {
  for (const Connection& connection : connections_) close(connection.socket);
  close(listener_);
}

void PageServer::serve(std::chrono::milliseconds duration) {
  const auto end = Clock::now() + duration;
  do {
    std::vector<pollfd> waiting = {{listener_, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      const bool writes = !connection.head.empty() && !connection.answered;
      waiting.push_back({connection.socket, static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const int wait = static_cast<int>(std::max(left, 0ms).count());
    if (poll(waiting.data(), static_cast<nfds_t>(waiting.size()), wait) < 0) return;
    const auto now = Clock::now();
    auto entry = waiting.begin();
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      const bool ready = (++entry)->revents != 0;
      const bool goes_on = ready ? advance(*connection) : now < connection->deadline;
      connection = goes_on ? std::next(connection) : end_of(connection);
    }
    if (waiting.front().revents != 0) accept_some();
  } while (Clock::now() < end);
}

PageServer::Connections::iterator PageServer::end_of(Connections::iterator connection) {
  close(connection->socket);
  return connections_.erase(connection);
}

void PageServer::accept_some() {
  for (std::size_t k = 0; k < kMostAtOnce; ++k) {
    const int socket = accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    fcntl(socket, F_SETFL, O_NONBLOCK);
    if (connections_.size() >= kMostConnections) {
      // Somebody has to go: who has waited longest without asking, else the oldest.
      auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                 [](const Connection& one) { return one.head.empty(); });
      if (oldest == connections_.end()) oldest = connections_.begin();
      end_of(oldest);
    }
    connections_.push_back({.socket = socket,
                            .deadline = Clock::now() + kToAsk,
                            .request = {},
                            .head = {},
                            .body = {}});
  }
}

/// Does what can be done without waiting. False if the connection is over.
bool PageServer::advance(Connection& connection) {
  if (connection.head.empty() || connection.answered) return read(connection);
  return write(connection);
}

bool PageServer::read(Connection& connection) {
  std::array<char, 4096> part;
  const ssize_t count = recv(connection.socket, part.data(), part.size(), 0);
  if (count <= 0) return count < 0 && would_block() && Clock::now() < connection.deadline;
  if (connection.answered) return Clock::now() < connection.deadline;
  connection.request.append(part.data(), static_cast<std::size_t>(count));
  const bool complete = connection.request.find("\r\n\r\n") != std::string::npos;
  if (!complete && connection.request.size() <= kMostRequest) {
    return Clock::now() < connection.deadline;
  }
  answer(connection);
  connection.deadline = Clock::now() + kToRead;
  return write(connection);
}

void PageServer::answer(Connection& connection) const {
  const Request request = parse(connection.request);
  const bool get = request.method == "GET" || request.method == "HEAD";
  std::string status = "200 OK";
  std::string_view type = "text/html";
  connection.body = page_;
  const auto refuse = [&](const char* with, std::string_view text) {
    status = with;
    type = "text/plain";
    connection.body = text;
  };
  if (connection.request.size() > kMostRequest) {
    refuse("431 Request Header Fields Too Large", "That is more than a browser asks.\n");
  } else if (request.hosts.size() != 1) {
    refuse("400 Bad Request", "A request must name one host.\n");
  } else if (!is_own_host(request.hosts[0], port_)) {
    refuse("421 Misdirected Request", "This page is served as 127.0.0.1 and localhost alone.\n");
  } else if (!get) {
    refuse("405 Method Not Allowed\r\nAllow: GET, HEAD", "This page can only be read.\n");
  } else if (request.path != "/") {
    refuse("404 Not Found", "There is one page here, at /.\n");
  }
  connection.head = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
      status, type, connection.body.size());
  if (request.method == "HEAD") connection.body = {};
}

bool PageServer::write(Connection& connection) {
  const std::string& head = connection.head;
  const std::size_t total = head.size() + connection.body.size();
  while (connection.sent < total) {
    const std::string_view rest = connection.sent < head.size()
                                      ? std::string_view(head).substr(connection.sent)
                                      : connection.body.substr(connection.sent - head.size());
    const ssize_t count = send(connection.socket, rest.data(), rest.size(), 0);
    if (count < 0) return would_block() && Clock::now() < connection.deadline;
    connection.sent += static_cast<std::size_t>(count);
    connection.deadline = Clock::now() + kToRead;
  }
  // Closed at once, with something of the other side's unread, the answer's end might be lost.
  shutdown(connection.socket, SHUT_WR);
  connection.answered = true;
  connection.deadline = Clock::now() + kToEnd;
  return true;
}

}  // namespace waggle::app
