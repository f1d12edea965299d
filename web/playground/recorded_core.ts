// A recording in the place of the core, for browsers that cannot run it: the same bee, flown when
// the page was built. It repeats from the start when it has been seen to the end.

import {BEE_COLUMNS, CELLS} from './core';
import type {Flown} from './core';
import type {Calls, CoreClient} from './calls';
import type {RecordedSwings} from './recorded_swing';

/** One stretch of flight. Numbers are rounded; field and memory are bytes in base64. */
export interface RecordedFlight {
  rows: (number | null)[];
  field: string;
  memory: string;
  units: number;
}

export interface RecordedRun {
  optimum: number;
  milliseconds: number;
  residual: number;
  experience: number;
  random: RecordedFlight;
  greedy: RecordedFlight;
  swings: RecordedSwings;
}

/** Memory is kept for every so many steps. */
export const MEMORY_STRIDE = 8;
/** A field's byte is its nectar, 0 to 2, in these units. */
export const FIELD_UNIT = 2 / 255;
/** A memory's byte is an activation in these units. */
export const MEMORY_UNIT = 4 / 255;

function bytes(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

class Tape {
  private readonly rows: Float64Array;
  private readonly field: Float32Array;
  private readonly memory: Float32Array;
  private readonly length: number;
  private at = 0;

  constructor(private readonly flight: RecordedFlight) {
    this.rows = Float64Array.from(flight.rows, (value) => value ?? NaN);
    this.field = Float32Array.from(bytes(flight.field), (byte) => byte * FIELD_UNIT);
    this.memory = Float32Array.from(bytes(flight.memory), (byte) => byte * MEMORY_UNIT);
    this.length = this.rows.length / BEE_COLUMNS;
  }

  /** The next steps; stops at the end of the tape, and then begins again. */
  play(steps: number): Pick<Flown, 'steps' | 'rows' | 'field' | 'memory'> {
    if (this.at >= this.length) this.at = 0;
    const from = this.at;
    const to = Math.min(this.length, from + steps);
    this.at = to;
    const units = this.flight.units;
    const frame = Math.floor((to - 1) / MEMORY_STRIDE) * units;
    return {
      steps: to - from,
      rows: this.rows.slice(from * BEE_COLUMNS, to * BEE_COLUMNS),
      field: this.field.slice(from * CELLS, to * CELLS),
      memory: this.memory.slice(frame, frame + units),
    };
  }
}

export class RecordedCore implements CoreClient {
  readonly live = false;
  private readonly random: Tape;
  private readonly greedy: Tape;
  private time = 0;

  constructor(private readonly run: RecordedRun) {
    this.random = new Tape(run.random);
    this.greedy = new Tape(run.greedy);
  }

  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    return Promise.resolve(this.answer(name, args) as Calls[Name][1]);
  }

  private answer(name: keyof Calls, args: Calls[keyof Calls][0]): Calls[keyof Calls][1] {
    switch (name) {
      case 'open':
      case 'setLearner':
        return this.run.optimum;
      case 'learn':
        return this.run;
      case 'fly': {
        const [flight, steps, shown] = args as Calls['fly'][0];
        const tape = flight === 'random' ? this.random : this.greedy;
        const part = tape.play(Math.min(steps, shown ?? steps));
        const first = this.time;
        this.time += part.steps;
        return {flight, first, experience: this.run.experience, ...part};
      }
      default:
        throw new Error('a recording cannot do this');
    }
  }
}
