#include <math.h>

/* The tables of numbers below are for the code behind them, which is the same for every controller.
   Matrices go by columns; a table that a controller does not need is a single 0, and a NAME_AT says
   where something is in the memory of a state. */
typedef waggle_real real;
typedef waggle_state state;

/* What one fit of predictive states has found. Features max(offset + direction s, 0) go by rows of
   an offset and a direction. */
typedef struct {
  int first_size, layer_size, size, dynamics_size, value_size, squared;
  int after_at, after_size; /* what it expects, among that of all fits */
  const real *first;        /* of the memory: a first prediction of the future */
  const real *layer;        /* features of that */
  const real *second;       /* of memory and layer: the prediction; 0: the first is it */
  const real *dynamics;     /* features of the prediction */
  const real *base;         /* of those: the next prediction and perhaps the reward, ... */
  const real *drift;        /* ... affine in this one, for each channel of the action */
  const real *value;        /* features of the next prediction */
  const real *weights;      /* of it and them */
  const real *squares;      /* of the products of its first numbers */
} head;

enum { activation_relu, activation_tanh, activation_identity };
