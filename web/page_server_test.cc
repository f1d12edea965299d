#include "page_server.h"

#include <string>

#include <gtest/gtest.h>
#include <httplib.h>

#include "expect_error.h"

namespace waggle::app {
namespace {

class Serving : public testing::Test {
 protected:
  int status(const std::string& host) {
    const httplib::Result answer = client_.Get("/", {{"Host", host}});
    return answer ? answer->status : 0;
  }

  const std::string page_ = "<p>" + std::string(3 << 20, 'x') + "</p>";  // more than a buffer takes
  PageServer server_{page_, 0};
  httplib::Client client_{"127.0.0.1", server_.port()};
};

TEST_F(Serving, GivesThePageWhole) {
  const httplib::Result answer = client_.Get("/?a=b");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, page_);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(client_.Get("/other")->status, 404);
}

TEST_F(Serving, AnswersToItsOwnNamesAlone) {
  const std::string port = std::to_string(server_.port());
  EXPECT_EQ(status("localhost:" + port), 200);
  EXPECT_EQ(status("127.0.0.1:" + port), 200);
  for (const std::string& other :
       {std::string("example.org"), "example.org:" + port, std::string("127.0.0.1:1"),
        "localhost.example.org:" + port, "127.0.0.1:" + port + "0"}) {
    EXPECT_EQ(status(other), 403) << other;
  }
}

TEST(PageServer, RefusesAPortThatIsTaken) {
  const PageServer first("", 0);
  const std::string port = std::to_string(first.port());
  expect_error([&] { const PageServer second("", first.port()); }, "port = " + port, "in use");
}

}  // namespace
}  // namespace waggle::app
