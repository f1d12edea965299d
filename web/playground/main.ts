// Puts the page together: the core or its recording, the tabs, the theme, the address.

import './style.css';
import recording from 'virtual:recorded-run';
import {BeePage} from './bee_page';
import type {CoreClient} from './calls';
import type {BeeSettings} from './core';
import {LogPage} from './log_page';
import {MarketPage} from './market_page';
import {element, message, note, reducedMotion} from './page';
import {RecordedCore} from './recorded_core';
import {DEFAULTS, TABS, beeSettings, defaults, readSettings, writeSettings} from './settings';
import type {Settings} from './settings';
import {SwingPage} from './swing_page';
import {WorkerClient} from './worker_client';

const CONNECT_MILLISECONDS = 20_000;
const SILENT = 'The core has not answered for 20 seconds. Another one was started, and begins again.';
const THEMES = ['auto', 'light', 'dark'] as const;

/** The core in a worker, or why there is none. */
async function connect(): Promise<WorkerClient | string> {
  if (typeof WebAssembly === 'undefined') return 'This browser does not run WebAssembly';
  if (typeof Worker === 'undefined') return 'This browser does not run workers';
  let client: WorkerClient | null = null;
  try {
    client = new WorkerClient();
    await Promise.race([client.call('version'), new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`no answer for ${CONNECT_MILLISECONDS / 1000} seconds`)), CONNECT_MILLISECONDS);
    })]);
    return client;
  } catch (error) {
    client?.end();
    return `The core did not start (${message(error)})`;
  }
}

/** The bee as it was recorded, and why. The pole has a recording of its own. */
function recorded(why: string): CoreClient {
  note([`${why}, so nothing can be learnt here. What you see is a recorded run.`]);
  document.body.classList.add('recorded');
  return new RecordedCore(recording);
}

function setUpTheme(settings: Settings, changed: () => void): void {
  const button = element('theme', HTMLButtonElement);
  const apply = () => {
    if (settings.theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = settings.theme;
    button.textContent = {auto: 'Theme: auto', light: 'Theme: light', dark: 'Theme: dark'}[settings.theme];
    changed();
  };
  button.addEventListener('click', () => {
    settings.theme = THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length] ?? 'auto';
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  apply();
}

function setUpTabs(settings: Settings, changed: () => void): void {
  const apply = () => {
    for (const tab of TABS) {
      const here = settings.tab === tab;
      const button = element(`tab-${tab}`, HTMLButtonElement);
      button.setAttribute('aria-selected', String(here));
      button.tabIndex = here ? 0 : -1;
      element(`panel-${tab}`, HTMLElement).hidden = !here;
      element(`title-${tab}`, HTMLElement).hidden = !here;
    }
    changed();
  };
  TABS.forEach((tab, i) => {
    const button = element(`tab-${tab}`, HTMLButtonElement);
    button.addEventListener('click', () => {
      settings.tab = tab;
      apply();
    });
    button.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      const way = event.key === 'ArrowLeft' ? -1 : 1;
      settings.tab = TABS[(i + way + TABS.length) % TABS.length] ?? 'bee';
      apply();
      element(`tab-${settings.tab}`, HTMLButtonElement).focus();
    });
  });
  apply();
}

/** Gives `use` another core when this one is no more: one that fell silent a new one, once, others a recording. */
function watchOver(client: WorkerClient, use: (core: CoreClient) => void, replaced = false): void {
  client.lost = (why, silent) => {
    if (!silent || replaced) {
      use(recorded(`The core stopped (${why})`));
      return;
    }
    note([SILENT]);
    const other = new WorkerClient();
    watchOver(other, use, true);
    use(other);
  };
}

async function main(): Promise<void> {
  const standard = defaults(reducedMotion());
  const {settings, notes} = readSettings(location.hash, standard);
  note(notes);
  const keep = () =>
    history.replaceState(null, '', writeSettings(settings, standard) || location.pathname + location.search);
  // Tabs and theme can be chosen before the core is there, which may take a while; all else waits for it.
  let pages: {bee: BeePage; market: MarketPage; pole: SwingPage; log: LogPage} | null = null;
  setUpTheme(settings, () => {
    keep();
    for (const page of Object.values(pages ?? {})) page.redraw();
  });
  setUpTabs(settings, () => {
    keep();
    pages?.[settings.tab].start();
  });
  const connected = await connect();
  const core = typeof connected === 'string' ? recorded(connected) : connected;
  const bee = new BeePage(core, settings, standard, keep);
  const market = new MarketPage(core, settings, keep);
  const pole = new SwingPage(settings, standard, keep, core.live ? null : recording.swings);
  const log = new LogPage(settings, keep, core.live);
  pages = {bee, market, pole, log};
  if (typeof connected !== 'string') {
    watchOver(connected, (other) => {
      bee.replaceCore(other);
      market.replaceCore(other);
    });
  }
  for (const tab of TABS) element(`panel-${tab}`, HTMLElement).inert = false;
  pages[settings.tab].start();
  // The same page with another address: begin again.
  addEventListener('hashchange', () => location.reload());
}

/** For the browser's console: `await waggle.flight({seed: 7}, 2000, 500)`, the rows of a flight of its own. */
async function flight(some: Partial<BeeSettings>, random: number, greedy: number): Promise<number[]> {
  const client = new WorkerClient();
  await client.call('open', {...beeSettings(DEFAULTS), ...some});
  const first = await client.call('fly', 'random', random);
  await client.call('learn');
  const second = await client.call('fly', 'greedy', greedy);
  client.end();
  return [...first.rows, ...second.rows];
}

declare global {
  interface Window {
    waggle: {flight: typeof flight};
  }
}
window.waggle = {flight};
void main();
