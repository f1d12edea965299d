/* The runtime of exported controllers as C in its own right, around one unit whose numbers can be
   worked out by hand: x' = 0.5 x + 0.5 max(0.5 x + r + 2 o - a + 0.25, 0), worth 3 x'. */
#include <stdio.h>

#define waggle_NUMBERS 7
#define waggle_OBSERVATIONS 1
#define waggle_ACTIONS 1
#define waggle_GUARDED 0
#define waggle_NOVELTY 0
#define waggle_FALLBACK 0
typedef double waggle_real;
#include "controller.h"
#include "tables.h"

#define SINGLE 0
#define LARGEST_NUMBER 1e100
#define UNITS 1
#define NONLINEAR 1
#define MEMBER 1
#define OBSERVATIONS 1
#define FIRST_OBSERVATION 2
#define FIRST_ACTION 1
#define REWARDS 1
#define ACTIVATION activation_relu
#define LEAKY 1
#define DENSE 1
#define SPARSE 0
#define ACTIONS 1
#define CHOICES 0
#define EXACT 1
#define SAMPLED 0
#define CANDIDATES 0
#define COORDINATE_ROUNDS 3
#define SPREAD 0.0
#define SEED_LOW 1u
#define SEED_HIGH 0u
#define HALF_WIDTH 0.0
#define LIMITED 1
#define CHANGES 1
#define HOLD 2
#define BASE_AT 1
#define SHIFTED_AT 2
#define KINKS_AT 2
#define ACTUATOR_AT 4
#define LOWER_AT 5
#define UPPER_AT 6
static const real input[] = {1, -1, 2}, bias[] = {0.25}, leak[] = {0.5}, recurrent[] = {0.5};
static const real values[] = {0}, weights[] = {3}, scaled[] = {1.5};
static const uint16_t rows[] = {0}, counts[] = {0};
static const real lower[] = {-1}, upper[] = {1}, max_change[] = {0.5};

/* clang-format off */
#include "network.c"
#include "search.c"
#include "linear.c"
#include "sample.c"
#include "step.c"
/* clang-format on */

static int faults = 0;
static void expect(int ok, int number) {
  if (!ok) printf("expectation %d is not met\n", number);
  faults += !ok;
}
static int near(double a, double b) { return a - b < 1e-14 && b - a < 1e-14; }

/* The highest point of random sums of bends, beside the highest at their kinks and the ends. */
static void search_finds_the_top(void) {
  draws d = {7, {0, 0}, 0, 0, 0.0, 0};
  for (int turn = 0; turn < 200; ++turn) {
    enum { SIZE = 12 };
    kink kinks[SIZE];
    line l = {-1, 1, 0.5, 0.1, 0, kinks, 0};
    double b[SIZE], c[SIZE], w[SIZE], best = -1e9, found;
    for (int i = 0; i < SIZE; ++i) {
      b[i] = normal(&d);
      c[i] = turn % 3 == 0 && i == 0 ? 0 : normal(&d);
      w[i] = normal(&d);
      bend(&l, b[i], c[i], w[i]);
    }
    const double top = top_of(&l, &found);
    for (int k = 0; k < SIZE + 3; ++k) {
      const double at = k < SIZE       ? -b[k] / (c[k] + (c[k] == 0))
                        : k == SIZE    ? -1
                        : k > SIZE + 1 ? found
                                       : 1;
      double value = 0.5 + 0.1 * (at + 1);
      if (at < -1 || at > 1) continue;
      for (int i = 0; i < SIZE; ++i) value += b[i] + c[i] * at > 0 ? w[i] * (b[i] + c[i] * at) : 0;
      if (value > best) best = value;
      if (k == SIZE + 2) expect(value > top - 1e-12 && value < top + 1e-12, 1);
    }
    expect(best < top + 1e-12 && best > top - 1e-12, 2);
  }
}

static void a_step_is_what_the_equation_says(void) {
  waggle_state s;
  double o = 0.5, action, bad = 1e101;
  waggle_reset(&s);
  expect(waggle_step(&s, 1.0, &o, &action) == 1, 3);
  expect(action == -1 && near(waggle_value(&s), 3 * 0.5 * 3.25), 4);
  expect(waggle_step(&s, bad, &o, &action) == 0 && action == -1, 5);
  expect(waggle_step(&s, 1.0, &bad, &action) == 0 && near(s.value, 4.875), 6);
  action = 0.5;
  expect(waggle_applied(&s, &action) == 1 && near(waggle_value(&s), 3 * 0.5 * 1.75), 7);
  expect(waggle_applied(&s, &action) == 0, 8); /* it was told already */
  /* x = 0.875; the action is kept, as it was applied, at every second step, and then moves by no
     more than 0.5. */
  expect(waggle_step(&s, 0.0, &o, &action) == 1 && action == 0.5, 9);
  expect(near(waggle_value(&s), 3 * (0.4375 + 0.5 * (0.4375 + 1 - 0.5 + 0.25))), 10);
  expect(waggle_step(&s, 0.0, &o, &action) == 1 && action == 0, 11);
}

int main(void) {
  search_finds_the_top();
  a_step_is_what_the_equation_says();
  return faults != 0;
}
