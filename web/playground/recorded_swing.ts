// A recording in the place of the pole's core, for browsers that cannot run it: practice as it went when the page was
// built, and an episode of what was learnt, which repeats from the start when it has been seen to the end.

import {SWING_COLUMNS} from './core';
import type {SwingLearnt, SwingMark, SwingPractice, SwingSystem} from './core';
import type {Calls, CoreClient} from './calls';

/** Numbers are rounded; null is what is not known. */
export interface RecordedSwing {
  seconds: number;
  learnt: SwingLearnt;
  marks: SwingMark[];
  rows: (number | null)[];
}

export type RecordedSwings = Record<SwingSystem, RecordedSwing>;

/** As much of a core in a worker as the pole's page asks for. */
export interface SwingCore extends CoreClient {
  lost: (why: string, silent: boolean) => void;
  meanwhile: (practice: SwingPractice) => void;
  end(): void;
}

export class RecordedSwingCore implements SwingCore {
  readonly live = false;
  lost: SwingCore['lost'] = () => {};
  meanwhile: SwingCore['meanwhile'] = () => {};
  private readonly rows: Float64Array;
  private at = 0;

  constructor(private readonly run: RecordedSwing) {
    this.rows = Float64Array.from(run.rows, (value) => value ?? NaN);
  }

  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    try {
      return Promise.resolve(this.answer(name, args) as Calls[Name][1]);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  end(): void {}

  private answer(name: keyof Calls, args: Calls[keyof Calls][0]): Calls[keyof Calls][1] {
    switch (name) {
      case 'swingOpen':
        return this.run.seconds;
      case 'swingLearn':
        this.meanwhile({steps: this.run.learnt.steps, marks: this.run.marks, rows: new Float64Array()});
        return this.run.learnt;
      case 'swingRun': {
        const [steps] = args as Calls['swingRun'][0];
        if (this.at >= this.rows.length) this.at = 0;
        const from = this.at;
        this.at = Math.min(this.rows.length, from + steps * SWING_COLUMNS);
        return {rows: this.rows.slice(from, this.at)};
      }
      default:
        throw new Error('a recording cannot do this');
    }
  }
}
