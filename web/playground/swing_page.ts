// A pendulum, or a cart with a pole: practice that flickers by, what was learnt from it, and a visitor who interferes.

import {Chart} from './charts';
import {SWING_AHEAD} from './core';
import type {SwingLearnt, SwingMark, SwingPractice, SwingSystem} from './core';
import {LEARNING_LINES, LEARNING_STEPS, SCORES, learningColumns} from './learning_curve';
import {element, everyFrame, message, note, reducedMotion, show, whole} from './page';
import {swingSettings} from './settings';
import type {Settings} from './settings';
import {SWING_SLIDERS, Sliders} from './sliders';
import {RecordedSwingCore} from './recorded_swing';
import type {RecordedSwings, SwingCore} from './recorded_swing';
import {SwingView, between, isUp, stepsOf} from './swing_view';
import type {Place, SwingStep} from './swing_view';
import {CoreLost, WorkerClient} from './worker_client';

const FLICKER_SECONDS = 0.7;   // in which practice that has arrived is shown
const TRAIL = 6;               // steps before it that are shown beside one of practice
const AHEAD_STEPS = 3;         // that wait to be shown
const STILL_PACE = 0.1;        // where less motion is asked for
const CHART_MILLISECONDS = 50;
const CHART_STEPS = 200;
const SETTLE_MILLISECONDS = 400;
const STILL_MILLISECONDS = 1000;
const HOLDING_SECONDS = 1;     // upright, before it is said to be held
const SHOWN_SECONDS = 20;      // of an episode, unless the pole falls: as swing_session.cc has it
const PUSHES: Record<SwingSystem, number> = {pendulum: 5, 'cart-pole': 0.7};
const SYSTEMS: readonly SwingSystem[] = ['pendulum', 'cart-pole'];
const LONGEST_AHEAD = SWING_AHEAD[SWING_AHEAD.length - 1] ?? 1;
type SwingSlider = (typeof SWING_SLIDERS)[number];

export class SwingPage {
  private readonly view = new SwingView(element('swing', HTMLCanvasElement));
  private readonly sliders: Sliders<SwingSlider>;
  private charts: {learning: Chart; angle: Chart} | null = null;
  private core: SwingCore | null = null;
  private session = 0;             // what belongs to an earlier one is not heard
  private seconds = 0.05;          // of a step
  private learnt: SwingLearnt | null = null;
  private marks: SwingMark[] = [];
  private practised = 0;
  private steps: SwingStep[] = []; // those that were shown last, and those that wait
  private now = 0;                 // the index of the step that is shown; between two, the share of the way
  private acted = 0;               // steps that have been dropped from the front of `steps`
  private up = 0;                  // steps in a row that it has been upright
  private falls = 0;
  private counted = 0;             // steps of `steps` these know of
  private asking = false;
  private playing = true;
  private hand: {place: Place; told: boolean; free: boolean} | null = null;
  private changing = 0;            // a timer: sliders are heard when they rest
  private again = false;           // and whether it has to learn again
  private lastChart = 0;
  private lastStill = 0;           // when practice was last shown, where less motion is asked for
  private replaced = false;        // a core of this session has died before

  /** `recorded`: what is shown where no core can run. */
  constructor(private readonly settings: Settings, private readonly standard: Settings,
              private readonly changed: () => void, private readonly recorded: RecordedSwings | null) {
    this.sliders = new Sliders(settings, SWING_SLIDERS, (name) => this.slide(name));
    for (const system of SYSTEMS) {
      const choice = element(`system-${system}`, HTMLInputElement);
      choice.checked = settings.system === system;
      choice.addEventListener('change', () => {
        settings.system = system;
        this.changed();
        this.begin();
      });
    }
    const button = (id: string, pressed: () => void) =>
      element(id, HTMLButtonElement).addEventListener('click', pressed);
    button('swing-learn', () => this.begin());
    button('swing-push', () => this.push());
    button('swing-pause', () => this.setPlaying(!this.playing));
    button('swing-reset', () => this.reset());
    this.listenToHands();
  }

  /** The visitor has come here. */
  start(): void {
    if (this.charts) return;
    if (this.recorded) {
      for (const id of ['swing-learn', 'swing-push']) element(id, HTMLButtonElement).disabled = true;
      this.sliders.disable([]);
    }
    this.charts = {
      learning: new Chart(element('learning-chart', HTMLElement), {
        xLabel: 'steps of practice', yLabel: 'score of an episode', height: 290, ySize: 44,
        xLogarithmic: true, xRange: LEARNING_STEPS, yRange: () => SCORES[this.settings.system],
        lines: LEARNING_LINES,
      }),
      angle: new Chart(element('angle-chart', HTMLElement), {
        xLabel: 'step', yLabel: 'angle', height: 290,
        yRange: () => (this.settings.system === 'pendulum' ? [-3.3, 3.3] : [-0.25, 0.25]),
        lines: [{label: 'expected 16 steps before', colour: 'value', dots: 4},
                {label: 'seen', colour: 'bee', dots: 3},
                {label: 'upright', colour: 'soft', dash: [2, 3], width: 1}],
      }),
    };
    this.begin();
    everyFrame((time, seconds) => this.frame(time, seconds));
  }

  redraw(): void {
    for (const chart of Object.values(this.charts ?? {})) chart.redraw();
  }

  /** Learns from nothing, in a core of its own: whatever the last one was at is of no interest any more. */
  private begin(replaced = false): void {
    if (!this.charts) return;
    clearTimeout(this.changing);
    this.again = false;
    this.replaced = replaced;
    const session = ++this.session;
    this.core?.end();
    const core: SwingCore = this.core =
      this.recorded ? new RecordedSwingCore(this.recorded[this.settings.system]) : new WorkerClient();
    core.lost = (reason) => {
      if (session === this.session) this.restart(reason);
    };
    core.meanwhile = (practice) => {
      if (session === this.session) this.watch(practice);
    };
    this.clear();
    this.learnt = null;
    this.marks = [];
    this.practised = 0;
    this.asking = false;
    this.hand = null;
    this.setPlaying(true);
    show('swing-score', '–');
    show('swing-time', '–');
    void this.learn(core, session);
  }

  private async learn(core: SwingCore, session: number): Promise<void> {
    try {
      this.seconds = await core.call('swingOpen', swingSettings(this.settings));
      const learnt = await core.call('swingLearn');
      if (session !== this.session) return;
      this.learnt = learnt;
      this.practised = learnt.steps;
      this.clear();
      show('swing-score', whole(learnt.score).replace('-', '−'));
      show('swing-time', `${(learnt.milliseconds / 1000).toFixed(1)} s`);
    } catch (error) {
      this.complain(error, session);
    }
  }

  private complain(error: unknown, session: number): void {
    if (session !== this.session || error instanceof CoreLost) return;
    note([`That did not work: ${message(error)}`]);
    show('swing-phase', 'It could not learn.');
  }

  /** One that dies by itself may do so again: then the visitor decides. */
  private restart(reason: string): void {
    if (this.replaced) {
      ++this.session;
      this.core = null;
      note([`The pole's core stopped again (${reason}).`]);
      show('swing-phase', 'Nothing runs. “Learn again” starts another core.');
      return;
    }
    note([`The pole's core stopped (${reason}). Another core was started, and learns anew.`]);
    this.begin(true);
  }

  private reset(): void {
    for (const name of SWING_SLIDERS) this.settings[name] = this.standard[name];
    this.settings.seed = this.standard.seed;
    this.sliders.update();
    this.changed();
    this.begin();
  }

  /** Gravity, mass, noise and delay change under its hands; units and steps are for another learner. */
  private slide(name: SwingSlider): void {
    this.changed();
    this.again ||= name === 'neurons' || name === 'practice' || !this.learnt;
    clearTimeout(this.changing);
    if (!this.again) this.ask((core) => core.call('swingSetWorld', swingSettings(this.settings)));
    else this.changing = window.setTimeout(() => this.begin(), SETTLE_MILLISECONDS);
  }

  private push(): void {
    const side = (this.current()?.angularVelocity ?? 0) < 0 ? -1 : 1;
    if (this.learnt) this.ask((core) => core.call('swingPush', side * PUSHES[this.settings.system]));
    this.setPlaying(true);
  }

  /** Asks the core for something, as long as it is this one. */
  private ask(what: (core: SwingCore) => Promise<void>): void {
    const session = this.session;
    if (this.core) what(this.core).catch((error: unknown) => this.complain(error, session));
  }

  private setPlaying(playing: boolean): void {
    this.playing = playing;
    const button = element('swing-pause', HTMLButtonElement);
    button.textContent = playing ? 'Pause' : 'Go on';
    button.setAttribute('aria-pressed', String(!playing));
  }

  private listenToHands(): void {
    const canvas = this.view.canvas;
    let place: ((event: PointerEvent) => Place) | null = null;
    const drop = () => {
      if (!place) return;
      place = null;
      canvas.classList.remove('held');
      if (this.hand) this.hand = {...this.hand, free: true, told: false};
    };
    canvas.addEventListener('pointerdown', (event) => {
      const step = this.current();
      if (!this.learnt || this.recorded || !step || event.button !== 0) return;
      event.preventDefault();
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add('held');
      place = this.view.grasp(event, this.settings.system, {position: step.position, angle: step.angle});
      this.hand = {place: place(event), told: false, free: false};
      this.setPlaying(true);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (place && this.learnt) this.hand = {place: place(event), told: false, free: false};
    });
    for (const end of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) canvas.addEventListener(end, drop);
  }

  private clear(): void {
    this.steps = [];
    this.now = this.acted = this.up = this.falls = this.counted = 0;
  }

  private watch(practice: SwingPractice): void {
    this.practised = practice.steps;
    this.marks.push(...practice.marks);
    this.steps.push(...stepsOf(practice.rows));
  }

  private current(): SwingStep | null {
    return this.steps[Math.min(this.steps.length - 1, Math.floor(this.now))] ?? null;
  }

  private frame(time: number, seconds: number): void {
    if (this.settings.tab !== 'pole') return;
    const pace = reducedMotion() ? STILL_PACE : 1;
    if (!this.learnt) {
      this.flicker(seconds, time);
    } else if (this.playing) {
      this.now = Math.max(0, Math.min(this.steps.length - 1, this.now + (seconds * pace) / this.seconds));
      this.fill();
      this.count();
    }
    this.draw();
    if (time - this.lastChart < CHART_MILLISECONDS) return;
    this.lastChart = time;
    this.drawCharts();
    this.showNumbers();
  }

  /** Moves on through practice: the more of it waits, the faster; in single pictures where less motion is asked for. */
  private flicker(seconds: number, time: number): void {
    const waiting = this.steps.length - 1 - this.now;
    if (waiting <= 0 || (reducedMotion() && time - this.lastStill < STILL_MILLISECONDS)) return;
    this.lastStill = time;
    const shown = reducedMotion() ? waiting : Math.max(1, Math.ceil((waiting * seconds) / FLICKER_SECONDS));
    this.now = Math.min(this.steps.length - 1, this.now + shown);
    this.forget();
  }

  /** What the charts no longer show. */
  private forget(): void {
    const old = Math.floor(this.now) - CHART_STEPS - LONGEST_AHEAD;
    if (old <= CHART_STEPS) return;
    this.steps.splice(0, old);
    this.now -= old;
    this.acted += old;
    this.counted = Math.max(0, this.counted - old);
  }

  /** Asks for the next steps, and tells what the visitor's hand does first. */
  private fill(): void {
    const {core, hand, session} = this;
    if (!core || this.asking || this.steps.length - 1 - this.now >= AHEAD_STEPS) return;
    this.asking = true;
    const work = async () => {
      if (hand && !hand.told) {
        await core.call('swingHold', hand.free ? null : hand.place);
        hand.told = true;
        if (hand.free && this.hand === hand) this.hand = null;
      }
      const {rows} = await core.call('swingRun', AHEAD_STEPS);
      if (session === this.session) this.steps.push(...stepsOf(rows));
    };
    work().catch((error: unknown) => this.complain(error, session)).finally(() => {
      if (session === this.session) this.asking = false;
    });
    this.forget();
  }

  /** Goes through the steps that have been shown since the last time. */
  private count(): void {
    for (; this.counted <= Math.floor(this.now); ++this.counted) {
      const step = this.steps[this.counted];
      const before = this.steps[this.counted - 1];
      if (!step) return;
      const fell = step.episodeStep === 0 && before !== undefined &&
        before.episodeStep + 1 < Math.round(SHOWN_SECONDS / this.seconds);
      if (fell) ++this.falls;
      this.up = isUp(this.settings.system, step) && !fell ? this.up + 1 : 0;
    }
  }

  private draw(): void {
    const at = Math.min(this.steps.length - 1, Math.floor(this.now));
    const step = this.steps[at] ?? null;
    if (!step) {
      this.view.draw(this.settings.system, null, [], false);
      return;
    }
    if (!this.learnt) {
      this.view.draw(this.settings.system, step, reducedMotion() ? [] : this.steps.slice(Math.max(0, at - TRAIL), at), false);
      return;
    }
    const next = this.steps[at + 1];
    const moving = next && next.episodeStep > step.episodeStep ? between(step, next, this.now - at) : step;
    const held = this.hand && !this.hand.free ? this.hand.place : null;
    this.view.draw(this.settings.system, {...moving, ...held}, [], held !== null);
  }

  private drawCharts(): void {
    if (!this.charts) return;
    this.charts.learning.set(learningColumns(this.settings.system, this.marks, this.learnt));
    const last = Math.min(this.steps.length - 1, Math.floor(this.now));
    const first = Math.max(0, last - CHART_STEPS);
    const shown = this.steps.slice(first, last + 1);
    const times = shown.map((_, i) => this.acted + first + i);
    const expected = shown.map((step, i) => {
      const then = this.steps[first + i - LONGEST_AHEAD];
      const of = then && then.episodeStep + LONGEST_AHEAD === step.episodeStep ? then.ahead[SWING_AHEAD.length - 1] : undefined;
      return of ? of.angle : null;
    });
    this.charts.angle.set([times, expected, shown.map((step) => step.seen.angle), times.map(() => 0)]);
  }

  private showNumbers(): void {
    const panel = element('panel-pole', HTMLElement);
    panel.classList.toggle('busy', !this.learnt && this.core !== null);
    show('swing-steps', whole(this.practised));
    show('swing-fits', String(this.marks.filter((mark) => mark.fit).length));
    show('swing-up', this.learnt ? `${(this.up * this.seconds).toFixed(1)} s` : '–');
    element('swing-push', HTMLButtonElement).disabled = !this.learnt || this.recorded !== null;
    panel.dataset['state'] = this.learnt ? 'acting' : 'practising';
    panel.dataset['up'] = (this.up * this.seconds).toFixed(2);
    panel.dataset['falls'] = String(this.falls);
    const step = this.current();
    panel.dataset['angle'] = step ? step.angle.toFixed(3) : '';
    panel.dataset['position'] = step ? step.position.toFixed(3) : '';
    if (this.core) show('swing-phase', this.phase());
  }

  /** The headline: what is the case, not what is hoped for. */
  private phase(): string {
    if (!this.learnt) return this.practised === 0 ? 'Starting…' : 'Practising, and learning from it';
    if (this.hand && !this.hand.free) return 'In your hand';
    const held = this.up * this.seconds >= HOLDING_SECONDS;
    if (this.settings.system === 'pendulum') return held ? 'Holding it upright' : 'Swinging it up';
    return held ? 'Balancing' : this.falls > 0 ? 'It fell, and starts again' : 'Balancing';
  }
}
