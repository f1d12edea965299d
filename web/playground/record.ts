// Flies the playground's default bee, and swings its poles, in the WebAssembly core, at build time, and keeps that for
// browsers that cannot run it.

import {BEE_COLUMNS, Core} from './core';
import type {CoreModule, Flown, SwingMark, SwingSystem} from './core';
import {FIELD_UNIT, MEMORY_STRIDE, MEMORY_UNIT} from './recorded_core';
import type {RecordedFlight, RecordedRun} from './recorded_core';
import type {RecordedSwing} from './recorded_swing';
import {DEFAULTS, beeSettings, swingSettings} from './settings';

const UNITS = 150;  // of the memory that are kept
const RANDOM_STEPS = 160;
const GREEDY_STEPS = 640;
const SWING_SECONDS = 20;  // one episode that is shown

function base64(values: Iterable<number>, unit: number): string {
  const bytes = Array.from(values, (value) => Math.max(0, Math.min(255, Math.round(value / unit))));
  return Buffer.from(bytes).toString('base64');
}

function keep(parts: Flown[]): RecordedFlight {
  const units = Math.min(UNITS, parts[0]?.memory.length ?? 0);
  const rows: (number | null)[] = [];
  for (const part of parts) {
    for (const value of part.rows) rows.push(rounded(value));
  }
  if (rows.length % BEE_COLUMNS !== 0) throw new Error('a recording must hold whole rows');
  return {
    rows,
    field: base64(parts.flatMap((part) => Array.from(part.field)), FIELD_UNIT),
    memory: base64(parts.flatMap((part) => Array.from(part.memory.subarray(0, units))), MEMORY_UNIT),
    units,
  };
}

function fly(core: Core, flight: 'random' | 'greedy', steps: number): RecordedFlight {
  const parts: Flown[] = [];
  for (let k = 0; k < steps; k += MEMORY_STRIDE) parts.push(core.fly(flight, MEMORY_STRIDE));
  return keep(parts);
}

function rounded(value: number): number | null {
  return Number.isNaN(value) ? null : Number(value.toFixed(4));
}

function swing(core: Core, system: SwingSystem): RecordedSwing {
  const seconds = core.swingOpen({...swingSettings(DEFAULTS), system});
  const marks: SwingMark[] = [];
  const {milliseconds, steps, score} = core.swingLearn((practice) => marks.push(...practice.marks));
  const rows = core.swingRun(Math.round(SWING_SECONDS / seconds)).rows;
  return {
    seconds, learnt: {milliseconds: Math.round(milliseconds), steps, score: Math.round(score)},
    marks: marks.map((mark) => ({...mark, score: Math.round(mark.score)})), rows: Array.from(rows, rounded),
  };
}

export function record(module: CoreModule): RecordedRun {
  const core = new Core(module);
  const settings = beeSettings(DEFAULTS);
  const optimum = core.open(settings);
  const random = fly(core, 'random', RANDOM_STEPS);
  core.fly('random', settings.experience - RANDOM_STEPS, 1);
  core.learn();  // the first run of a function is slow
  const {milliseconds, residual, experience} = core.learn();
  const greedy = fly(core, 'greedy', GREEDY_STEPS);
  return {
    optimum, milliseconds: Math.round(milliseconds), residual, experience, random, greedy,
    swings: {pendulum: swing(core, 'pendulum'), 'cart-pole': swing(core, 'cart-pole')},
  };
}
