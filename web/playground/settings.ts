// What a visitor can set, its ranges, and how it is written into the address of the page.

import type {BeeSettings, Timing} from './core';

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
  tab: 'bee' | 'market';
  timing: Timing;
  theme: 'auto' | 'light' | 'dark';
}

export const DEFAULTS: Settings = {
  omega: 0.1, c: 0.1, gamma: 0.5, units: 300, lambda: 1e-3, memory: 0.9, steps: 2000, seed: 0,
  speed: 40, tab: 'bee', timing: 'arrival', theme: 'auto',
};

export type NumberName = 'omega' | 'c' | 'gamma' | 'units' | 'lambda' | 'memory' | 'steps' | 'seed' | 'speed';

export interface Range {
  least: number;
  most: number;
  /** Of a slider; λ's moves in powers of ten. */
  step: number;
  whole: boolean;
}

export const RANGES: Record<NumberName, Range> = {
  omega: {least: 0, most: 0.5, step: 0.01, whole: false},
  c: {least: 0.01, most: 0.3, step: 0.01, whole: false},
  gamma: {least: 0, most: 0.95, step: 0.05, whole: false},
  units: {least: 10, most: 500, step: 10, whole: true},
  lambda: {least: 1e-8, most: 1, step: 0.5, whole: false},
  memory: {least: 0, most: 1, step: 0.05, whole: false},
  steps: {least: 200, most: 8000, step: 100, whole: true},
  seed: {least: 0, most: 4294967295, step: 1, whole: true},
  speed: {least: 2, most: 240, step: 2, whole: true},
};

const CHOICES: {[Name in 'tab' | 'timing' | 'theme']: readonly Settings[Name][]} = {
  tab: ['bee', 'market'],
  timing: ['arrival', 'departure'],
  theme: ['auto', 'light', 'dark'],
};

export function beeSettings(s: Settings): BeeSettings {
  return {
    omega: s.omega, maxMove: s.c, discount: s.gamma, units: s.units, ridge: s.lambda,
    memory: s.memory, experience: s.steps, seed: s.seed,
  };
}

/** Reads "#omega=0.2&units=100". What is unreadable or out of range is put right, and noted. */
export function readSettings(hash: string): {settings: Settings; notes: string[]} {
  const settings = {...DEFAULTS};
  const notes: string[] = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (name in RANGES) {
      readNumber(settings, name as NumberName, text, notes);
    } else if (name === 'tab' || name === 'timing' || name === 'theme') {
      if (!readChoice(settings, name, text)) {
        notes.push(`${name} = ${short(text)} is not one of ${CHOICES[name].join(', ')}: ${settings[name]} is shown.`);
      }
    } else {
      notes.push(`${short(name)} is nothing that can be set here.`);
    }
  }
  return {settings, notes};
}

function short(text: string): string {
  return text.length > 24 ? `${text.slice(0, 24)}…` : text;
}

function readNumber(settings: Settings, name: NumberName, text: string, notes: string[]): void {
  const {least, most, whole} = RANGES[name];
  const value = text.trim() === '' ? NaN : Number(text);
  if (Number.isNaN(value)) {
    notes.push(`${name} = ${short(text)} is not a number: ${settings[name]} is used.`);
    return;
  }
  const fitting = Math.min(most, Math.max(least, whole ? Math.round(value) : value));
  if (fitting !== value) notes.push(`${name} = ${short(text)} is out of range: ${fitting} is used.`);
  settings[name] = fitting;
}

function readChoice<Name extends 'tab' | 'timing' | 'theme'>(
  settings: Settings, name: Name, text: string): boolean {
  const choice = CHOICES[name].find((each) => each === text);
  if (choice === undefined) return false;
  settings[name] = choice;
  return true;
}

/** The opposite: only what is not as it is by default. */
export function writeSettings(settings: Settings): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS) as (keyof Settings)[]) {
    if (settings[name] !== DEFAULTS[name]) parameters.set(name, String(settings[name]));
  }
  const text = parameters.toString();
  return text === '' ? '' : `#${text}`;
}
