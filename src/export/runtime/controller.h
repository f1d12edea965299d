#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if waggle_GUARDED
/* What can be wrong with an input: it is outside what was learnt from, no number, or the same for
   longer than it ever was. */
enum { waggle_BEYOND = 1, waggle_MISSING = 2, waggle_STUCK = 4 };
#endif

typedef struct {
  waggle_real memory[waggle_NUMBERS]; /* what is remembered, and work space */
  waggle_real action[waggle_ACTIONS]; /* the last one; a choice is told by its index */
  waggle_real value;                  /* of it */
  uint64_t steps;                     /* decisions since the reset */
  int pending;                        /* whether the last step has yet to be remembered */
  int begun;                          /* whether an action was taken since the beginning */
  int age;                            /* steps since an action was chosen; 0: it is time */
#if waggle_GUARDED
  uint32_t beyond[waggle_GUARDED], missing[waggle_GUARDED]; /* steps in which an input was so */
  uint32_t stuck[waggle_GUARDED];                           /* how often one began to be */
  uint32_t run[waggle_GUARDED];        /* how many of its last values were the same */
  uint32_t faults[waggle_GUARDED];     /* what was wrong with it in the last step */
  uint32_t take_overs, fallback_steps; /* how often the fallback began, and has acted */
  uint32_t calm;                       /* steps below the limit, one after the other */
  int falling_back;                    /* whether the last action was the fallback's */
#endif
} waggle_state;

/* Begin: nothing was seen, nothing is counted. Call it first, and where an episode begins. */
void waggle_reset(waggle_state *state);

/* See the reward and the observation, and write the action to take: its numbers, or the index of a
   choice. Returns 1. Returns 0 and writes the last action again where a number that is read is not
   finite or beyond 1e100, with nothing done, and where the state overflows, which is forgotten. An
   observation of size 0 may be a null pointer.

   A guard reads instead what is nearest within the limits above, and in place of NaN what it read
   before. It is not for compilers that are told that there is no NaN (-ffast-math). */
int waggle_step(waggle_state *state, waggle_real reward, const waggle_real *observation,
                waggle_real *action);

/* Tell what was done instead of the last action, where an operator or an actuator decided
   otherwise, before the next step; what is not told was done as returned. Returns 1, or 0 and does
   nothing if it was told already, no step was taken since the reset, or the action is not finite,
   overflows or is no choice. */
int waggle_applied(waggle_state *state, const waggle_real *action);

/* The estimated value of the action last taken. */
waggle_real waggle_value(const waggle_state *state);

#if waggle_GUARDED
/* Begin another episode. Counts go on, and whoever acts does. */
void waggle_begin_episode(waggle_state *state);

/* Whether an input of the last step was not read as it came. The counts are in the state; they stop
   at 4294967295. */
int waggle_held(const waggle_state *state);
#endif

#if waggle_NOVELTY
/* How unlike what was learnt from it is where the controller's last decision leads; 99 % of that
   was below 1. */
waggle_real waggle_novelty(const waggle_state *state);
#endif

#if waggle_FALLBACK
/* Whether the last action was the fallback's. */
int waggle_fell_back(const waggle_state *state);
#endif

#ifdef __cplusplus
}
#endif
