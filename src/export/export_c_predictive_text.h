#pragma once

/// The C of predictive states: a memory of everything known before an action is chosen, what it
/// says of the future, and what actions are worth there. The network of the memory takes the step
/// in export_c_network_text.h. @ stands for the controller's name.
namespace waggle::export_text {

constexpr const char* kDot = R"(
static @_real @_dot(const @_real *a, const @_real *b, int size) {
  @_real sum = 0;
  for (int i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}
)";

/// x is (the network, frames, what was seen before them, what was seen first, age), as in
/// history.h; the delay lines move before the network does, since the last input is still in it.
constexpr const char* kAdvance = R"(
/* where in an input the i-th of what was seen is: not among the action's */
static int @_seen(int i) { return i < REWARDS ? i : i + CHANNELS; }

/* the memory after base has entered it, and the action before that */
static void @_advance(@_state *s) {
  @_real *x = s->x;
)";
constexpr const char* kAdvanceContinuous = R"(  for (int j = 0; j < ACTIONS; ++j) {
    @_add(s->base, @_input[FIRST_ACTION + j], s->done[j], UNITS);
  }
)";
constexpr const char* kAdvanceDiscrete =
    "  if (s->done >= 0) @_add(s->base, @_input[FIRST_ACTION + s->done], 1, UNITS);\n";
constexpr const char* kAdvanceSeen =
    R"(  for (int i = FIRST_AT - 1; i >= SEEN_AT + SEEN; --i) x[i] = x[i - SEEN];
  for (int i = 0; i < SEEN; ++i) x[SEEN_AT + i] = x[OLDEST_INPUT_AT + @_seen(i)];
)";
constexpr const char* kAdvanceFrames =
    R"(  for (int i = SEEN_AT - 1; i >= UNITS + INPUTS; --i) x[i] = x[i - INPUTS];
  for (int i = 0; i < INPUTS; ++i) x[UNITS + i] = x[NONLINEAR + i];
)";
constexpr const char* kAdvanceEnd =
    R"(  for (int i = 0; i < UNITS; ++i) x[i] = @_next(s, i, s->base[i]);
  for (int i = 0; i < SEEN && x[AGE_AT] == 0; ++i) x[FIRST_AT + i] = x[NONLINEAR + @_seen(i)];
  x[AGE_AT] += AGING * (1 - x[AGE_AT]);
}
)";

constexpr const char* kHeadType = R"(
/* What one fit has found. Matrices go by columns; features max(offset + direction s, 0) by rows of
   an offset and a direction. */
typedef struct {
  int first_size, layer_size, size, after_size, dynamics_size, value_size, squared;
  const @_real *first;    /* of the memory: a first prediction of the future */
  const @_real *layer;    /* features of that */
  const @_real *second;   /* of memory and layer: the prediction; 0: the first is it */
  const @_real *dynamics; /* features of the prediction */
  const @_real *base;     /* of those: the next prediction and perhaps the reward, ... */
  const @_real *drift;    /* ... affine in this one, for each channel of the action */
  const @_real *value;    /* features of the next prediction */
  const @_real *weights;  /* of it and them */
  const @_real *squares;  /* of the products of its first numbers */
} @_head;

)";

constexpr const char* kPredict = R"(
/* y += a column for each feature of s, times it */
static void @_add_features(@_real *y, const @_real *column, int size, const @_real *row, int rows,
                           const @_real *s, int inputs) {
  for (int i = 0; i < rows; ++i, column += size, row += 1 + inputs) {
    const @_real v = row[0] + @_dot(row + 1, s, inputs);
    if (!(v <= 0)) @_add(y, column, v, size); /* so that what is no number is not lost */
  }
}

/* y = what the memory x is taken to by a matrix */
static void @_read(@_real *y, const @_real *column, int size, const @_real *x) {
  for (int i = 0; i < size; ++i) y[i] = 0;
  for (int j = 0; j < MEMORY; ++j, column += size) {
    if (x[j] != 0) @_add(y, column, x[j], size);
  }
}

/* what the memory says of the future */
static void @_predict(const @_head *h, const @_real *x, @_real *prediction) {
  @_real first[LARGEST];
  @_read(first, h->first, h->first_size, x);
  if (!h->second) {
    for (int i = 0; i < h->size; ++i) prediction[i] = first[i];
    return;
  }
  @_read(prediction, h->second, h->size, x);
  @_add_features(prediction, h->second + MEMORY * h->size, h->size, h->layer, h->layer_size, first,
                 h->first_size);
}

/* takes in what was seen, and finds what is expected of every action */
static void @_foresee(@_state *s) {
  int at = 0;
  @_advance(s);
  for (int i = 0; i <= CHANNELS; ++i) s->line[i] = @_straight[i];
  for (const @_head *h = @_heads; h < @_heads + HEADS; at += h->after_size, ++h) {
    @_real prediction[LARGEST];
    const @_real *column = h->drift;
    @_predict(h, s->x, prediction);
    for (int i = 0; i <= CHANNELS; ++i) {
      @_real *after = s->after[i] + at;
      for (int k = 0; k < h->after_size; ++k) after[k] = column[k];
      column += h->after_size;
      for (int j = 0; j < h->size; ++j, column += h->after_size) {
        @_add(after, column, prediction[j], h->after_size);
      }
      if (i == 0) {
        @_add_features(after, h->base, h->after_size, h->dynamics, h->dynamics_size, prediction,
                       h->size);
      }
      s->line[i] += @_dot(h->weights, after, h->after_size);
    }
  }
)";
constexpr const char* kForeseeReward = R"(  for (int j = 0; j < MEMORY; ++j) {
    if (s->x[j] != 0) @_add(s->line + 1, @_rewards[j], s->x[j], CHANNELS);
  }
)";

constexpr const char* kForeseeForm = R"(  at = 0;
  for (int i = 0; i <= CHANNELS; ++i) {
    for (int j = 0; j <= CHANNELS; ++j) s->form[i][j] = 0;
  }
  for (const @_head *h = @_heads; h < @_heads + HEADS; at += h->after_size, ++h) {
    for (int k = 0; k < h->squared; ++k) {
      for (int i = 0; i <= CHANNELS; ++i) {
        const @_real v = @_dot(h->squares + k * h->squared, s->after[i] + at, h->squared);
        for (int j = 0; j <= CHANNELS; ++j) s->form[i][j] += v * s->after[j][at + k];
      }
    }
  }
  s->line[0] += s->form[0][0];
  for (int i = 1; i <= CHANNELS; ++i) s->line[i] += 2 * s->form[0][i];
)";

/// What the square of an action has beside a straight line, by the number j.
constexpr const char* kForm = R"(
/* the numbers of an action but one, in their products with the number j */
static @_real @_form(const @_state *s, int j, const @_real *action, int without) {
  @_real sum = 0;
  for (int i = 0; i < ACTIONS; ++i) {
    if (i != without) sum += s->form[1 + j][1 + i] * action[i];
  }
  return sum;
}
)";

constexpr const char* kFeatures = R"(
/* what features of where an action leads are worth */
static @_real @_features(const @_head *h, const @_real *after) {
  const @_real *row = h->value, *weights = h->weights + h->after_size;
  @_real value = 0;
  for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
    const @_real v = row[0] + @_dot(row + 1, after, h->after_size);
    if (!(v <= 0)) value += weights[i] * v;
  }
  return value;
}
)";

constexpr const char* kBent = R"(
/* what the reward has of a number of the action beside a straight line */
static @_real @_bent(int number, @_real action) {
  @_real value = 0;
  for (int i = 0; i < KNOTS; ++i) {
    const @_real v = action - @_knots[number][i];
    if (v > 0) value += @_bends[number][i] * v;
  }
  return value;
}
)";

/// BENT is what the reward adds to an action's number j, if it bends, and FORM what its products
/// with the others add.
constexpr const char* kTryPredictive = R"(
/* where an action leads, its numbers but one; all, if that is -1 */
static void @_lead(const @_state *s, const @_head *h, int at, const @_real *action, int without,
                   @_real *after) {
  for (int i = 0; i < h->after_size; ++i) after[i] = s->after[0][at + i];
  for (int j = 0; j < ACTIONS; ++j) {
    if (j != without) @_add(after, s->after[1 + j] + at, action[j], h->after_size);
  }
}

/* the value of an action, but for its features */
static @_real @_plain(const @_state *s, const @_real *action, int without) {
  @_real value = s->line[0];
  for (int j = 0; j < ACTIONS; ++j) {
    if (j != without) value += s->line[1 + j] * action[j]BENTFORM;
  }
  return value;
}

/* the value of an action */
static @_real @_try(const @_state *s, const @_real *action) {
  @_real value = @_plain(s, action, -1);
  int at = 0;
  for (const @_head *h = @_heads; h < @_heads + HEADS; at += h->after_size, ++h) {
    @_real after[LARGEST];
    @_lead(s, h, at, action, -1, after);
    value += @_features(h, after);
  }
  return value;
}
)";
constexpr const char* kTryPredictiveChoice = R"(
/* the value of a choice */
static @_real @_try(const @_state *s, int choice) {
  @_real value = s->line[0] + s->line[1 + choice]FORM;
  int at = 0;
  for (const @_head *h = @_heads; h < @_heads + HEADS; at += h->after_size, ++h) {
    @_real after[LARGEST];
    for (int i = 0; i < h->after_size; ++i) {
      after[i] = s->after[0][at + i] + s->after[1 + choice][at + i];
    }
    value += @_features(h, after);
  }
  return value;
}
)";

constexpr const char* kRememberContinuous = R"(
/* remembers the last action, now that it is known what was done */
static void @_remember(@_state *s, const @_real *action) {
  for (int i = 0; i < ACTIONS; ++i) s->done[i] = action[i];
}

static void @_forget(@_state *s) {
  for (int i = 0; i < MEMORY; ++i) s->x[i] = 0;
  for (int i = 0; i < ACTIONS; ++i) s->done[i] = 0;
}
)";
constexpr const char* kRememberDiscrete = R"(
/* remembers the last choice, now that it is known what was done */
static void @_remember(@_state *s, int choice) { s->done = choice; }

static void @_forget(@_state *s) {
  for (int i = 0; i < MEMORY; ++i) s->x[i] = 0;
  s->done = -1;
}
)";

constexpr const char* kSearchPredictive = R"(
/* maximises the value along one number of the action, the others held: the best is written to
   action, its value returned; the leftmost of equal ones wins */
static @_real @_search(@_state *s, const @_real *held, int number, @_real *action) {
  const @_real lower = @_lower[number], slope = s->line[1 + number];
  @_line line = {lower, @_upper[number], @_plain(s, held, number) + slope * lower, slope, 0,
                 s->kinks, 0};
  int at = 0;
)";
constexpr const char* kSearchForm = R"(  line.curvature = 2 * s->form[1 + number][1 + number];
  line.slope += 2 * @_form(s, number, held, number);
  line.value += (line.slope - slope + line.curvature * lower / 2) * lower;
  line.slope += line.curvature * lower;
)";
constexpr const char* kSearchFeatures =
    R"(  for (const @_head *h = @_heads; h < @_heads + HEADS; at += h->after_size, ++h) {
    const @_real *row = h->value, *along = s->after[1 + number] + at;
    @_real after[LARGEST];
    @_lead(s, h, at, held, number, after);
    for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
      @_bend(&line, row[0] + @_dot(row + 1, after, h->after_size),
             @_dot(row + 1, along, h->after_size), h->weights[h->after_size + i]);
    }
  }
)";
constexpr const char* kSearchKnots =
    "  for (int i = 0; i < KNOTS; ++i) @_bend(&line, -@_knots[number][i], 1, "
    "@_bends[number][i]);\n";
constexpr const char* kSearchPredictiveEnd = "  return @_highest(&line, action);\n}\n";

}  // namespace waggle::export_text
