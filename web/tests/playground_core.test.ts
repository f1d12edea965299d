// The playground's core: where it cannot run, where it fails, beside the native one, and served by the program.

import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {closeSync, existsSync, openSync} from 'node:fs';
import {createConnection} from 'node:net';

import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {launch, open} from './browser';
import {build, colours, flown, number, text, url} from './playground';
import {program} from './waggle';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

describe('where the core cannot run', () => {
  test.each([
    ['WebAssembly', () => { Reflect.deleteProperty(window, 'WebAssembly'); }, 'does not run WebAssembly'],
    ['Worker', () => { Reflect.deleteProperty(window, 'Worker'); }, 'does not run workers'],
  ] as const)('no %s: a message and a recorded run', async (_, remove, message) => {
    const {page, complaints} = await open(browser, `${url}#speed=120`, {before: async (fresh) => void await fresh.addInitScript(remove)});
    await expect.poll(() => page.locator('#notes').textContent()).toContain(message);
    await flown(page, 'greedy', 250);
    expect(await number(page, 'mean')).toBeGreaterThan(1.4);
    expect(await colours(page, '#strip')).toBeGreaterThan(60);
    expect(await page.locator('#keep-learning').isDisabled()).toBe(true);
    expect(await page.locator('#set-units').isDisabled()).toBe(true);
    await page.click('#tab-market');
    expect(await text(page, 'market-phase')).toContain('needs WebAssembly');
    await page.click('#tab-log');
    expect(await text(page, 'log-phase')).toContain('needs WebAssembly');
    expect(await page.locator('#log-file').isDisabled()).toBe(true);
    expect(await page.locator('#log-sample').isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('when the core fails', () => {
  /** Keeps the page's worker in sight. */
  const watch = () => {
    window.Worker = class extends Worker {
      constructor(address: string | URL, options?: WorkerOptions) {
        super(address, options);
        Object.assign(window, {watched: this});
      }
    };
  };
  const worker = (page: Page, deed: 'die' | 'stop') => page.evaluate((wanted) => {
    const {watched} = window as unknown as {watched: Worker};
    if (wanted === 'die') watched.dispatchEvent(new ErrorEvent('error', {message: 'out of memory', cancelable: true}));
    else watched.terminate();
  }, deed);
  const notes = (page: Page) => page.locator('#notes').textContent();

  test('by never answering: a recorded run', async () => {
    const mute = () => {
      window.Worker = class extends EventTarget {
        postMessage(): void {}
        terminate(): void {}
      } as unknown as typeof Worker;
    };
    const {page, complaints} = await open(browser, `${url}#speed=120`,
      {early: true, before: async (fresh) => void await fresh.addInitScript(mute)});
    await page.click('#tab-market');  // what needs no core can be used while it is waited for
    expect(await page.locator('#panel-market').isVisible()).toBe(true);
    expect(await notes(page)).toBe('');
    await page.click('#tab-bee');
    await expect.poll(() => notes(page), {timeout: 60_000}).toContain('The core did not start (no answer for 20 seconds)');
    await flown(page, 'greedy', 50);
    expect(await page.locator('#set-units').isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('by dying: a recorded run, on both tabs', async () => {
    const {page, complaints} = await open(browser, `${url}#speed=120`, {before: async (fresh) => void await fresh.addInitScript(watch)});
    await page.click('#tab-market');
    await page.waitForFunction(() => Number(document.getElementById('cost-initial')?.textContent) > 0, null, {timeout: 60_000});
    await page.click('#tab-bee');
    await flown(page, 'greedy', 50);
    await worker(page, 'die');
    await flown(page, 'random', 50);
    await flown(page, 'greedy', 250);
    expect(await number(page, 'mean')).toBeGreaterThan(1.4);
    await page.click('#tab-market');
    expect(await text(page, 'market-phase')).toContain('needs WebAssembly');
    expect(await page.locator('#market-learn').isDisabled()).toBe(true);
    expect(await page.locator('#notes p').allTextContents()).toEqual([
      'The core stopped (out of memory), so nothing can be learnt here. What you see is a recorded run.Close']);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('by falling silent: the page says so, and begins again with another', async () => {
    const {page, complaints} = await open(browser, url, {before: async (fresh) => void await fresh.addInitScript(watch)});
    await flown(page, 'random', 10);
    await worker(page, 'stop');
    await expect.poll(() => notes(page), {timeout: 60_000}).toContain('has not answered for 20 seconds. Another one was started');
    expect(await page.locator('#notes p').count()).toBe(1);
    await flown(page, 'greedy', 10);
    expect(await page.locator('#set-units').isDisabled()).toBe(false);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('the same bee', () => {
  const RANDOM = 2000;
  const GREEDY = 500;

  test('flies the same natively and in the browser', async () => {
    const native = execFileSync(`${build}/web/wasm/playground_flight`, ['7', String(RANDOM), String(GREEDY)], {encoding: 'utf8'})
      .trim().split('\n').map((line) => line.split(' ').map(Number));
    const {page} = await open(browser, url);
    const rows = await page.evaluate(([random, greedy]) => window.waggle.flight({seed: 7}, random, greedy), [RANDOM, GREEDY] as const);
    const apart = (from: number, to: number, column: number) => {
      let most = 0;
      for (let k = from; k < to; ++k) most = Math.max(most, Math.abs(rows[6 * k + column]! - native[k]![column]!));
      return most;
    };
    // Moves are integers from the same generator, scaled; places are their sums, in the same order.
    expect(apart(0, RANDOM, 2)).toBe(0);
    expect(apart(0, RANDOM, 0)).toBe(0);
    // Nectar has a sine and a cosine in it, from another library.
    expect(apart(0, RANDOM, 1)).toBeLessThan(1e-15 * 4);
    const growth = [1, 10, 100, GREEDY].map((steps) => apart(RANDOM, RANDOM + steps, 0));
    console.log(`random flight: nectar apart by ${apart(0, RANDOM, 1)}; greedy flight, after 1, 10, 100, ${GREEDY} steps: ${growth.join(', ')}`);
    expect(growth[3]).toBeLessThan(1e-6);
    await page.close();
  });
});

describe('waggle play', () => {
  test.runIf(existsSync('/dev/full'))('does not serve where it cannot say so', () => {
    const full = openSync('/dev/full', 'w');
    const {status, stderr} = spawnSync(program, ['play', '--no-browser'],
      {stdio: ['ignore', full, 'pipe'], encoding: 'utf8', timeout: 60_000});
    closeSync(full);
    expect(status).toBe(1);
    expect(stderr).toBe('waggle: cannot write to the standard output: No space left on device\n');
  });

  test('serves the page to this machine, and ends on Ctrl-C', async () => {
    const server = spawn(program, ['play', '--no-browser'], {stdio: ['ignore', 'pipe', 'inherit']});
    const ended = new Promise<number | null>((resolve) => server.on('exit', resolve));
    const said = await new Promise<string>((resolve) => server.stdout.once('data', (data: Buffer) => resolve(data.toString())));
    const address = /http:\/\/127\.0\.0\.1:\d+\//.exec(said)?.[0];
    expect(address).toBeDefined();
    const {page, complaints} = await open(browser, address!);
    await flown(page, 'greedy', 10);
    expect(complaints).toEqual([]);
    const port = new URL(address!).port;
    const second = spawn(program, ['play', '--no-browser', '--port', port], {stdio: ['ignore', 'ignore', 'pipe']});
    const complaint = new Promise<string>((resolve) => second.stderr.once('data', (data: Buffer) => resolve(data.toString())));
    expect(await new Promise((resolve) => second.on('exit', resolve))).toBe(2);
    expect(await complaint).toBe(`waggle: port = ${port}: is in use or not allowed; take another, or 0 for any that is free\n`);
    const half = createConnection(Number(port), '127.0.0.1').on('error', () => {});
    await new Promise<void>((resolve) => half.write('GET / HT', () => resolve()));
    const begin = performance.now();
    server.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(performance.now() - begin).toBeLessThan(4000);  // though a request is only half there
    half.destroy();
    await page.close();
  });
});
