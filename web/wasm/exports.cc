// What the page's worker calls: plain functions on one bee, one market, one pole and one log. Each
// that can fail returns whether it worked; last_error() then says why it did not. Pointers stay
// valid until the next call that changes what they point to.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <emscripten/emscripten.h>

#include <waggle/base/error.h>
#include <waggle/version.h>

#include "bee_session.h"
#include "log_session.h"
#include "market_session.h"
#include "swing_session.h"

using namespace waggle;
using namespace waggle::playground;

namespace {

std::unique_ptr<BeeSession> bee;
std::unique_ptr<MarketSession> market;
std::unique_ptr<SwingSession> swing;
std::unique_ptr<LogSession> visitors_log;
std::string handed_over;  // by log_take()
Eigen::VectorXd bee_memory_now;
std::string error;

int attempt(const std::function<void()>& work) {
  try {
    work();
    return 1;
  } catch (const std::exception& failure) {
    error = failure.what();
  } catch (...) {
    error = "something failed that has no name";
  }
  return 0;
}

BeeSession& the_bee() {
  if (!bee) throw Error("no bee: open a session first");
  return *bee;
}

MarketSession& the_market() {
  if (!market) throw Error("no market: open a session first");
  return *market;
}

SwingSession& the_swing() {
  if (!swing) throw Error("no pole: open a session first");
  return *swing;
}

LogSession& the_log() {
  if (!visitors_log) throw Error("no log: open one first");
  return *visitors_log;
}

/// One digit for each column.
std::vector<Role> roles_of(std::string_view digits) {
  std::vector<Role> roles;
  for (const char digit : digits) {
    if (digit < '0' || digit > '0' + static_cast<int>(Role::unused)) {
      throw Error("no such role of a column");
    }
    roles.push_back(static_cast<Role>(digit - '0'));
  }
  return roles;
}

SwingWorld swing_world(int cart_pole, double noise, int delay, double gravity, double mass) {
  return {.system = cart_pole != 0 ? SwingSystem::cart_pole : SwingSystem::pendulum,
          .sensor = {.noise = noise, .delay = delay},
          .gravity = gravity,
          .mass = mass};
}

}  // namespace

/// Whoever waits for swing_learn() may look at rows and marks now. The worker sets what is called.
EM_JS(void, tell_of_practice, (), { Module['practised'](); });
/// The same for log_learn(): how far it is.
EM_JS(void, tell_of_learning, (const char* what, double done, double total),
      { Module['learning'](UTF8ToString(what), done, total); });

#define PAGE extern "C" EMSCRIPTEN_KEEPALIVE

PAGE const char* last_error() { return error.c_str(); }
PAGE const char* version() { return WAGGLE_VERSION; }

PAGE int bee_open(double omega, double max_move, double discount, int units, double ridge,
                  double memory, int experience, unsigned seed) {
  return attempt([&] {
    bee = std::make_unique<BeeSession>(
        BeeWorldOptions{.angular_frequency = omega, .max_move = max_move},
        BeeLearner{discount, units, ridge, memory, experience}, seed);
  });
}
PAGE int bee_set_learner(double discount, int units, double ridge, double memory, int experience) {
  return attempt([&] { the_bee().set_learner({discount, units, ridge, memory, experience}); });
}
PAGE int bee_fly(int flight, int steps) {
  return attempt([&] { the_bee().fly(static_cast<Flight>(flight), steps); });
}
PAGE int bee_learn() {
  return attempt([&] { the_bee().learn(); });
}
PAGE const double* bee_rows() { return bee ? bee->rows().data() : nullptr; }
PAGE const double* bee_field() { return bee ? bee->field().data() : nullptr; }
PAGE int bee_columns() { return BeeSession::column_count; }
PAGE int bee_cells() { return BeeSession::kCells; }
/// Brings the memory up to date and returns how many units it has.
PAGE int bee_memory_size() {
  if (bee) bee->copy_memory(bee_memory_now);
  return static_cast<int>(bee_memory_now.size());
}
PAGE const double* bee_memory() { return bee_memory_now.data(); }
PAGE double bee_optimum() { return bee ? bee->optimum() : 0.0; }
PAGE double bee_residual() { return bee && bee->has_learnt() ? bee->residual() : 0.0; }
PAGE int bee_experience() { return bee ? static_cast<int>(bee->experience_steps()) : 0; }

PAGE int market_open(int departure, unsigned seed) {
  return attempt([&] {
    market = std::make_unique<MarketSession>(
        departure != 0 ? RewardTiming::departure : RewardTiming::arrival, seed);
  });
}
PAGE int market_run(int steps) {
  return attempt([&] { the_market().run(steps); });
}
PAGE int market_learn() {
  return attempt([&] { the_market().learn(); });
}
PAGE const double* market_rows() { return market ? market->rows().data() : nullptr; }
PAGE int market_columns() {
  return int{MarketSession::kQuantities} * int{MarketSession::who_count};
}
PAGE double market_gain() { return market ? market->optimum().control.gain : 0.0; }
PAGE double market_cost() { return market ? market->optimum().control.average_cost : 0.0; }
PAGE double market_other_gain() { return market ? market->other_optimum().control.gain : 0.0; }

PAGE int swing_open(int cart_pole, double noise, int delay, double gravity, double mass, int units,
                    int steps, unsigned seed) {
  return attempt([&] {
    swing = std::make_unique<SwingSession>(swing_world(cart_pole, noise, delay, gravity, mass),
                                           SwingLearner{units, steps}, seed);
  });
}
PAGE int swing_learn() {
  return attempt([&] {
    the_swing().learn([](const Progress&) {
      tell_of_practice();
      return true;
    });
  });
}
PAGE int swing_run(int steps) {
  return attempt([&] { the_swing().run(steps); });
}
PAGE int swing_set_world(int cart_pole, double noise, int delay, double gravity, double mass) {
  return attempt(
      [&] { the_swing().set_world(swing_world(cart_pole, noise, delay, gravity, mass)); });
}
PAGE int swing_hold(double position, double angle) {
  return attempt([&] { the_swing().hold(position, angle); });
}
PAGE int swing_let_go() {
  return attempt([&] { the_swing().let_go(); });
}
PAGE int swing_push(double change) {
  return attempt([&] { the_swing().push(change); });
}
PAGE const double* swing_rows() { return swing ? swing->rows().data() : nullptr; }
PAGE int swing_row_count() { return swing ? static_cast<int>(swing->rows().cols()) : 0; }
PAGE int swing_columns() { return SwingSession::column_count; }
PAGE const double* swing_marks() { return swing ? swing->marks().data() : nullptr; }
PAGE int swing_mark_count() { return swing ? static_cast<int>(swing->marks().cols()) : 0; }
PAGE int swing_steps() { return swing ? static_cast<int>(swing->steps_practised()) : 0; }
PAGE double swing_score() { return swing && swing->has_learnt() ? swing->score() : 0.0; }
PAGE double swing_time_step() { return swing ? swing->seconds_a_step() : 0.0; }

PAGE int log_sample(const char* file) {
  return attempt([&] { write_sample_log(file); });
}
PAGE int log_open(const char* file) {
  return attempt([&] {
    visitors_log.reset();
    visitors_log = std::make_unique<LogSession>(file);
  });
}
PAGE int log_learn(const char* roles, double discount, unsigned seed) {
  return attempt([&] {
    the_log().learn(roles_of(roles), discount, seed, [](const Progress& progress) {
      tell_of_learning(std::string(progress.what).c_str(), progress.done, progress.total);
      return true;
    });
  });
}
/// Makes ready what log_bytes() and log_size() then hand over: the columns (0), the result (1), the
/// model's file (2), its policy as C, the header (3) and the source (4).
PAGE int log_take(int what) {
  return attempt([&] {
    const LogSession& session = the_log();
    handed_over = what == 0   ? session.columns_json()
                  : what == 1 ? session.result_json()
                  : what == 2 ? session.model()
                  : what == 3 ? session.exported().header
                              : session.exported().source;
  });
}
PAGE const char* log_bytes() { return handed_over.data(); }
PAGE int log_size() { return static_cast<int>(handed_over.size()); }
PAGE int log_most_rows() { return static_cast<int>(LogSession::kMostRows); }
