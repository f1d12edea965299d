// Bee World: who flies, what is learnt, and what is shown of it.

import type uPlot from 'uplot';
import type {CoreClient} from './calls';
import {Chart} from './charts';
import type {Flight, Flown} from './core';
import {RingView, SHOWN_STEPS, StripView} from './field_view';
import {MemoryView} from './memory_view';
import {element, everyFrame, message, note, reducedMotion, show, whenSeen, whole} from './page';
import {beeSettings} from './settings';
import type {Settings} from './settings';
import {BEE_SLIDERS, Sliders} from './sliders';
import {Timeline} from './timeline';
import type {Step} from './timeline';
import {CoreLost} from './worker_client';

const OPENING_SECONDS = 3;    // of random flight before it learns by itself
const EXPLORING_STEPS = 200;  // between two solves while it keeps learning
const AHEAD_SECONDS = 0.25;   // of steps that wait to be shown
const CHART_MILLISECONDS = 50;
const SETTLE_MILLISECONDS = 200;
const MEAN_STEPS = 1500;      // back to which the means are drawn
// It follows the nectar when the mean of so many steps is so much above the 1 of a random flight,
// until it falls to less.
const FOLLOWING = {steps: 100, mean: 1.25, less: 1.15};

type BeeSlider = (typeof BEE_SLIDERS)[number];

export class BeePage {
  private readonly timeline = new Timeline();
  private readonly strip = new StripView(element('strip', HTMLCanvasElement));
  private readonly ring = new RingView(element('ring', HTMLCanvasElement));
  private readonly memoryView = new MemoryView(element('memory', HTMLCanvasElement));
  private readonly sliders: Sliders<BeeSlider>;
  private readonly nectarChart: Chart;
  private readonly meanChart: Chart;
  private memory: Float32Array = new Float32Array();
  private optimum = NaN;
  private experience = 0;
  private learntFrom = 0;              // steps; 0 before anything was learnt
  private flight: Flight = 'random';
  private keepLearning = false;
  private following = false;           // the nectar, as its mean shows
  private busy = false;
  private explored = 0;
  private started = false;
  private playing = true;
  private asking = false;              // steps are on their way
  private work = Promise.resolve();    // what was asked of the core, one after the other
  private story = 0;                   // the opening goes on while this stays the same
  private lastChart = 0;
  private changing = 0;                // a timer: sliders are heard when they rest; 0 when all were
  private newWorld = false;            // and whether they have changed the world

  /** `standard` are the settings to start over with. */
  constructor(private core: CoreClient, private readonly settings: Settings,
              private readonly standard: Settings, private readonly changed: () => void) {
    this.sliders = new Sliders(settings, BEE_SLIDERS, (name) => this.slide(name));
    this.nectarChart = new Chart(element('nectar-chart', HTMLElement), {
      xLabel: 'step', yLabel: 'nectar', height: 190, yRange: [0, 2.05],
      lines: [{label: 'tasted', colour: 'bee', width: 1.5},
              {label: 'expected: value × (1 − γ)', colour: 'value', width: 2}],
    });
    this.meanChart = new Chart(element('mean-chart', HTMLElement), {
      xLabel: 'step', yLabel: 'mean nectar', height: 190, yRange: [0.5, 1.8],
      lines: [{label: 'this bee', colour: 'bee', width: 2.5},
              {label: 'the best flight', colour: 'optimum', dash: [6, 4]},
              {label: 'at random', colour: 'random', dash: [2, 3]}],
    });
    this.button('fly-random', () => this.flyAs('random'));
    this.button('learn', () => {
      this.learnThenFly();
      this.setPlaying(true);
    });
    this.button('fly-greedy', () => this.flyAs('greedy'));
    this.button('keep-learning', () => this.flyAs('exploring'));
    this.button('pause', () => this.setPlaying(!this.playing));
    this.button('reset', () => this.reset());
    this.allowWhatIsLive();
  }

  /** The visitor has come here. */
  start(): void {
    if (this.started) return;
    this.started = true;
    this.setFlight('random');
    this.begin();
    everyFrame((time, seconds) => this.frame(time, seconds));
  }

  /** The core is no more; what is asked from now on is asked of this one, from the beginning. */
  replaceCore(core: CoreClient): void {
    this.core = core;
    this.allowWhatIsLive();
    if (this.started) this.begin();
  }

  redraw(): void {
    this.nectarChart.redraw();
    this.meanChart.redraw();
  }

  private allowWhatIsLive(): void {
    if (!this.core.live) this.sliders.disable(['speed']);
    element('keep-learning', HTMLButtonElement).disabled = !this.core.live;
  }

  /** Without a click: a random flight, one solve, and what it was good for. */
  private begin(): void {
    const story = ++this.story;
    this.later(async () => {
      await this.open();
      await this.fill();
      void whenSeen(1000 * OPENING_SECONDS).then(() => {
        if (story === this.story) this.learnThenFly();
      });
    });
    this.setPlaying(true);
  }

  private button(id: string, pressed: () => void): void {
    element(id, HTMLButtonElement).addEventListener('click', () => {
      ++this.story;  // the visitor has taken over
      pressed();
    });
  }

  /** Does something with the core after all that was asked before. */
  private later(work: () => Promise<void>): void {
    this.work = this.work.then(work).catch((error: unknown) => {
      if (!(error instanceof CoreLost)) note([`That did not work: ${message(error)}`]);
      this.setBusy(false);
    });
  }

  private async open(): Promise<void> {
    this.optimum = await this.core.call('open', beeSettings(this.settings));
    this.timeline.clear();
    this.memory = new Float32Array();
    this.experience = 0;
    this.learntFrom = 0;
    show('solve-time', '–');
    show('optimum', this.optimum.toFixed(2));
    this.setFlight('random');
  }

  private receive(flown: Flown): void {
    this.timeline.add(flown);
    this.memory = flown.memory;
    this.experience = flown.experience;
  }

  /** Asks for the next steps to show. */
  private async fill(): Promise<void> {
    const wanted = Math.max(2, Math.ceil(this.settings.speed * AHEAD_SECONDS));
    const flown = await this.core.call('fly', this.flight, wanted);
    this.receive(flown);
    if (!this.keepLearning) return;
    this.explored += flown.steps;
    if (this.explored < EXPLORING_STEPS) return;
    this.explored = 0;
    await this.solve();
  }

  /** Flies at random, unseen, until there is as much experience as was asked for. */
  private async gather(): Promise<void> {
    const missing = this.settings.steps - this.experience;
    if (missing > 0) this.receive(await this.core.call('fly', 'random', missing, SHOWN_STEPS));
  }

  private async solve(): Promise<void> {
    this.setBusy(true);
    const learnt = await this.core.call('learn');
    this.learntFrom = Math.min(learnt.experience, this.settings.steps);
    this.setBusy(false);
    show('solve-time', `${whole(learnt.milliseconds)} ms`);
  }

  private learnThenFly(): void {
    this.later(async () => {
      await this.gather();
      await this.solve();
      this.timeline.restartMeans();
      this.setFlight('greedy');
      await this.fill();
    });
  }

  private flyAs(flight: Flight): void {
    this.later(async () => {
      if (flight !== 'random' && this.learntFrom === 0) {
        await this.gather();
        await this.solve();
      }
      this.explored = 0;
      this.setFlight(flight);
      await this.fill();
    });
    this.setPlaying(true);
  }

  private reset(): void {
    for (const name of BEE_SLIDERS) this.settings[name] = this.standard[name];
    this.settings.seed = this.standard.seed;
    this.sliders.update();
    this.changed();
    this.begin();
  }

  private slide(name: BeeSlider): void {
    this.changed();
    if (name === 'speed') return;
    ++this.story;
    clearTimeout(this.changing);
    this.newWorld ||= name === 'omega' || name === 'c';
    const change = this.changing = window.setTimeout(() => {
      const newWorld = this.newWorld;
      this.newWorld = false;
      this.later(async () => {
        try {
          await this.relearn(newWorld);
        } finally {
          if (this.changing === change) this.changing = 0;
          this.setBusy(false);
        }
      });
    }, SETTLE_MILLISECONDS);
    this.setBusy(false);
  }

  /** Learns again by the sliders, in a new world if that has changed, and goes on as before. */
  private async relearn(newWorld: boolean): Promise<void> {
    const flight = this.flight;
    const learnt = this.learntFrom > 0;
    if (newWorld) await this.open();
    else this.optimum = await this.core.call('setLearner', beeSettings(this.settings));
    show('optimum', this.optimum.toFixed(2));
    if (learnt) {
      await this.gather();
      await this.solve();
      this.timeline.restartMeans();
      this.setFlight(flight);
    }
    await this.fill();
  }

  private setFlight(flight: Flight): void {
    this.flight = flight;
    this.keepLearning = flight === 'exploring';
    const pressed = {random: 'fly-random', greedy: 'fly-greedy', exploring: 'keep-learning'}[flight];
    for (const id of ['fly-random', 'fly-greedy', 'keep-learning']) {
      element(id, HTMLButtonElement).setAttribute('aria-pressed', String(id === pressed));
    }
    this.showPhase();
  }

  private setBusy(learning: boolean): void {
    this.busy = learning || this.changing !== 0;
    element('panel-bee', HTMLElement).classList.toggle('busy', this.busy);
    this.showPhase();
  }

  /** The headline: what is the case, not what is hoped for. */
  private showPhase(): void {
    const step = this.timeline.current();
    this.following = this.flight !== 'random' && step?.flight === this.flight &&
      step.count >= FOLLOWING.steps && step.mean > (this.following ? FOLLOWING.less : FOLLOWING.mean);
    const flying = this.following ? 'Following the nectar' : 'Flying by what it learnt';
    show('phase', this.busy ? 'Learning…' : {random: 'Flying at random', greedy: flying,
                                             exploring: `${flying}, and learning on`}[this.flight]);
  }

  private setPlaying(playing: boolean): void {
    this.playing = playing;
    const button = element('pause', HTMLButtonElement);
    button.textContent = playing ? 'Pause' : 'Go on';
    button.setAttribute('aria-pressed', String(!playing));
  }

  private frame(time: number, seconds: number): void {
    if (this.settings.tab !== 'bee') return;
    if (this.playing) {
      this.timeline.advance(seconds * this.settings.speed);
      const ahead = this.timeline.end - 1 - this.timeline.now;
      if (!this.asking && this.timeline.end > 0 && ahead < this.settings.speed * AHEAD_SECONDS) {
        this.asking = true;
        this.later(async () => {
          try {
            await this.fill();
          } finally {
            this.asking = false;
          }
        });
      }
    }
    const beat = reducedMotion() ? 0 : Math.sin(time / 28);
    this.strip.draw(this.timeline, beat);
    this.ring.draw(this.timeline, beat);
    if (time - this.lastChart < CHART_MILLISECONDS) return;
    this.lastChart = time;
    this.memoryView.draw(this.memory);
    this.drawCharts();
    this.showNumbers();
  }

  private drawCharts(): void {
    if (this.timeline.end <= this.timeline.start) return;
    this.nectarChart.set(this.columns(SHOWN_STEPS, 1, (step) => [
      step.nectar, Number.isNaN(step.value) ? null : step.value * (1 - this.settings.gamma)]));
    // Further back, so that one sees what the learning was good for; its first step is a gap.
    const stride = Math.ceil(Math.min(MEAN_STEPS, this.timeline.now - this.timeline.start) / 500);
    this.meanChart.set(this.columns(MEAN_STEPS, Math.max(1, stride), (step) => [
      step.count <= stride ? null : step.mean, this.optimum, 1]));
  }

  /** Every `stride`th of the last steps, as a chart wants them. */
  private columns(most: number, stride: number, values: (step: Step) => (number | null)[]): uPlot.AlignedData {
    const last = Math.floor(this.timeline.now);
    const first = Math.max(this.timeline.start, last - most);
    const times: number[] = [];
    const columns: (number | null)[][] = [];
    for (let time = Math.ceil(first / stride) * stride; time <= last; time += stride) {
      times.push(time);
      values(this.timeline.at(time)).forEach((value, i) => (columns[i] ??= []).push(value));
    }
    return [times, ...columns];
  }

  private showNumbers(): void {
    const step = this.timeline.current();
    if (!step) return;
    show('mean', step.mean.toFixed(2));
    show('mean-steps', `${whole(step.count)} ${step.count === 1 ? 'step' : 'steps'}`);
    show('ghost-mean', step.ghostMean.toFixed(2));
    show('experience', whole(this.learntFrom));
    show('memory-note', this.learntFrom === 0 ? 'Nothing yet: it has not learnt.'
      : this.memory.length === 0 ? 'Nothing was recorded of this flight.'
      : `${whole(this.memory.length)} units, slow ones first.`);
    this.showPhase();
    const share = Math.max(0, Math.min(1, step.mean / 2));
    const gauge = element('gauge', HTMLElement);
    gauge.style.setProperty('--mean', `${100 * share}%`);
    gauge.style.setProperty('--best', `${50 * this.optimum}%`);
    document.body.dataset['flight'] = step.flight;
    document.body.dataset['steps'] = String(step.count);
  }
}
