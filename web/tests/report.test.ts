import {mkdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {launch, look, open, picture} from './browser';
import {controlFiles, controlResults} from './control_results';
import {must, mustPaper, temporaryFolder, waggle} from './waggle';

// Ids of the figures that a report of everything must have; one for every picture of the paper first.
const figures = [
  'bee-world-initial', 'bee-world-improved', 'bee-world-flights', 'bee-world-flow',
  'market-maker-arrival-value', 'market-maker-arrival-inventory', 'market-maker-arrival-actions',
  'market-maker-arrival-stationary', 'market-maker-departure-value', 'market-maker-departure-actions',
  'bee-world-ridge', 'bee-world-learning', 'bee-world-seeds', 'market-maker-arrival-ridge',
  'market-maker-arrival-learning', 'compare-bee-world-seeds', 'bias-bias', 'convergence-theorem-1-slopes',
  'convergence-theorem-2-slopes', 'online-bee-world-distance', 'online-bee-world-lemma',
  'online-control-nectar', 'forecasting-mackey-glass', 'forecasting-narma10', 'forecasting-lorenz',
  'forecasting-memory', 'learn-value', 'learn-calibration', 'evaluate-reward', 'evaluate-log-calibration',
  'forecast-column_1', 'control-steps', 'control-seconds', 'control-practice', 'control-predictions', 'control-seeds',
];

const folder = temporaryFolder();
const at = (...names: string[]) => join(folder.path, ...names);
// One made before, such as that of ./dev run, or one with a single seed of everything.
const given = process.env.REPORT;
const report = given ? resolve(given) : at('report.html');
let browser: Browser;

/** Waits until every figure is drawn in a theme. */
async function drawn(page: Page, theme: string): Promise<void> {
  await page.waitForFunction((name) => document.documentElement.dataset.drawn === name, theme, {timeout: 60_000});
}

async function makeReport(): Promise<void> {
  await mustPaper('reproduce', 'all', '--seeds', '1', '--out', at('results', 'all'));
  await mustPaper('compare', 'bee-world', '--seeds', '1', '--out', at('results', 'compare'));
  await must('simulate', 'bee-world', '--steps', '1000', '--seed', '1', '-o', at('log.csv'));
  await must('learn', at('log.csv'), '--reward', 'nectar', '--action', 'move', '--gamma', '0.5', '-o', at('bee.safetensors'),
    '--results', at('results', 'learn'));
  await must('evaluate', at('bee.safetensors'), 'bee-world', '--steps', '1000', '--out', at('results', 'evaluate'));
  await must('evaluate', at('bee.safetensors'), at('log.csv'), '--out', at('results', 'evaluate-log'));
  await mustPaper('series', 'mackey-glass', '--steps', '1500', '-o', at('series.csv'));
  await must('forecast', at('series.csv'), '--column', 'x', '--closed-loop', '100', '--out', at('results', 'forecast'));
  // The control suite takes minutes: results as it writes them.
  mkdirSync(at('results', 'control'));
  const files = {...controlFiles, 'results.json': JSON.stringify(controlResults)};
  for (const [name, text] of Object.entries(files)) writeFileSync(at('results', 'control', name), text);
  await must('report', at('results'), '-o', report);
}

beforeAll(async () => {
  if (!given) await makeReport();
  browser = await launch();
}, 600_000);

afterAll(async () => {
  await browser?.close();
  folder.remove();
});

describe('a report of everything', () => {
  test('is one file below 4 MB', () => {
    expect(statSync(report).size).toBeLessThan(4e6);
    expect(readFileSync(report, 'utf8')).not.toMatch(/<(script|link|img)[^>]+(src|href)="(?!data:)/);
  });

  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1200, 390]) {
      test(`draws every figure, ${theme}, ${width} pixels wide`, async () => {
        const {page, complaints} = await open(browser, pathToFileURL(report).href, {theme, width});
        await drawn(page, theme);
        const ids = await page.$$eval('figure', (all) => all.map((figure) => figure.id));
        if (!given) expect(ids).toEqual(expect.arrayContaining(figures));
        expect(await page.$$eval('.missing', (all) => all.map((note) => note.textContent))).toEqual([]);
        const charts = await page.$$('.chart');
        for (const chart of charts) {
          const canvas = await chart.$('canvas');
          expect(canvas, await chart.getAttribute('aria-label') ?? '').not.toBeNull();
          const seen = await canvas!.evaluate(look as (canvas: Element) => ReturnType<typeof look>);
          expect(seen.colours, await chart.getAttribute('aria-label') ?? '').toBeGreaterThan(8);
          expect(seen.corner).toEqual(theme === 'dark' ? [0x17, 0x1c, 0x24] : [0xff, 0xff, 0xff]);
          const box = await canvas!.boundingBox();
          expect(box!.width).toBeGreaterThan(200);
          expect(box!.x + box!.width).toBeLessThanOrEqual(width);
        }
        expect(charts.length).toBeGreaterThan(40);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
        expect(complaints).toEqual([]);
        if (width > 1000) {
          await picture(page.locator('#bee-world-flights'), `report-flights${theme === 'dark' ? '-dark' : ''}`);
        }
        await page.close();
      }, 120_000);
    }
  }

  test('has marks in every chart', async () => {
    // What the SVG buttons make, taken before the browser, which saves only ten files at a time.
    const {page, complaints} = await open(browser, pathToFileURL(report).href, {
      before: async (fresh) => {
        await fresh.addInitScript(() => {
          HTMLAnchorElement.prototype.click = function() {
            void fetch(this.href).then((answer) => answer.text()).then((text) => (document.body.dataset.saved = text));
          };
        });
      },
    });
    await drawn(page, 'light');
    for (const group of await page.$$('.saving')) {
      const name = await group.getAttribute('aria-label') ?? '';
      await page.evaluate(() => delete document.body.dataset.saved);
      await (await group.$('button:text-is("SVG")'))!.click();
      await page.waitForFunction(() => document.body.dataset.saved);
      const drawing = await page.evaluate(() => {
        const parsed = new DOMParser().parseFromString(document.body.dataset.saved!, 'image/svg+xml');
        const dashed = (within: string) => [...parsed.querySelectorAll(`${within} [stroke-dasharray]`)]
          .filter((mark) => mark.getAttribute('stroke-dasharray')).length > 0;
        return {
          // Groups of marks other than those of axes and legends, with something in them.
          marks: [...parsed.querySelectorAll('[class*="_marks"] path')]
            .filter((path) => (path.getAttribute('d') ?? '').length > 10).length,
          size: document.body.dataset.saved!.length,
          legend: parsed.querySelector('.role-legend') !== null,
          dashes: dashed('[class*="_marks"]'),
          dashesOfLegend: dashed('.role-legend'),
        };
      });
      expect(drawing.marks, name).toBeGreaterThan(0);
      expect(drawing.size, name).toBeLessThan(7e5);
      if (drawing.legend) expect(drawing.dashesOfLegend, name).toBe(drawing.dashes);
    }
    expect(complaints).toEqual([]);
    await page.close();
  }, 120_000);

  test('lets figures be kept as SVG, PNG and CSV', async () => {
    const {page, complaints} = await open(browser, pathToFileURL(report).href);
    await drawn(page, 'light');
    const save = async (id: string, label: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'), page.locator(`#${id} .saving`).first().getByText(label, {exact: true}).click()]);
      return {name: download.suggestedFilename(), content: readFileSync(await download.path())};
    };
    const svg = await save('bias-bias', 'SVG');
    expect(svg.name).toBe('bias-bias.svg');
    expect(svg.content.toString()).toMatch(/^<svg/);
    const png = await save('bee-world-flights', 'PNG');
    expect(png.name).toBe('bee-world-flights-1.png');
    expect(png.content.subarray(1, 4).toString()).toBe('PNG');
    const csv = await save('bias-bias', 'CSV');
    const lines = csv.content.toString().trim().split('\n');
    expect(lines[0]).toBe('steps,exact,lstd_error,bellman_residual_error');
    expect(lines.length).toBeGreaterThan(4);
    // The nectar under a flight is a picture in the drawing.
    const flight = (await save('bee-world-flights', 'SVG')).content.toString();
    expect(flight).toMatch(/<image [^>]*href="data:image\/png;base64,/);
    expect(flight.length).toBeLessThan(1.5e5);
    if (!given) {  // the CSV is the file, whole and to its last digit, though not all of it is drawn
      const numbers = (text: string) => text.split('\n').slice(1).map((line) => line.split(',').map(Number));
      const file = (...names: string[]) => numbers(readFileSync(at('results', 'all', ...names), 'utf8'));
      expect(numbers(csv.content.toString())).toEqual(file('bias', 'bias.csv'));
      expect(numbers((await save('market-maker-arrival-inventory', 'CSV')).content.toString()))
        .toEqual(file('market-maker-arrival', 'inventory.csv'));
      expect(await page.textContent('#market-maker-arrival-inventory .remark')).toBe('Drawn: 5,000 of the 10,000 rows ' +
        'of market-maker-arrival/inventory.csv, evenly spaced. Its CSV has them all.');
    }
    expect(complaints).toEqual([]);
    await page.close();
  }, 60_000);

  test('can be used by keyboard alone, and changes its theme', async () => {
    const {page, complaints} = await open(browser, pathToFileURL(report).href);
    await drawn(page, 'light');
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await ground();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('To the results');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await drawn(page, 'dark');
    expect(await ground()).not.toBe(before);
    const unreachable = await page.$$eval('button, a, summary', (all) => all.filter((one) => (one as HTMLElement).tabIndex < 0).length);
    expect(unreachable).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  }, 60_000);

  test('says how to repeat each run, and with which options', async () => {
    const {page} = await open(browser, pathToFileURL(report).href);
    for (const section of await page.$$('main > section')) {
      expect(await section.$eval('.command code', (code) => code.textContent)).toMatch(/^waggle (reproduce|compare|learn|evaluate|forecast) /);
      expect(await section.$eval('.repeat .version', (line) => line.textContent)).toMatch(/^waggle \d+\.\d+\.\d+$/);
    }
    await page.close();
  });
});

describe('damaged results', () => {
  test('are named where the figure would have been', async () => {
    await mustPaper('reproduce', 'bee-world', '--seeds', '1', '--out', at('damaged'));
    rmSync(at('damaged', 'bee-world', 'initial_flight.csv'));
    writeFileSync(at('damaged', 'bee-world', 'learning_curve.csv'), 'steps,median,p05,p95,optimum\n100,1.2,1');
    const field = readFileSync(at('damaged', 'bee-world', 'improved_flight.csv'), 'utf8').split('\n');
    field[5] = field[5]!.replace(/,[^,]*,/, ',nan,');
    writeFileSync(at('damaged', 'bee-world', 'improved_flight.csv'), field.join('\n'));
    const path = readFileSync(at('damaged', 'bee-world', 'ridge_path.csv'), 'utf8').split('\n');
    path[3] = path[3]!.replace(/^([^,]*,[^,]*),[^,]*/, '$1,0');
    writeFileSync(at('damaged', 'bee-world', 'ridge_path.csv'), path.join('\n'));
    const ran = await waggle('report', at('damaged'), '-o', at('damaged.html'));
    expect(ran.status).toBe(0);
    expect(ran.output).toContain('2 missing');
    const {page, complaints} = await open(browser, pathToFileURL(at('damaged.html')).href);
    await drawn(page, 'light');
    expect(await page.textContent('#bee-world-initial .missing')).toContain("'bee-world/initial_flight.csv' is not there");
    expect(await page.textContent('#bee-world-learning .missing')).toMatch(/learning_curve.csv/);
    expect(await page.textContent('#bee-world-improved .note')).toContain("1 of 250 values of 'nectar'");
    expect(await page.textContent('#bee-world-ridge .note')).toContain("1 of 20 values of 'error' is not shown");
    expect(await page.locator('#bee-world-ridge canvas').count()).toBe(2);
    expect(await page.locator('#bee-world-flights canvas').count()).toBe(3);  // of four
    expect(complaints).toEqual([]);
    await page.close();
  }, 60_000);
});
