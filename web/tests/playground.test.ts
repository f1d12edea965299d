// The playground as a visitor meets it, in a real browser.

import {readFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';

import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {defaults, readSettings, writeSettings} from '../playground/settings';
import {launch, looks, open, picture} from './browser';
import {colours, file, flown, number, numbers, text, url} from './playground';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

describe('the file', () => {
  test('is below 1.5 MB compressed', () => {
    expect(gzipSync(readFileSync(file), {level: 9}).length).toBeLessThan(1_500_000);
  });
});

describe('the address', () => {
  const notes = (hash: string) => readSettings(hash).notes;

  test('knows its own names only', () => {
    expect(notes('#toString=1&hasOwnProperty=x&__proto__=2')).toEqual([
      'toString is nothing that can be set here.',
      'hasOwnProperty is nothing that can be set here.',
      '__proto__ is nothing that can be set here.',
    ]);
  });

  test('is complained of five times at most', () => {
    const many = notes(`#${Array.from({length: 3000}, (_, i) => `x${i}=1`).join('&')}`);
    expect(many.length).toBe(6);
    expect(many[4]).toBe('x4 is nothing that can be set here.');
    expect(many[5]).toBe('And 2995 more of the kind in the address.');
  });

  test('sets what a slider can show', () => {
    const {settings, notes: said} = readSettings('#units=137&omega=0.123&lambda=0.002&seed=1.6');
    expect(settings).toMatchObject({units: 140, omega: 0.12, lambda: 0.0032, seed: 2});
    expect(said[0]).toBe('units = 137 is between two settings: 140 is used.');
    expect(said.length).toBe(4);
    const fine = '#omega=0.07&c=0.29&gamma=0.95&units=490&lambda=0.0032&memory=0.35&steps=300&seed=4294967295&speed=6';
    expect(notes(fine)).toEqual([]);
    expect(writeSettings(readSettings(fine).settings)).toBe(fine);
  });

  test('holds no speed that only less motion asked for', () => {
    const still = defaults(true);
    expect(readSettings('', still).settings.speed).toBe(4);
    expect(writeSettings(readSettings('', still).settings, still)).toBe('');
    expect(readSettings('#speed=40', still).settings.speed).toBe(40);
    expect(writeSettings(readSettings('#speed=40', still).settings, still)).toBe('#speed=40');
  });
});

describe('without a click', () => {
  test('a random bee becomes one that follows the nectar', async () => {
    const {page, complaints} = await open(browser, url);
    await flown(page, 'random', 1);
    await flown(page, 'greedy', 250);
    expect(await text(page, 'phase')).toBe('Following the nectar');
    const [mean, ghost] = await numbers(page, 'mean', 'ghost-mean');
    expect(mean).toBeGreaterThan(1.4);
    expect(mean).toBeLessThan(ghost! + 0.02);
    expect(await number(page, 'optimum')).toBeCloseTo(1.63, 2);
    expect(await text(page, 'solve-time')).toMatch(/^[\d,]+ ms$/);
    for (const [canvas, least] of [['#strip', 60], ['#ring', 30], ['#memory', 20],
                                   ['#nectar-chart canvas', 10], ['#mean-chart canvas', 10]] as const) {
      expect(await colours(page, canvas), canvas).toBeGreaterThan(least);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('less motion where less is asked for', async () => {
    const {page, complaints} = await open(browser, url, {still: true});
    await flown(page, 'greedy', 1);
    expect(await text(page, 'show-speed')).toBe('4');
    expect(page.url()).toBe(url);
    await page.click('#reset');
    expect(await text(page, 'show-speed')).toBe('4');
    expect(page.url()).toBe(url);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('a visitor', () => {
  test('presses every button', async () => {
    const {page, complaints} = await open(browser, `${url}#speed=240`);
    await page.click('#fly-random');
    await flown(page, 'random', 300);
    expect(await number(page, 'mean')).toBeGreaterThan(0.7);
    expect(await number(page, 'mean')).toBeLessThan(1.25);
    await page.click('#learn');
    await flown(page, 'greedy', 800);
    const once = await number(page, 'mean');
    expect(once).toBeGreaterThan(1.4);
    await page.click('#keep-learning');
    await flown(page, 'exploring', 400);
    await page.click('#fly-greedy');
    await flown(page, 'greedy', 500);
    expect(await number(page, 'mean')).toBeGreaterThan(1.4);
    await page.click('#pause');
    const shown = () => page.evaluate(() => document.body.dataset['steps']);
    let paused = await shown();
    await expect.poll(async () => {  // numbers are shown every 50 ms, the last ones too
      const before = paused;
      return (paused = await shown()) === before;
    }, {interval: 400}).toBe(true);
    await page.click('#learn');  // goes on too, as a visitor expects who wants to see something
    await page.waitForFunction((before) => Number(document.body.dataset['steps']) < Number(before), paused);
    await flown(page, 'greedy', 10);
    expect(await text(page, 'pause')).toBe('Pause');
    await page.click('#pause');
    await page.click('#reset');
    await page.waitForFunction(() => {  // at one moment: it learns again by itself, and soon
      const shown = (id: string) => document.getElementById(id)?.textContent;
      return document.body.dataset['flight'] === 'random' && Number(document.body.dataset['steps']) >= 10 &&
        shown('pause') === 'Pause' && shown('experience') === '0' && shown('memory-note')?.includes('has not learnt');
    });
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('is not told that a bee follows which does not', async () => {
    const {page, complaints} = await open(browser, `${url}#c=0.01&speed=240`);
    await flown(page, 'greedy', 400);
    expect(await number(page, 'mean')).toBeLessThan(1.15);
    expect(await text(page, 'phase')).toBe('Flying by what it learnt');
    expect(await text(page, 'experience')).toBe('2,000');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('moves sliders, with the keyboard too, and the address follows', async () => {
    const {page, complaints} = await open(browser, url);
    await flown(page, 'greedy', 1);
    await page.locator('#set-c').fill('0.02');
    await page.locator('#set-units').fill('100');
    await page.locator('#set-lambda').fill('-4');
    await page.locator('#set-gamma').focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('#set-omega').fill('0.2');
    await flown(page, 'greedy', 100);
    expect(await text(page, 'memory-note')).toContain('100 units');
    expect(page.url()).toMatch(/#omega=0\.2&c=0\.02&gamma=0\.55&units=100&lambda=0\.0001$/);
    const best = await number(page, 'optimum');
    expect(best).toBeLessThan(1.6);  // a quicker nectar is harder to follow for a slow bee

    const again = await open(browser, page.url());
    await expect.poll(() => text(again.page, 'show-omega')).toBe('0.2');
    expect(await text(again.page, 'show-lambda')).toBe('10⁻⁴');
    expect(await text(again.page, 'show-gamma')).toBe('0.55');
    await again.page.waitForFunction(() => document.getElementById('optimum')?.textContent !== '–');
    expect(await number(again.page, 'optimum')).toBeCloseTo(best, 2);
    expect(await again.page.locator('#notes p').count()).toBe(0);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await again.page.close();
    await page.close();
  });

  test('is told of an address that says nonsense', async () => {
    const {page, complaints} = await open(browser, `${url}#omega=fast&c=9&units=2.5e9&theme=pink&seed=-3`);
    const notes = page.locator('#notes p');
    await expect.poll(() => notes.count()).toBe(5);
    expect(await notes.allTextContents()).toEqual([
      'omega = fast is not a number: 0.1 is used.Close',
      'c = 9 is out of range: 0.3 is used.Close',
      'units = 2.5e9 is out of range: 500 is used.Close',
      'theme = pink is not one of auto, light, dark: auto is shown.Close',
      'seed = -3 is out of range: 0 is used.Close',
    ]);
    await notes.first().getByRole('button').click();
    expect(await notes.count()).toBe(4);
    await flown(page, 'greedy', 10);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('watches the market under both timings', async () => {
    const {page, complaints} = await open(browser, `${url}#tab=market`);
    await page.waitForFunction(() => Number(document.getElementById('cost-learnt')?.textContent) > 0, null, {timeout: 60_000});
    expect(await text(page, 'market-gain')).toBe('0.5456');
    expect(await text(page, 'market-other-gain')).toBe('0.3282');
    await page.waitForFunction(() => Number(document.getElementById('market-steps')?.textContent) > 150, null, {timeout: 60_000});
    const [first, learnt, best] = await numbers(page, 'cost-initial', 'cost-learnt', 'cost-optimal');
    expect(learnt).toBeLessThan(first! / 2);
    expect(learnt).toBeLessThan(1.6 * best!);
    for (const chart of ['inventory', 'cost', 'trade']) {
      expect(await colours(page, `#${chart}-chart canvas`), chart).toBeGreaterThan(10);
    }
    await picture(page, 'playground-market');
    await page.getByText('On departure', {exact: true}).click();
    await expect.poll(() => text(page, 'market-gain')).toBe('0.3282');
    expect(page.url()).toContain('timing=departure');
    await page.waitForFunction(() => Number(document.getElementById('cost-learnt')?.textContent) > 0, null, {timeout: 60_000});
    await page.locator('#tab-market').press('ArrowLeft');
    expect(await page.locator('#panel-bee').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('how it looks', () => {
  test.each(looks)('$theme, on a $device', async ({theme, viewport, suffix}) => {
    const {page, complaints} = await open(browser, url, {theme, ...viewport});
    await flown(page, 'greedy', 230);
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe(theme === 'dark' ? 'rgb(22, 22, 26)' : 'rgb(246, 245, 241)');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide, 'nothing sticks out').toBeLessThanOrEqual(viewport.width);
    await picture(page, `playground${suffix}`);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the theme can be chosen', async () => {
    const {page} = await open(browser, url, {theme: 'light'});
    await page.waitForFunction(() => document.body.dataset['flight'] !== undefined);
    await page.click('#theme');
    await page.click('#theme');
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(22, 22, 26)');
    expect(page.url()).toContain('theme=dark');
    await page.close();
  });

  test('every control has a name and can be reached by the keyboard', async () => {
    const {page} = await open(browser, url);
    await page.waitForFunction(() => document.body.dataset['flight'] !== undefined);
    const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select')].filter((control) =>
      !(control.textContent || control.getAttribute('aria-label') ||
        (control instanceof HTMLInputElement && control.labels?.[0]?.textContent))).length);
    expect(nameless).toBe(0);
    const reached = new Set<string>();
    for (let i = 0; i < 20; ++i) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id ?? ''));
    }
    for (const id of ['tab-bee', 'theme', 'fly-random', 'learn', 'fly-greedy', 'keep-learning', 'set-omega', 'set-speed']) {
      expect(reached, id).toContain(id);
    }
    await page.close();
  });
});
