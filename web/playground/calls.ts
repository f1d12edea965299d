// What the page may ask of the worker: names, arguments and results.

import type {BeeSettings, Flight, Flown, Learnt, MarketFacts, MarketRun, Timing} from './core';

export interface Calls {
  version: [[], string];
  open: [[settings: BeeSettings], number];
  setLearner: [[settings: BeeSettings], number];
  fly: [[flight: Flight, steps: number, shown?: number], Flown];
  learn: [[], Learnt];
  marketOpen: [[timing: Timing, seed: number], MarketFacts];
  marketRun: [[steps: number], MarketRun];
  marketLearn: [[], number];
}

export interface Call<Name extends keyof Calls> {
  id: number;
  name: Name;
  args: Calls[Name][0];
}

export type Answer = {id: number; value: Calls[keyof Calls][1]} | {id: number; error: string};

/** Whoever answers: the worker, or a recording of it. */
export interface CoreClient {
  readonly live: boolean;
  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]>;
}
