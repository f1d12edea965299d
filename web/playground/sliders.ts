// The sliders of Bee World.

import {RANGES, fromSlider, toSlider} from './settings';
import type {Settings} from './settings';
import {element} from './page';

export const SLIDERS = ['omega', 'c', 'gamma', 'units', 'lambda', 'memory', 'steps', 'speed'] as const;
export type SliderName = (typeof SLIDERS)[number];

function text(name: SliderName, value: number): string {
  if (name === 'lambda') return value.toExponential(value.toPrecision(2).endsWith('0') ? 0 : 1).replace('e', '·10^');
  if (name === 'units' || name === 'steps') return value.toLocaleString('en-GB');
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

export class Sliders {
  constructor(private readonly settings: Settings, changed: (name: SliderName) => void) {
    for (const name of SLIDERS) {
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
    for (const name of SLIDERS) {
      element(`set-${name}`, HTMLInputElement).value = String(toSlider(name, this.settings[name]));
      this.label(name);
    }
  }

  disable(except: readonly SliderName[]): void {
    for (const name of SLIDERS) element(`set-${name}`, HTMLInputElement).disabled = !except.includes(name);
  }

  private label(name: SliderName): void {
    const shown = pretty(text(name, this.settings[name]));
    element(`show-${name}`, HTMLElement).textContent = shown;
    element(`set-${name}`, HTMLInputElement).setAttribute('aria-valuetext', shown);
  }
}
