// playground_flight SEED RANDOM GREEDY: the playground's default bee, natively. Prints position,
// nectar, move and value of every step with 17 digits, for the test that flies the same in a page.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "bee_session.h"

using waggle::playground::BeeSession;
using waggle::playground::Flight;

namespace {

void print(const BeeSession& session) {
  for (Eigen::Index k = 0; k < session.rows().cols(); ++k) {
    const auto row = session.rows().col(k);
    fmt::print("{:.17g} {:.17g} {:.17g} {:.17g}\n", row[BeeSession::position],
               row[BeeSession::nectar], row[BeeSession::move], row[BeeSession::value]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: playground_flight SEED RANDOM_STEPS GREEDY_STEPS\n");
    return 2;
  }
  try {
    BeeSession session({}, {}, std::strtoull(argv[1], nullptr, 10));
    session.fly(Flight::random, std::atoi(argv[2]));
    print(session);
    session.learn();
    session.fly(Flight::greedy, std::atoi(argv[3]));
    print(session);
  } catch (const std::exception& error) {
    fmt::print(stderr, "playground_flight: {}\n", error.what());
    return 2;
  }
  return 0;
}
