// What the page may ask of the worker: names, arguments and results.

import type {
  BeeSettings, Flight, Flown, Learnt, LogFile, LogOpened, LogProgress, LogResult, MarketFacts, MarketRun, Role, SwingLearnt, SwingPractice, SwingRun, SwingSettings,
  SwingWorld, Timing,
} from './core';

export interface Calls {
  version: [[], string];
  open: [[settings: BeeSettings], number];
  setLearner: [[settings: BeeSettings], number];
  fly: [[flight: Flight, steps: number, shown?: number], Flown];
  learn: [[], Learnt];
  marketOpen: [[timing: Timing, seed: number], MarketFacts];
  marketRun: [[steps: number], MarketRun];
  marketLearn: [[], number];
  swingOpen: [[settings: SwingSettings], number];
  swingLearn: [[], SwingLearnt];
  swingRun: [[steps: number], SwingRun];
  swingSetWorld: [[world: SwingWorld], void];
  swingHold: [[at: {position: number; angle: number} | null], void];
  swingPush: [[change: number], void];
  logSample: [[], Uint8Array<ArrayBuffer>];
  logOpen: [[file: File], LogOpened];
  logLearn: [[roles: Role[], discount: number, seed: number], LogResult];
  logFile: [[what: LogFile], Uint8Array<ArrayBuffer>];
}

export interface Call<Name extends keyof Calls> {
  id: number;
  name: Name;
  args: Calls[Name][0];
}

/** An answer, or what there is to see before it. */
export type Answer = {id: number; value: Calls[keyof Calls][1]} | {id: number; error: string} |
  {id: number; meanwhile: SwingPractice} | {id: number; progress: LogProgress};

/** Whoever answers: the worker, or a recording of it. */
export interface CoreClient {
  readonly live: boolean;
  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]>;
}
