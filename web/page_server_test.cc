#include "page_server.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expect_error.h"

namespace waggle::app {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A connection to 127.0.0.1 as a browser, or somebody else, may use it.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  /// All that comes until the other side ends, or for so long.
  std::string receive(std::chrono::milliseconds patience = 10s) const {
    std::string text;
    char part[4096];
    for (const auto end = Clock::now() + patience; Clock::now() < end;) {
      pollfd waiting = {socket_, POLLIN, 0};
      if (poll(&waiting, 1, 10) == 0) continue;
      const ssize_t count = recv(socket_, part, sizeof part, 0);
      if (count <= 0) return text;
      text.append(part, static_cast<std::size_t>(count));
    }
    ADD_FAILURE() << "no end after " << text.size() << " bytes";
    return text;
  }

 private:
  int socket_;
};

class Serving : public testing::Test {
 protected:
  ~Serving() override {
    over_ = true;
    thread_.join();
  }

  std::string ask(const std::string& host, const std::string& line = "GET / HTTP/1.1") const {
    const Client client(server_.port());
    client.send(line + "\r\nHost: " + host + "\r\n\r\n");
    return client.receive();
  }
  std::string here() const { return "127.0.0.1:" + std::to_string(server_.port()); }

  const std::string page_ = "<p>" + std::string(3 << 20, 'x') + "</p>";  // more than a buffer takes
  PageServer server_{page_, 0};

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_{[this] {
    while (!over_) server_.serve(20ms);
  }};
};

std::string status(const std::string& answer) { return answer.substr(9, 3); }

TEST_F(Serving, GivesThePageWhole) {
  const std::string answer = ask(here());
  EXPECT_EQ(status(answer), "200");
  const std::size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_EQ(answer.size() - body, page_.size());
  EXPECT_TRUE(answer.ends_with(page_));
  EXPECT_NE(answer.find("Content-Type: text/html; charset=utf-8\r\n"), std::string::npos);
  EXPECT_TRUE(ask(here(), "HEAD / HTTP/1.1").ends_with("\r\n\r\n"));
  EXPECT_EQ(status(ask(here(), "GET /?a=b HTTP/1.1")), "200");
  EXPECT_EQ(status(ask(here(), "GET /other HTTP/1.1")), "404");
  EXPECT_EQ(status(ask(here(), "POST / HTTP/1.1")), "405");
}

TEST_F(Serving, AnswersToItsOwnNamesAlone) {
  const std::string port = std::to_string(server_.port());
  for (const char* own : {"localhost:", "LocalHost:", "[::1]:", "127.0.0.1:"}) {
    EXPECT_EQ(status(ask(own + port)), "200") << own;
  }
  for (const std::string& other :
       {std::string("example.org"), "example.org:" + port, std::string("localhost"),
        std::string("127.0.0.1:1"), "localhost.example.org:" + port, "127.0.0.1:" + port + "0"}) {
    const std::string answer = ask(other);
    EXPECT_EQ(status(answer), "421") << other;
    EXPECT_EQ(answer.find("xxx"), std::string::npos) << other;
  }
  EXPECT_EQ(status(ask(here() + "\r\nHost: example.org")), "400");
  EXPECT_EQ(status(ask("", "GET / HTTP/1.1\r\nHost: " + here())), "400");
  const Client none(server_.port());
  none.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status(none.receive()), "400");
}

TEST_F(Serving, IsNotKeptFromItByOthers) {
  std::vector<std::unique_ptr<Client>> others;
  for (int k = 0; k < 500; ++k) {
    others.push_back(std::make_unique<Client>(server_.port()));
    if (k % 2 == 0) others.back()->send("GET / HT");
    if (k % 50 == 0) others.back()->send("TP/1.1\r\nHost: " + here() + "\r\n\r\n");  // never reads
  }
  const auto begin = Clock::now();
  EXPECT_EQ(status(ask(here())), "200");
  EXPECT_LT(Clock::now() - begin, 3s);
  EXPECT_EQ(others[1]->receive(500ms), "");  // had to make room, long before its time was over
}

TEST_F(Serving, EndsRequestsThatDoNotEnd) {
  const Client endless(server_.port());
  endless.send("GET / HTTP/1.1\r\nX: " + std::string(20 << 10, 'x'));
  EXPECT_EQ(status(endless.receive()), "431");
  const Client slow(server_.port());
  slow.send("GET /");
  EXPECT_EQ(slow.receive(5s), "");
}

TEST(PageServer, RefusesAPortThatIsTaken) {
  const PageServer first("", 0);
  const std::string port = std::to_string(first.port());
  expect_error([&] { const PageServer second("", first.port()); }, "port = " + port, "in use");
}

TEST(PageServer, EndsAtOnceWhateverIsHalfDone) {
  const auto begin = Clock::now();
  {
    PageServer server("", 0);
    const Client silent(server.port()), half(server.port());
    half.send("GET / HTTP/1.1\r\n");
    server.serve(50ms);
  }
  EXPECT_LT(Clock::now() - begin, 1s);
}

}  // namespace
}  // namespace waggle::app
