// The market maker: three hands on the same market, what they cost, and where they trade.

import type uPlot from 'uplot';
import type {CoreClient} from './calls';
import {Chart} from './charts';
import {MARKET, MARKET_COLUMNS, WHO} from './core';
import type {MarketFacts, Timing} from './core';
import {element, everyFrame, message, note, reducedMotion, show, whenSeen, whole} from './page';
import type {Settings} from './settings';
import {CoreLost} from './worker_client';

const SHOWN_STEPS = 150;
const HELD_STEPS = 20000;
const STEPS_PER_SECOND = 30;
const WAIT_MILLISECONDS = 2000;  // before it learns by itself
const DOTS = 400;

type Name = keyof typeof WHO;
const NAMES: readonly Name[] = ['initial', 'learnt', 'optimal'];

export class MarketPage {
  private charts: {inventory: Chart; cost: Chart; trades: Chart} | null = null;
  private facts: MarketFacts = {gain: NaN, cost: NaN, otherGain: NaN};
  private rows: Float64Array[] = [];  // one for each step
  private means: number[][] = [];     // of the costs so far, at each step
  private due = 0;
  private asking = false;
  private visit = 0;
  private work = Promise.resolve();

  constructor(private core: CoreClient, private readonly settings: Settings,
              private readonly changed: () => void) {
    for (const timing of ['arrival', 'departure'] as const) {
      const choice = element(`timing-${timing}`, HTMLInputElement);
      choice.checked = settings.timing === timing;
      choice.addEventListener('change', () => {
        settings.timing = timing;
        this.changed();
        this.open();
      });
    }
    element('market-learn', HTMLButtonElement).addEventListener('click', () => this.learn());
    element('market-restart', HTMLButtonElement).addEventListener('click', () => this.open());
  }

  /** The visitor has come here. */
  start(): void {
    if (!this.core.live) {
      show('market-phase', 'The market maker needs WebAssembly, which does not run here.');
      element('market-learn', HTMLButtonElement).disabled = true;
      element('market-restart', HTMLButtonElement).disabled = true;
      return;
    }
    if (this.charts) return;
    this.charts = {
      inventory: new Chart(element('inventory-chart', HTMLElement), {
        xLabel: 'step', yLabel: 'inventory', height: 230,
        lines: NAMES.map((name) => ({label: LABELS[name], colour: name, width: name === 'optimal' ? 1.5 : 2,
                                     ...(name === 'optimal' ? {dash: [5, 4]} : {})})),
      }),
      cost: new Chart(element('cost-chart', HTMLElement), {
        xLabel: 'step', yLabel: 'mean cost', height: 230, yRange: [1, 30], logarithmic: true,
        lines: [...NAMES.map((name) => ({label: LABELS[name], colour: name, width: 2})),
                {label: 'the optimum, exactly', colour: 'soft', dash: [2, 3]}],
      }),
      trades: new Chart(element('trade-chart', HTMLElement), {
        xLabel: 'inventory', yLabel: 'trade', height: 230, xRange: [-4, 4], yRange: [-2.5, 2.5],
        lines: [{label: 'learnt', colour: 'learnt', dots: true},
                {label: 'optimal for this timing', colour: 'optimal', width: 2},
                {label: 'optimal for the other', colour: 'random', width: 1.5, dash: [5, 4]}],
      }),
    };
    this.open();
    everyFrame((_, seconds) => this.frame(seconds));
  }

  /** The core is no more; what is asked from now on is asked of this one. */
  replaceCore(core: CoreClient): void {
    this.core = core;
    if (core.live) this.open();
    else this.start();
  }

  redraw(): void {
    for (const chart of Object.values(this.charts ?? {})) chart.redraw();
  }

  /** Does something with the core after all that was asked before, as long as there is one. */
  private later(work: () => Promise<void>): void {
    this.work = this.work.then(() => (this.core.live ? work() : undefined)).catch((error: unknown) => {
      if (!(error instanceof CoreLost)) note([`That did not work: ${message(error)}`]);
    });
  }

  private open(): void {
    if (!this.charts) return;
    const visit = ++this.visit;
    this.later(async () => {
      this.facts = await this.core.call('marketOpen', this.settings.timing, this.settings.seed);
      this.clear();
      show('market-phase', 'Trading by the first policy');
      show('market-time', '–');
      show('market-gain', this.facts.gain.toFixed(4));
      show('market-other-gain', this.facts.otherGain.toFixed(4));
      show('market-timing-text', TIMINGS[this.settings.timing]);
    });
    void whenSeen(WAIT_MILLISECONDS).then(() => {
      if (visit === this.visit) this.learn();
    });
  }

  private learn(): void {
    ++this.visit;
    this.later(async () => {
      const panel = element('panel-market', HTMLElement);
      const before = element('market-phase', HTMLElement).textContent ?? '';
      show('market-phase', 'Learning…');
      panel.classList.add('busy');
      try {
        const milliseconds = await this.core.call('marketLearn');
        this.clear();
        show('market-time', `${whole(milliseconds)} ms`);
        show('market-phase', 'Trading by what was learnt');
      } catch (error) {
        if (this.core.live) show('market-phase', before);
        throw error;
      } finally {
        panel.classList.remove('busy');
      }
    });
  }

  private clear(): void {
    this.rows = [];
    this.means = [];
  }

  private async fill(steps: number): Promise<void> {
    const run = await this.core.call('marketRun', steps);
    for (let k = 0; k < run.steps; ++k) {
      const row = run.rows.slice(k * MARKET_COLUMNS, (k + 1) * MARKET_COLUMNS);
      const before = this.means[this.means.length - 1];
      const count = this.means.length;
      this.means.push(NAMES.map((name, i) =>
        ((before?.[i] ?? 0) * count + cell(row, name, MARKET.cost)) / (count + 1)));
      this.rows.push(row);
    }
    if (this.rows.length > HELD_STEPS) this.open();
  }

  private frame(seconds: number): void {
    if (this.settings.tab !== 'market') return;
    const speed = reducedMotion() ? STEPS_PER_SECOND / 10 : STEPS_PER_SECOND;
    this.due += seconds * speed;
    if (this.due < 1 || this.asking) return;
    const steps = Math.floor(this.due);
    this.due -= steps;
    this.asking = true;
    this.later(async () => {
      try {
        await this.fill(steps);
        this.draw();
      } finally {
        this.asking = false;
      }
    });
  }

  private draw(): void {
    if (!this.charts || this.rows.length === 0) return;
    const first = Math.max(0, this.rows.length - SHOWN_STEPS);
    const recent = this.rows.slice(first);
    const times = recent.map((_, i) => first + i);
    this.charts.inventory.set([times, ...NAMES.map((name) =>
      recent.map((row) => orNull(cell(row, name, MARKET.inventory))))]);
    this.charts.cost.set([times, ...NAMES.map((_, who) =>
      recent.map((__, i) => orNull(this.means[first + i]?.[who] ?? NaN))), times.map(() => this.facts.cost)]);
    this.charts.trades.set(this.trades());
    NAMES.forEach((name, who) => {
      const mean = this.means[this.means.length - 1]?.[who] ?? NaN;
      show(`cost-${name}`, Number.isNaN(mean) ? '–' : mean.toFixed(2));
    });
    show('market-steps', whole(this.rows.length));
  }

  /** Trades against inventories, from left to right as the chart wants them. */
  private trades(): uPlot.AlignedData {
    const dots = this.rows.slice(-DOTS)
      .map((row): [number, number | null] => [cell(row, 'learnt', MARKET.inventory), cell(row, 'learnt', MARKET.trade)])
      .filter(([x]) => !Number.isNaN(x));
    const all = [...dots, [-4, null] as [number, null], [4, null] as [number, null]].sort((a, b) => a[0] - b[0]);
    const xs = all.map(([x]) => x);
    return [xs, all.map(([, trade]) => trade), xs.map((x) => -this.facts.gain * x),
            xs.map((x) => -this.facts.otherGain * x)];
  }
}

const LABELS: Record<Name, string> = {initial: 'at first', learnt: 'learnt', optimal: 'optimal'};

const TIMINGS: Record<Timing, string> = {
  arrival: 'Each step is charged for the inventory it arrives at: trade half of it away at once.',
  departure: 'Each step is charged for the inventory it left: a third at a time is enough.',
};

function cell(row: Float64Array, name: Name, quantity: number): number {
  return row[quantity + 3 * WHO[name]] ?? NaN;
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
