/* ---- Random candidates, and the search from the best of them along one number after the other.
   ---- */

/* waggle's random numbers: Philox 4x32-10, keyed by the seed, counting draws and steps */
typedef struct {
  uint64_t step, words[2];
  uint32_t block;
  int left;
  double spare;
  int has_spare;
} draws;

static double uniform(draws *d) {
  if (d->left == 0) {
    uint32_t v[4] = {d->block++, (uint32_t)d->step, (uint32_t)(d->step >> 32), 3u};
    uint32_t key[2] = {SEED_LOW, SEED_HIGH};
    for (int turn = 0; turn < 10; ++turn) {
      const uint64_t p = (uint64_t)0xD2511F53u * v[0], q = (uint64_t)0xCD9E8D57u * v[2];
      v[0] = (uint32_t)(q >> 32) ^ v[1] ^ key[0];
      v[1] = (uint32_t)q;
      v[2] = (uint32_t)(p >> 32) ^ v[3] ^ key[1];
      v[3] = (uint32_t)p;
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    d->words[1] = v[0] | (uint64_t)v[1] << 32;
    d->words[0] = v[2] | (uint64_t)v[3] << 32;
    d->left = 2;
  }
  const double cell = 1.0 / 9007199254740992.0;
  const double u = ((double)(d->words[--d->left] >> 11) + 0.5) * cell;
  return u < 1.0 - cell ? u : 1.0 - cell;
}

static double normal(draws *d) {
  d->has_spare = !d->has_spare;
  if (!d->has_spare) return d->spare;
  const double radius = sqrt(-2.0 * log(uniform(d)));
  const double angle = 2.0 * 3.14159265358979323846 * uniform(d);
  d->spare = radius * sin(angle);
  return radius * cos(angle);
}

/* Candidates around the last action are drawn evenly, those of the first step as ever. */
static real draw(const state *s, draws *d, int number) {
  const real low = lowest(s, number), high = highest(s, number);
  if (SPREAD > 0 && !(CHANGES && s->begun)) {
    const real a = (real)(SPREAD * normal(d));
    return a < low ? low : a > high ? high : a;
  }
  return (real)((double)low + ((double)high - (double)low) * uniform(d));
}

/* the best of the random candidates */
static real sample(const state *s, real *action) {
  draws d = {s->steps, {0, 0}, 0, 0, 0.0, 0};
  real best = 0;
  for (int k = 0; k < CANDIDATES; ++k) {
    real tried[ACTIONS];
    for (int i = 0; i < ACTIONS; ++i) tried[i] = draw(s, &d, i);
    const real value = value_of(s, tried);
    if (k > 0 && !(value > best)) continue;
    best = value;
    for (int i = 0; i < ACTIONS; ++i) action[i] = tried[i];
  }
  return best;
}

/* maximises along one number of the action after the other, until none improves */
static void improve(state *s, real *action, real value) {
  for (int turn = 0; turn < COORDINATE_ROUNDS; ++turn) {
    const real before = value;
    for (int i = 0; i < ACTIONS; ++i) {
      real at;
      const real found = search(s, action, i, &at);
      if (found > value) {
        value = found;
        action[i] = at;
      }
    }
    if (!(value > before)) break;
  }
}
