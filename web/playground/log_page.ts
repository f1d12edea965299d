// A visitor's own log: what its columns are, what is learnt from it, and how that compares with what was done.

import {Chart} from './charts';
import {ROLES} from './core';
import type {LogColumn, LogFile, LogProgress, LogResult, Role} from './core';
import {element, message, note, show, whole} from './page';
import type {Settings} from './settings';
import {LOG_SLIDERS, Sliders} from './sliders';
import {CoreLost, WorkerClient} from './worker_client';

const SAMPLE = 'bee-world.csv';
const CHART_HEIGHT = 230;
const ROLE_TEXTS: Record<Role, string> = {
  observation: 'observed', reward: 'the reward', action: 'an action', episode: 'the episode',
  terminated: 'whether it ended here', truncated: 'whether it was cut here', unused: 'not used',
};
/** Places in a row of LogResult.last; the logged actions follow, then the greedy ones. */
const LAST = {reward: 0, value: 1, realised: 2, actions: 4};
const FILES: Record<LogFile, string> = {model: 'log-model', source: 'log-source', header: 'log-header'};

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** Four digits, as a person reads them. */
function digits(value: number): string {
  return Number(value.toPrecision(4)).toString().replace('-', '−');
}

function inWords(what: string): string {
  return what.replace(/^(pass \d+)$/, '$1 through the log').replace(/^round .*/, 'what to do');
}

export class LogPage {
  private readonly sliders: Sliders<'discount'>;
  private charts: {value: Chart; action: Chart} | null = null;
  private core: WorkerClient | null = null;
  private session = 0;              // what belongs to an earlier one is not heard
  private file: File | null = null;
  private columns: LogColumn[] = [];
  private result: LogResult | null = null;

  /** `live`: whether a core can run here. */
  constructor(private readonly settings: Settings, private readonly changed: () => void,
              private readonly live: boolean) {
    this.sliders = new Sliders(settings, LOG_SLIDERS, () => this.changed());
    const button = (id: string, pressed: () => void) =>
      element(id, HTMLButtonElement).addEventListener('click', pressed);
    button('log-sample', () => void this.trySample());
    button('log-learn', () => void this.learnAgain());
    button('log-stop', () => this.stop());
    for (const [what, id] of Object.entries(FILES) as [LogFile, string][]) button(id, () => void this.save(what));
    const input = element('log-file', HTMLInputElement);
    input.addEventListener('change', () => {
      const file = input.files?.[0];
      if (file) void this.begin(file);
      input.value = '';  // the same file can be chosen again
    });
    this.listenToDrops();
  }

  /** The visitor has come here. */
  start(): void {
    if (this.live) return;
    show('log-phase', 'Your log needs WebAssembly and workers, which do not run here.');
    element('log-sample', HTMLButtonElement).disabled = true;
    element('log-file', HTMLInputElement).disabled = true;
    this.sliders.disable([]);
  }

  redraw(): void {
    for (const chart of Object.values(this.charts ?? {})) chart.redraw();
  }

  private listenToDrops(): void {
    const place = element('log-drop', HTMLElement);
    // Wherever it is dropped on this tab: a browser would leave the page for the file.
    document.addEventListener('dragover', (event) => {
      if (this.settings.tab !== 'log') return;
      event.preventDefault();
      place.classList.add('over');
    });
    document.addEventListener('dragleave', () => place.classList.remove('over'));
    document.addEventListener('drop', (event) => {
      if (this.settings.tab !== 'log') return;
      event.preventDefault();
      place.classList.remove('over');
      const files = event.dataTransfer?.files;
      if (!files || !this.live) return;
      if (files.length > 1) note([`${files.length} files were dropped: the first is taken.`]);
      if (files[0]) void this.begin(files[0]);
      else this.complain(new Error('What was dropped is no file.'));
    });
  }

  /** A core of its own, whatever the last one was at. */
  private renew(): {core: WorkerClient; session: number} {
    const session = ++this.session;
    this.core?.end();
    const core = this.core = new WorkerClient();
    core.lost = (reason) => {
      if (session === this.session) this.complain(new Error(`The core stopped (${reason}).`));
    };
    core.progress = (progress) => {
      if (session === this.session) this.tell(progress);
    };
    this.setResult(null);
    this.say(null);
    return {core, session};
  }

  private async trySample(): Promise<void> {
    const {core, session} = this.renew();
    this.setBusy('Making a sample…');
    await this.attempt(session, async () => {
      const bytes = await core.call('logSample');
      if (session === this.session) await this.begin(new File([bytes], SAMPLE, {type: 'text/csv'}));
    });
  }

  /** Opens a file; learns from it at once if its columns say what is what. */
  private async begin(file: File): Promise<void> {
    this.file = null;
    this.setColumns([]);
    show('log-name', `${file.name}. Drop another file here, or choose one`);
    const {core, session} = this.renew();
    this.setBusy('Reading…');
    await this.attempt(session, async () => {
      const {columns, read} = await core.call('logOpen', file);
      if (session !== this.session) return;
      this.file = file;
      this.setColumns(columns);
      if (read < file.size) {
        note([`${file.name} has ${megabytes(file.size)}: its first ${megabytes(read)} are read here. The program waggle takes all of it.`]);
      }
      const missing = (['reward', 'action'] as const).filter((role) => !columns.some((column) => column.role === role));
      if (missing.length > 0) {
        this.setBusy(null);
        show('log-phase', 'Which column is what?');
        this.say(`No column looks like ${missing.map((role) => ROLE_TEXTS[role]).join(' or ')}: choose below, then press Learn.`);
        return;
      }
      await this.learn(core, session);
    });
  }

  private async learnAgain(): Promise<void> {
    const {file} = this;
    if (!file) return;
    const {core, session} = this.renew();
    this.setBusy('Reading…');
    await this.attempt(session, async () => {
      await core.call('logOpen', file);
      await this.learn(core, session);
    });
  }

  private async learn(core: WorkerClient, session: number): Promise<void> {
    this.setBusy('Learning…');
    const roles = this.columns.map((column) => column.role);
    const result = await core.call('logLearn', roles, this.settings.discount, this.settings.seed);
    if (session !== this.session) return;
    this.setBusy(null);
    this.setResult(result);
    show('log-phase', 'Learnt');
    if (result.rows < result.rowsInFile) {
      note([`The first ${whole(result.rows)} of ${whole(result.rowsInFile)} rows were learnt from. The program waggle takes all of them.`]);
    }
  }

  private stop(): void {
    ++this.session;
    this.core?.end();
    this.core = null;
    this.setBusy(null);
    show('log-phase', 'Stopped: nothing was learnt');
  }

  /** Does something with the core, and says what went wrong. */
  private async attempt(session: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (session === this.session && !(error instanceof CoreLost)) this.complain(error);
    }
  }

  private complain(error: unknown): void {
    this.setBusy(null);
    show('log-phase', 'That did not work');
    this.say(message(error));
  }

  private say(problem: string | null): void {
    const place = element('log-problem', HTMLElement);
    place.hidden = problem === null;
    place.textContent = problem ?? '';
  }

  private setBusy(phase: string | null): void {
    if (phase !== null) show('log-phase', phase);
    element('panel-log', HTMLElement).classList.toggle('busy', phase !== null);
    element('log-progress', HTMLProgressElement).hidden = phase === null;
    element('log-progress', HTMLProgressElement).removeAttribute('value');
    element('log-stop', HTMLButtonElement).disabled = phase === null;
    element('log-learn', HTMLButtonElement).disabled = phase !== null || this.file === null;
  }

  private tell({what, done, total}: LogProgress): void {
    show('log-phase', `Learning: ${inWords(what)}`);
    const bar = element('log-progress', HTMLProgressElement);
    if (total > 0) bar.value = done / total;
    else bar.removeAttribute('value');
  }

  private setColumns(columns: LogColumn[]): void {
    this.columns = columns;
    element('log-columns-card', HTMLElement).hidden = columns.length === 0;
    element('log-columns', HTMLElement).replaceChildren(...columns.map((column, i) => {
      const row = document.createElement('tr');
      const name = document.createElement('th');
      name.scope = 'row';
      name.textContent = column.name;
      const cells = document.createElement('td');
      cells.className = 'cells';
      cells.textContent = column.cells.join(', ');
      const choice = document.createElement('select');
      choice.setAttribute('aria-label', `What ${column.name} is`);
      choice.id = `log-role-${i}`;
      choice.append(...ROLES.map((role) => new Option(ROLE_TEXTS[role], role, false, role === column.role)));
      choice.addEventListener('change', () => {
        column.role = ROLES.find((role) => role === choice.value) ?? 'unused';
      });
      const last = document.createElement('td');
      last.append(choice);
      row.append(name, cells, last);
      return row;
    }));
  }

  private setResult(result: LogResult | null): void {
    this.result = result;
    element('log-result', HTMLElement).hidden = result === null;
    for (const id of Object.values(FILES)) element(id, HTMLButtonElement).disabled = result === null;
    show('log-rows', result ? whole(result.rows) : '–');
    show('log-episodes', result ? whole(result.episodes) : '–');
    show('log-reward', result ? digits(result.evaluation.meanReward) : '–');
    show('log-time', result ? `${(result.milliseconds / 1000).toFixed(1)} s` : '–');
    const known = result && result.evaluation.withReturn >= 2;
    show('log-correlation', known ? result.evaluation.correlation.toFixed(2).replace('-', '−') : '–');
    if (!result) return;
    this.drawCharts(result);
    this.showPredictions(result);
    this.showFigures(result);
  }

  private drawCharts(result: LogResult): void {
    this.charts ??= {
      value: new Chart(element('value-chart', HTMLElement), {
        xLabel: 'row', yLabel: 'value', height: CHART_HEIGHT, ySize: 44,
        lines: [{label: 'return in the log', colour: 'bee', width: 1.5}, {label: 'value', colour: 'value', width: 2}],
      }),
      action: new Chart(element('action-chart', HTMLElement), {
        xLabel: 'row', yLabel: 'action', height: CHART_HEIGHT, ySize: 44,
        lines: [{label: 'in the log', colour: 'random', dots: 5}, {label: 'the controller', colour: 'value', dots: 4}],
      }),
    };
    const first = result.rows - result.last.length;
    const rows = result.last.map((_, i) => first + i + 1);
    const column = (place: number) => result.last.map((cells) => cells[place] ?? null);
    this.charts.value.set([rows, column(LAST.realised), column(LAST.value)]);
    this.charts.action.set([rows, column(LAST.actions), column(LAST.actions + result.actions.length)]);
    const labels = result.choices.map((label, i) => `${i}: ${label}`).join(', ');
    show('action-note', `${result.actions[0] ?? ''} in the last rows${result.actions.length > 1 ? ', the first of the actions' : ''}. ${labels}`);
  }

  private showPredictions(result: LogResult): void {
    const table = element('log-predictions', HTMLTableElement);
    table.replaceChildren();
    const {predictions} = result;
    if (!predictions) {
      show('log-predictions-note', 'What is to come in rewards, and nothing else.');
      return;
    }
    const cell = (row: HTMLTableRowElement, text: string, kind: 'th' | 'td' = 'td', number = true) => {
      const made = document.createElement(kind);
      made.textContent = text;
      if (number) made.className = 'number';
      row.append(made);
    };
    const head = table.createTHead().insertRow();
    cell(head, 'steps ahead', 'th', false);
    for (const horizon of predictions.horizons) cell(head, String(horizon), 'th');
    const body = table.createTBody();
    predictions.names.forEach((name, i) => {
      const row = body.insertRow();
      cell(row, name, 'th', false);
      for (const explained of predictions.explained) {
        const share = explained[i];
        cell(row, typeof share === 'number' ? `${Math.round(100 * Math.max(0, share))} %` : '–');
      }
    });
    show('log-predictions-note', 'The share of its variance that is foreseen, given what is done until then, in rows that were not fitted to.');
  }

  private showFigures(result: LogResult): void {
    const e = result.evaluation;
    const figures: [string, string][] = [
      ['Bellman error', `${digits(e.bellmanError)} of the logged actions, ${digits(e.greedyBellmanError)} greedy, ${digits(result.residual)} when it was learnt`],
      ['Value and return', e.withReturn < 2 ? 'too few rows to know what followed'
        : `correlation ${e.correlation.toFixed(3).replace('-', '−')}; return ≈ ${digits(e.slope)} value ${e.intercept < 0 ? '−' : '+'} ${digits(Math.abs(e.intercept))}; ${whole(e.withReturn)} rows`],
      ...(result.choices.length > 0
        ? [['Actions agree', `in ${(100 * e.sameShare).toFixed(1)} % of the rows`] as [string, string]]
        : result.actions.map((name, i): [string, string] => [i === 0 ? 'Greedy − logged' : '',
            `${name}: root mean square ${digits(e.difference[i] ?? NaN)}, logged deviation ${digits(e.deviation[i] ?? NaN)}`])),
      ['Kind of value', result.predictive ? 'a value on predictive states' : 'a value on the memory itself'],
    ];
    element('log-figures', HTMLElement).replaceChildren(...figures.flatMap(([term, text]) => {
      const dt = document.createElement('dt');
      dt.textContent = term;
      const dd = document.createElement('dd');
      dd.textContent = text;
      return [dt, dd];
    }));
    element('log-warnings', HTMLElement).replaceChildren(...result.warnings.map((warning) => {
      const item = document.createElement('li');
      item.textContent = warning;
      return item;
    }));
    show('log-command', `waggle evaluate ${this.modelName()} ANOTHER_LOG.csv`);
  }

  private modelName(): string {
    return `${(this.file?.name ?? 'log').replace(/\.[^.]*$/, '')}.safetensors`;
  }

  private async save(what: LogFile): Promise<void> {
    const {core, session} = this;
    if (!core || !this.result) return;
    await this.attempt(session, async () => {
      const bytes = await core.call('logFile', what);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([bytes]));
      link.download = {model: this.modelName(), source: 'controller.c', header: 'controller.h'}[what];
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  }
}
