// The steps that have arrived, the last few thousand of them, and the moment that is being shown.

import {BEE, BEE_COLUMNS, CELLS} from './core';
import type {Flight, Flown} from './core';

const CAPACITY = 2048;

/** One step as it is shown. */
export interface Step {
  time: number;
  flight: Flight;
  position: number;
  nectar: number;
  value: number;
  ghostPosition: number;
  /** Mean nectar since this kind of flight began, of the bee and of the ghost. */
  mean: number;
  ghostMean: number;
  /** Steps in these means. */
  count: number;
}

export class Timeline {
  /** Steps from `start` to `end` are held. */
  start = 0;
  end = 0;
  /** What is being shown; moves on smoothly and never past the last step. */
  now = 0;
  private readonly steps: Step[] = Array.from({length: CAPACITY}, () => ({
    time: 0, flight: 'random', position: 0, nectar: 0, value: NaN, ghostPosition: 0, mean: 0,
    ghostMean: 0, count: 0,
  }));
  private readonly fields = new Float32Array(CAPACITY * CELLS);
  private flight: Flight = 'random';  // of the last step
  private count = 0;                  // steps in the means
  private sum = 0;
  private ghostSum = 0;

  clear(): void {
    this.start = this.end = this.now = 0;
    this.count = 0;
  }

  /** Begins the means anew with the next step. */
  restartMeans(): void {
    this.count = 0;
  }

  add(flown: Flown): void {
    if (flown.first !== this.end) {  // steps in between were not shown
      this.start = flown.first;
      this.now = flown.first + flown.steps - 1;
    }
    this.end = flown.first + flown.steps;
    this.start = Math.max(this.start, this.end - CAPACITY);
    for (let i = 0; i < flown.steps; ++i) this.write(flown, i);
    for (let i = Math.max(0, flown.steps - CAPACITY); i < flown.steps; ++i) {
      const from = i * CELLS;
      this.fields.set(flown.field.subarray(from, from + CELLS), ((flown.first + i) % CAPACITY) * CELLS);
    }
  }

  private write(flown: Flown, i: number): void {
    const row = flown.rows.subarray(i * BEE_COLUMNS, (i + 1) * BEE_COLUMNS);
    const step = this.at(flown.first + i);
    const begins = this.count === 0 || this.flight !== flown.flight;
    this.count = begins ? 1 : this.count + 1;
    this.flight = flown.flight;
    const nectar = row[BEE.nectar] ?? NaN;
    this.sum = (begins ? 0 : this.sum) + nectar;
    this.ghostSum = (begins ? 0 : this.ghostSum) + (row[BEE.ghostNectar] ?? NaN);
    step.time = flown.first + i;
    step.flight = flown.flight;
    step.position = row[BEE.position] ?? 0;
    step.nectar = nectar;
    step.value = row[BEE.value] ?? NaN;
    step.ghostPosition = row[BEE.ghostPosition] ?? 0;
    step.mean = this.sum / this.count;
    step.ghostMean = this.ghostSum / this.count;
    step.count = this.count;
  }

  at(time: number): Step {
    return this.steps[time % CAPACITY] as Step;
  }

  field(time: number): Float32Array {
    const from = (time % CAPACITY) * CELLS;
    return this.fields.subarray(from, from + CELLS);
  }

  /** The step being shown, if there is one. */
  current(): Step | null {
    return this.end > this.start ? this.at(Math.floor(this.now)) : null;
  }

  /** Moves on by so many steps, as far as there are any. */
  advance(steps: number): void {
    this.now = Math.max(this.start, Math.min(this.end - 1, this.now + steps));
  }
}

/** A place on the circle between two, the short way round. */
export function between(a: number, b: number, share: number): number {
  let way = b - a;
  if (way > 0.5) way -= 1;
  if (way < -0.5) way += 1;
  const place = a + share * way;
  return place - Math.floor(place);
}
