// The C++ core as TypeScript sees it: names for what web/wasm/exports.cc offers, errors as
// exceptions, results as arrays of their own.

export interface CoreModule {
  HEAPF64: Float64Array;
  HEAPU8: Uint8Array<ArrayBuffer>;
  /** Files of the core, which are in its memory alone. */
  FS: {writeFile(name: string, bytes: Uint8Array): void; readFile(name: string): Uint8Array<ArrayBuffer>};
  ccall(name: string, result: 'number', types: ('string' | 'number')[], args: (string | number)[]): number;
  UTF8ToString(pointer: number): string;
  _last_error(): number;
  _version(): number;
  _bee_open(
    omega: number, maxMove: number, discount: number, units: number, ridge: number, memory: number,
    experience: number, seed: number): number;
  _bee_set_learner(
    discount: number, units: number, ridge: number, memory: number, experience: number): number;
  _bee_fly(flight: number, steps: number): number;
  _bee_learn(): number;
  _bee_rows(): number;
  _bee_field(): number;
  _bee_columns(): number;
  _bee_cells(): number;
  _bee_memory_size(): number;
  _bee_memory(): number;
  _bee_optimum(): number;
  _bee_residual(): number;
  _bee_experience(): number;
  _market_open(departure: number, seed: number): number;
  _market_run(steps: number): number;
  _market_learn(): number;
  _market_rows(): number;
  _market_columns(): number;
  _market_gain(): number;
  _market_cost(): number;
  _market_other_gain(): number;
  /** Called while _swing_learn() is at work, when there is something to look at. */
  practised?: () => void;
  _swing_open(
    cartPole: number, noise: number, delay: number, gravity: number, mass: number, units: number,
    steps: number, seed: number): number;
  _swing_learn(): number;
  _swing_run(steps: number): number;
  _swing_set_world(cartPole: number, noise: number, delay: number, gravity: number, mass: number): number;
  _swing_hold(position: number, angle: number): number;
  _swing_let_go(): number;
  _swing_push(change: number): number;
  _swing_rows(): number;
  _swing_row_count(): number;
  _swing_columns(): number;
  _swing_marks(): number;
  _swing_mark_count(): number;
  _swing_steps(): number;
  _swing_score(): number;
  _swing_time_step(): number;
  /** Called while log_learn() is at work. */
  learning?: (what: string, done: number, total: number) => void;
  _log_take(what: number): number;
  _log_bytes(): number;
  _log_size(): number;
}

/** What the sliders say, in the library's words. */
export interface BeeSettings {
  omega: number;
  maxMove: number;
  discount: number;
  units: number;
  ridge: number;
  memory: number;
  experience: number;
  seed: number;
}

export type SwingSystem = 'pendulum' | 'cart-pole';

export interface SwingWorld {
  system: SwingSystem;
  noise: number;
  delay: number;
  /** As multiples of what they usually are. */
  gravity: number;
  mass: number;
}

export interface SwingSettings extends SwingWorld {
  units: number;
  steps: number;
  seed: number;
}

export type Flight = 'random' | 'greedy' | 'exploring';
export type Timing = 'arrival' | 'departure';

/** Columns of a row of Flown.rows. */
export const BEE = {position: 0, nectar: 1, move: 2, value: 3, ghostPosition: 4, ghostNectar: 5};
export const BEE_COLUMNS = 6;
export const CELLS = 48;
/** Columns of a row of MarketRun.rows: quantity + 3 · who. */
export const MARKET = {inventory: 0, trade: 1, cost: 2};
export const WHO = {initial: 0, learnt: 1, optimal: 2};
export const MARKET_COLUMNS = 9;
/** Columns of a row of SwingRun.rows; `ahead` is the first of six: position and angle, for each of SWING_AHEAD. */
export const SWING = {
  position: 0, angle: 1, velocity: 2, angularVelocity: 3, seenPosition: 4, seenAngle: 5, action: 6, reward: 7,
  episodeStep: 8, ahead: 9,
};
export const SWING_COLUMNS = 15;
export const SWING_AHEAD = [1, 4, 16] as const;

/** Steps that were flown. */
export interface Flown {
  flight: Flight;
  /** The time of the first row; rows before it that were not asked for are left out. */
  first: number;
  steps: number;
  rows: Float64Array;
  field: Float32Array;
  /** Activations of the reservoir after the last step; empty before anything was learnt. */
  memory: Float32Array;
  experience: number;
}

export interface Learnt {
  milliseconds: number;
  residual: number;
  experience: number;
}

export interface MarketRun {
  steps: number;
  rows: Float64Array;
}

export interface MarketFacts {
  gain: number;
  cost: number;
  otherGain: number;
}

export interface SwingRun {
  rows: Float64Array;
}

/** An episode of practice that has ended, or a fit, whose score is the mean of those since the last fit. */
export interface SwingMark {
  steps: number;
  score: number;
  fit: boolean;
}

/** What has happened since the last one of these. */
export interface SwingPractice extends SwingRun {
  steps: number;
  marks: SwingMark[];
}

export interface SwingLearnt {
  milliseconds: number;
  steps: number;
  /** Mean return of some episodes. */
  score: number;
}

/** What a column of a log is to the learner; the order is that of log_session.h. */
export const ROLES = ['observation', 'reward', 'action', 'episode', 'terminated', 'truncated', 'unused'] as const;
export type Role = (typeof ROLES)[number];

export interface LogColumn {
  name: string;
  /** Of the first rows. */
  cells: string[];
  role: Role;
}

export interface LogOpened {
  columns: LogColumn[];
  /** How many of the file's bytes were read: the rest is not learnt from. */
  read: number;
}

export interface LogProgress {
  what: string;
  done: number;
  /** 0 if not known. */
  total: number;
}

/** What was learnt from a log, and how well, as log_session.cc writes it; null is what is not known. */
export interface LogResult {
  milliseconds: number;
  rows: number;
  rowsInFile: number;
  episodes: number;
  predictive: boolean;
  predictions: {horizons: number[]; names: string[]; explained: (number | null)[][]} | null;
  actions: string[];
  choices: string[];
  discount: number;
  residual: number;
  evaluation: {
    judged: number; meanReward: number; bellmanError: number; greedyBellmanError: number; withReturn: number;
    slope: number; intercept: number; correlation: number; sameShare: number; difference: number[];
    deviation: number[];
  };
  /** The last rows: reward, value, return, TD error, logged and greedy actions. */
  last: (number | null)[][];
  warnings: string[];
}

export type LogFile = 'model' | 'header' | 'source';

const FLIGHTS: Record<Flight, number> = {random: 0, greedy: 1, exploring: 2};
const MOST_STEPS = 5000;
const LOG_PARTS = {columns: 0, result: 1, model: 2, header: 3, source: 4};

/** One bee, one market, one pole and one log in this thread. */
export class Core {
  private time = 0;

  constructor(private readonly module: CoreModule) {
    if (module._bee_columns() !== BEE_COLUMNS || module._bee_cells() !== CELLS ||
        module._market_columns() !== MARKET_COLUMNS || module._swing_columns() !== SWING_COLUMNS) {
      throw new Error('the page and its WebAssembly core are of different versions');
    }
  }

  version(): string {
    return this.module.UTF8ToString(this.module._version());
  }

  open(s: BeeSettings): number {
    this.check(this.module._bee_open(
      s.omega, s.maxMove, s.discount, s.units, s.ridge, s.memory, s.experience, s.seed));
    this.time = 0;
    return this.module._bee_optimum();
  }

  /** Returns the optimum for the new discount. */
  setLearner(s: BeeSettings): number {
    this.check(
      this.module._bee_set_learner(s.discount, s.units, s.ridge, s.memory, s.experience));
    return this.module._bee_optimum();
  }

  /** Flies `steps` and returns the last `shown` of them. */
  fly(flight: Flight, steps: number, shown = steps): Flown {
    let left = steps;
    while (left > MOST_STEPS) {
      this.check(this.module._bee_fly(FLIGHTS[flight], MOST_STEPS));
      left -= MOST_STEPS;
    }
    this.check(this.module._bee_fly(FLIGHTS[flight], left));
    this.time += steps;
    const count = Math.min(shown, left);
    const rows = this.module._bee_rows() / 8 + (left - count) * BEE_COLUMNS;
    const field = this.module._bee_field() / 8 + (left - count) * CELLS;
    const units = this.module._bee_memory_size();
    const memory = this.module._bee_memory() / 8;
    const heap = this.module.HEAPF64;  // after the calls: one that grows the memory leaves old views empty
    return {
      flight,
      first: this.time - count,
      steps: count,
      rows: heap.slice(rows, rows + count * BEE_COLUMNS),
      field: Float32Array.from(heap.subarray(field, field + count * CELLS)),
      memory: Float32Array.from(heap.subarray(memory, memory + units)),
      experience: this.module._bee_experience(),
    };
  }

  learn(): Learnt {
    const start = performance.now();
    this.check(this.module._bee_learn());
    return {
      milliseconds: performance.now() - start,
      residual: this.module._bee_residual(),
      experience: this.module._bee_experience(),
    };
  }

  marketOpen(timing: Timing, seed: number): MarketFacts {
    this.check(this.module._market_open(timing === 'departure' ? 1 : 0, seed));
    return {
      gain: this.module._market_gain(),
      cost: this.module._market_cost(),
      otherGain: this.module._market_other_gain(),
    };
  }

  marketRun(steps: number): MarketRun {
    this.check(this.module._market_run(steps));
    const rows = this.module._market_rows() / 8;
    return {steps, rows: this.module.HEAPF64.slice(rows, rows + steps * MARKET_COLUMNS)};
  }

  marketLearn(): number {
    const start = performance.now();
    this.check(this.module._market_learn());
    return performance.now() - start;
  }

  /** Returns the seconds that a step takes. */
  swingOpen(s: SwingSettings): number {
    this.check(this.module._swing_open(
      s.system === 'cart-pole' ? 1 : 0, s.noise, s.delay, s.gravity, s.mass, s.units, s.steps, s.seed));
    return this.module._swing_time_step();
  }

  /** Practises and learns, which takes seconds, and tells of it meanwhile. */
  swingLearn(tell: (practice: SwingPractice) => void): SwingLearnt {
    const start = performance.now();
    this.module.practised = () => tell(this.swingPractice());
    this.check(this.module._swing_learn());
    return {
      milliseconds: performance.now() - start,
      steps: this.module._swing_steps(),
      score: this.module._swing_score(),
    };
  }

  swingRun(steps: number): SwingRun {
    this.check(this.module._swing_run(steps));
    return {rows: this.swingRows()};
  }

  swingSetWorld(w: SwingWorld): void {
    this.check(this.module._swing_set_world(
      w.system === 'cart-pole' ? 1 : 0, w.noise, w.delay, w.gravity, w.mass));
  }

  swingHold(at: {position: number; angle: number} | null): void {
    this.check(at ? this.module._swing_hold(at.position, at.angle) : this.module._swing_let_go());
  }

  swingPush(change: number): void {
    this.check(this.module._swing_push(change));
  }

  /** Some bytes of a log to try. */
  logSample(): Uint8Array<ArrayBuffer> {
    this.check(this.module.ccall('log_sample', 'number', ['string'], ['sample.csv']));
    return this.module.FS.readFile('sample.csv');
  }

  logOpen(name: string, bytes: Uint8Array): LogColumn[] {
    this.module.FS.writeFile(name, bytes);
    this.check(this.module.ccall('log_open', 'number', ['string'], [name]));
    const columns = JSON.parse(this.logText('columns')) as {name: string; cells: string[]; role: number}[];
    return columns.map((column) => ({...column, role: ROLES[column.role] ?? 'unused'}));
  }

  logLearn(roles: Role[], discount: number, seed: number, tell: (progress: LogProgress) => void): LogResult {
    const start = performance.now();
    this.module.learning = (what, done, total) => tell({what, done, total});
    const digits = roles.map((role) => ROLES.indexOf(role)).join('');
    this.check(this.module.ccall('log_learn', 'number', ['string', 'number', 'number'], [digits, discount, seed]));
    const result = JSON.parse(this.logText('result')) as Omit<LogResult, 'milliseconds'>;
    return {...result, milliseconds: performance.now() - start};
  }

  logFile(what: LogFile): Uint8Array<ArrayBuffer> {
    this.check(this.module._log_take(LOG_PARTS[what]));
    const from = this.module._log_bytes();
    return this.module.HEAPU8.slice(from, from + this.module._log_size());
  }

  private logText(what: 'columns' | 'result'): string {
    this.check(this.module._log_take(LOG_PARTS[what]));
    const from = this.module._log_bytes();
    return new TextDecoder().decode(this.module.HEAPU8.subarray(from, from + this.module._log_size()));
  }

  private swingRows(): Float64Array {
    const rows = this.module._swing_rows() / 8;
    return this.module.HEAPF64.slice(rows, rows + this.module._swing_row_count() * SWING_COLUMNS);
  }

  private swingPractice(): SwingPractice {
    const from = this.module._swing_marks() / 8;
    const marks = Array.from({length: this.module._swing_mark_count()}, (_, i): SwingMark => {
      const [steps = 0, score = NaN, fit = 0] = this.module.HEAPF64.subarray(from + 3 * i, from + 3 * i + 3);
      return {steps, score, fit: fit === 1};
    });
    return {steps: this.module._swing_steps(), rows: this.swingRows(), marks};
  }

  private check(worked: number): void {
    if (!worked) throw new Error(this.module.UTF8ToString(this.module._last_error()));
  }
}
