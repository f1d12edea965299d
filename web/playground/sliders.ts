// Sliders: those of Bee World, of the pole and of the visitor's log.

import {RANGES, fromSlider, toSlider} from './settings';
import type {NumberName, Settings} from './settings';
import {element} from './page';

/** Every setting that is a number has one, but the seed. */
export type SliderName = Exclude<NumberName, 'seed'>;
export const BEE_SLIDERS = ['omega', 'c', 'gamma', 'units', 'lambda', 'memory', 'steps', 'speed'] as const;
export const SWING_SLIDERS = ['noise', 'delay', 'gravity', 'mass', 'neurons', 'practice'] as const;
export const LOG_SLIDERS = ['discount'] as const;

function text(name: SliderName, value: number): string {
  if (name === 'lambda') return value.toExponential(value.toPrecision(2).endsWith('0') ? 0 : 1).replace('e', '·10^');
  if (name === 'gravity' || name === 'mass') return `× ${Number(value.toFixed(3))}`;
  if (name === 'delay') return `${value} ${value === 1 ? 'step' : 'steps'}`;
  if (name === 'units' || name === 'steps' || name === 'practice') return value.toLocaleString('en-GB');
  return String(Number(value.toFixed(3)));
}

/** Powers as people write them. */
function pretty(value: string): string {
  const power = /^(.*)·10\^([+-]?\d+)$/.exec(value);
  if (!power) return value;
  const digits = String(Number(power[2])).replace(/./g, (d) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(d)] ?? d);
  const factor = Number(power[1]) === 1 ? '' : `${power[1]}·`;
  return `${factor}10${digits}`;
}

export class Sliders<Name extends SliderName> {
  constructor(private readonly settings: Settings, private readonly names: readonly Name[],
              changed: (name: Name) => void) {
    for (const name of names) {
      const input = element(`set-${name}`, HTMLInputElement);
      const range = RANGES[name];
      input.min = String(toSlider(name, range.least));
      input.max = String(toSlider(name, range.most));
      input.step = String(range.step);
      input.addEventListener('input', () => {
        const value = fromSlider(name, Number(input.value));
        settings[name] = Math.min(range.most, Math.max(range.least, value));
        this.label(name);
        changed(name);
      });
    }
    this.update();
  }

  update(): void {
    for (const name of this.names) {
      element(`set-${name}`, HTMLInputElement).value = String(toSlider(name, this.settings[name]));
      this.label(name);
    }
  }

  disable(except: readonly Name[]): void {
    for (const name of this.names) element(`set-${name}`, HTMLInputElement).disabled = !except.includes(name);
  }

  private label(name: Name): void {
    const shown = pretty(text(name, this.settings[name]));
    element(`show-${name}`, HTMLElement).textContent = shown;
    element(`set-${name}`, HTMLInputElement).setAttribute('aria-valuetext', shown);
  }
}
