// What a visitor can set, its ranges, and how it is written into the address of the page.

import type {BeeSettings, SwingSettings, SwingSystem, Timing} from './core';

export const TABS = ['bee', 'market', 'pole', 'log'] as const;
export type Tab = (typeof TABS)[number];

export interface Settings {
  omega: number;
  c: number;
  gamma: number;
  units: number;
  lambda: number;
  memory: number;
  steps: number;
  seed: number;
  speed: number;
  system: SwingSystem;
  noise: number;
  delay: number;
  gravity: number;
  mass: number;
  neurons: number;
  practice: number;
  discount: number;
  tab: Tab;
  timing: Timing;
  theme: 'auto' | 'light' | 'dark';
}

export const DEFAULTS: Settings = {
  omega: 0.1, c: 0.1, gamma: 0.5, units: 300, lambda: 1e-3, memory: 0.9, steps: 2000, seed: 0,
  speed: 40, system: 'pendulum', noise: 0, delay: 0, gravity: 1, mass: 1, neurons: 100, practice: 9000,
  discount: 0.9, tab: 'bee', timing: 'arrival', theme: 'auto',
};

const STILL_SPEED = 4;

/** What holds where the visitor sets nothing; `still` where less motion is asked for. */
export function defaults(still: boolean): Settings {
  return still ? {...DEFAULTS, speed: STILL_SPEED} : DEFAULTS;
}

export type NumberName = 'omega' | 'c' | 'gamma' | 'units' | 'lambda' | 'memory' | 'steps' | 'seed' | 'speed' |
  'noise' | 'delay' | 'gravity' | 'mass' | 'neurons' | 'practice' | 'discount';
type ChoiceName = 'tab' | 'timing' | 'theme' | 'system';

export interface Range {
  least: number;
  most: number;
  /** Of a slider; λ's moves in powers of ten. */
  step: number;
}

export const RANGES: Record<NumberName, Range> = {
  omega: {least: 0, most: 0.5, step: 0.01},
  c: {least: 0.01, most: 0.3, step: 0.01},
  gamma: {least: 0, most: 0.95, step: 0.05},
  units: {least: 10, most: 500, step: 10},
  lambda: {least: 1e-8, most: 1, step: 0.5},
  memory: {least: 0, most: 1, step: 0.05},
  steps: {least: 200, most: 8000, step: 100},
  seed: {least: 0, most: 4294967295, step: 1},
  speed: {least: 2, most: 240, step: 2},
  noise: {least: 0, most: 0.3, step: 0.01},
  delay: {least: 0, most: 6, step: 1},
  gravity: {least: 0.2, most: 3, step: 0.1},
  mass: {least: 0.2, most: 3, step: 0.1},
  neurons: {least: 20, most: 300, step: 10},
  practice: {least: 1000, most: 10_000, step: 500},
  discount: {least: 0, most: 0.99, step: 0.01},
};

const MOST_NOTES = 5;

const CHOICES: {[Name in ChoiceName]: readonly Settings[Name][]} = {
  tab: TABS,
  system: ['pendulum', 'cart-pole'],
  timing: ['arrival', 'departure'],
  theme: ['auto', 'light', 'dark'],
};

export function beeSettings(s: Settings): BeeSettings {
  return {
    omega: s.omega, maxMove: s.c, discount: s.gamma, units: s.units, ridge: s.lambda,
    memory: s.memory, experience: s.steps, seed: s.seed,
  };
}

export function swingSettings(s: Settings): SwingSettings {
  return {
    system: s.system, noise: s.noise, delay: s.delay, gravity: s.gravity, mass: s.mass, units: s.neurons,
    steps: s.practice, seed: s.seed,
  };
}

/** Reads "#omega=0.2&units=100". What is unreadable or out of range is put right, and noted. */
export function readSettings(hash: string, from = DEFAULTS): {settings: Settings; notes: string[]} {
  const settings = {...from};
  const notes: string[] = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (Object.hasOwn(RANGES, name)) {
      readNumber(settings, name as NumberName, text, notes);
    } else if (Object.hasOwn(CHOICES, name)) {
      const choice = name as ChoiceName;
      if (!readChoice(settings, choice, text)) {
        notes.push(`${name} = ${short(text)} is not one of ${CHOICES[choice].join(', ')}: ${settings[choice]} is shown.`);
      }
    } else {
      notes.push(`${short(name)} is nothing that can be set here.`);
    }
  }
  const more = notes.length - MOST_NOTES;
  if (more > 0) notes.splice(MOST_NOTES, more, `And ${more} more of the kind in the address.`);
  return {settings, notes};
}

function short(text: string): string {
  return text.length > 24 ? `${text.slice(0, 24)}…` : text;
}

function readNumber(settings: Settings, name: NumberName, text: string, notes: string[]): void {
  const {least, most} = RANGES[name];
  const value = text.trim() === '' ? NaN : Number(text);
  if (Number.isNaN(value)) {
    notes.push(`${name} = ${short(text)} is not a number: ${settings[name]} is used.`);
    return;
  }
  const fitting = onGrid(name, Math.min(most, Math.max(least, value)));
  if (value < least || value > most) {
    notes.push(`${name} = ${short(text)} is out of range: ${fitting} is used.`);
  } else if (Math.abs(fitting - value) > 1e-9 * Math.abs(fitting)) {
    notes.push(`${name} = ${short(text)} is between two settings: ${fitting} is used.`);
  }
  settings[name] = fitting;
}

/** λ's slider moves in powers of ten, the others as they are. */
export const toSlider = (name: NumberName, value: number) => (name === 'lambda' ? Math.log10(value) : value);
export const fromSlider = (name: NumberName, value: number) =>
  name === 'lambda' ? Number((10 ** value).toPrecision(2)) : Number(value.toFixed(6));

/** The nearest value that the slider can show. */
function onGrid(name: NumberName, value: number): number {
  const {least, step} = RANGES[name];
  const first = toSlider(name, least);
  return fromSlider(name, first + step * Math.round((toSlider(name, value) - first) / step));
}

function readChoice<Name extends ChoiceName>(
  settings: Settings, name: Name, text: string): boolean {
  const choice = CHOICES[name].find((each) => each === text);
  if (choice === undefined) return false;
  settings[name] = choice;
  return true;
}

/** The opposite: only what is not as it is by default. */
export function writeSettings(settings: Settings, from = DEFAULTS): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS) as (keyof Settings)[]) {
    if (settings[name] !== from[name]) parameters.set(name, String(settings[name]));
  }
  const text = parameters.toString();
  return text === '' ? '' : `#${text}`;
}
