/* Shows an exported controller what it reads, and writes what it does. A row in: the reward, the
   observation, whether something else was applied (1) or an episode begins (2), and what was. */
#include <stdio.h>

#include "controller.h"

enum { SEEN = 1 + controller_OBSERVATIONS, ROW = SEEN + 1 + controller_ACTIONS };

#if controller_GUARDED
/* Novelty, who acted and how often, and what was wrong with every input. */
static int print_guard(const controller_state* s) {
  int held = 0;
#if controller_NOVELTY
  printf(" %.17g", (double)controller_novelty(s));
#else
  printf(" 0");
#endif
#if controller_FALLBACK
  if (controller_fell_back(s) != s->falling_back) return 0;
#endif
  printf(" %d %u %u", s->falling_back, (unsigned)s->take_overs, (unsigned)s->fallback_steps);
  for (int i = 0; i < controller_GUARDED; ++i) {
    held = held || (s->faults[i] & (controller_BEYOND | controller_MISSING));
    printf(" %u %u %u %u", (unsigned)s->faults[i], (unsigned)s->beyond[i], (unsigned)s->missing[i],
           (unsigned)s->stuck[i]);
  }
  return held == controller_held(s);
}
#endif

int main(void) {
  controller_state s;
  controller_real v[ROW], action[controller_ACTIONS];
  const controller_real* told = v + SEEN;
  double in;
  int n = 0;
  printf("%d\n", (int)sizeof s);
  controller_reset(&s);
  while (scanf("%lf", &in) == 1) {
    v[n++] = (controller_real)in;
    if (n < ROW) continue;
    n = 0;
#if controller_GUARDED
    if (told[0] == 2) controller_begin_episode(&s);
#else
    if (told[0] == 2) controller_reset(&s);
#endif
    if (told[0] == 1 && !controller_applied(&s, told + 1)) return 1;
    if (!controller_step(&s, v[0], v + 1, action)) return 2;
    for (int i = 0; i < controller_ACTIONS; ++i) printf("%.17g ", (double)action[i]);
    printf("%.17g", (double)controller_value(&s));
#if controller_GUARDED
    if (!print_guard(&s)) return 3;
#endif
    printf("\n");
  }
  return 0;
}
