// The pole: practice, what is learnt from it, and what a visitor can do to it, in a real browser.

import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {readSettings, writeSettings} from '../playground/settings';
import {film, launch, looks, open, picture} from './browser';
import {colours, number, text, url} from './playground';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const pole = `${url}#tab=pole`;
const cart = `${pole}&system=cart-pole`;

/** What the panel says of itself. */
const said = (page: Page, name: string) => page.locator('#panel-pole').evaluate((panel, of) => (panel as HTMLElement).dataset[of] ?? '', name);
const learnt = (page: Page) => page.waitForFunction(
  () => document.getElementById('panel-pole')?.dataset['state'] === 'acting', null, {timeout: 120_000});
const practising = (page: Page) => page.waitForFunction(
  () => document.getElementById('panel-pole')?.dataset['state'] === 'practising' &&
    (document.getElementById('swing-steps')?.textContent ?? '0') !== '0', null, {timeout: 60_000});
/** Waits until it has been upright for so many seconds on end. */
const upright = (page: Page, seconds: number) => page.waitForFunction(
  (least) => Number(document.getElementById('panel-pole')?.dataset['up']) >= least, seconds, {timeout: 60_000});

/** Drags from one place of the canvas to another, given as shares of its width and height. */
async function drag(page: Page, from: [number, number], to: [number, number], meanwhile: () => Promise<void>): Promise<void> {
  await page.locator('#swing').scrollIntoViewIfNeeded();
  const box = (await page.locator('#swing').boundingBox())!;
  const at = ([x, y]: [number, number]): [number, number] => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), {steps: 5});
  await meanwhile();
  await page.mouse.up();
}

describe('without a click', () => {
  test('the pendulum is practised with, learnt and swung up', async () => {
    const begin = performance.now();
    const {page, complaints} = await open(browser, pole);
    await practising(page);
    expect(await text(page, 'swing-phase')).toMatch(/^(Starting…|Practising)/);
    expect(await page.locator('#swing-push').isDisabled()).toBe(true);
    await expect.poll(() => number(page, 'swing-fits')).toBeGreaterThan(2);
    await picture(page, 'playground-pole-practice');
    await learnt(page);
    const seconds = (performance.now() - begin) / 1000;
    await upright(page, 1.5);
    console.log(`learnt after ${seconds.toFixed(1)} s, of which ${await text(page, 'swing-time')} in the core; held upright for 1.5 s ` +
      `after ${((performance.now() - begin) / 1000).toFixed(1)} s; score ${await text(page, 'swing-score')}`);
    expect(await text(page, 'swing-phase')).toBe('Holding it upright');
    expect(Math.cos(Number(await said(page, 'angle')))).toBeGreaterThan(0.95);
    expect(await text(page, 'swing-steps')).toMatch(/^[3-9],\d{3}$/);  // as many as it needed
    expect(Number((await text(page, 'swing-score'))?.replace('−', '-'))).toBeGreaterThan(-400);
    for (const [canvas, least] of [['#swing', 20], ['#learning-chart canvas', 10], ['#angle-chart canvas', 10]] as const) {
      expect(await colours(page, canvas), canvas).toBeGreaterThan(least);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the pole is balanced on its cart', async () => {
    const {page, complaints} = await open(browser, cart);
    await learnt(page);
    await upright(page, 10);
    expect(await text(page, 'swing-phase')).toBe('Balancing');
    expect(await said(page, 'falls')).toBe('0');
    expect(await number(page, 'swing-score')).toBeGreaterThan(400);
    expect(Math.abs(Number(await said(page, 'position')))).toBeLessThan(2.4);
    await picture(page, 'playground-cart-pole');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('less motion where less is asked for', async () => {
    const {page, complaints} = await open(browser, cart, {still: true});
    await learnt(page);
    await upright(page, 0.1);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('a visitor', () => {
  test('drags the pendulum down and pushes it, and it comes up again', async () => {
    const {page, complaints} = await open(browser, pole);
    await learnt(page);
    await upright(page, 1);
    await drag(page, [0.5, 0.2], [0.5, 0.9], async () => {
      await expect.poll(async () => Math.cos(Number(await said(page, 'angle')))).toBeLessThan(-0.9);
      expect(await text(page, 'swing-phase')).toBe('In your hand');
      await picture(page.locator('#panel-pole .stage'), 'playground-pole-held');
    });
    await expect.poll(() => text(page, 'swing-phase')).toBe('Swinging it up');
    await upright(page, 1);
    await page.click('#swing-push');
    await expect.poll(async () => Number(await said(page, 'up'))).toBeLessThan(1);
    await upright(page, 1);
    await page.click('#swing-pause');
    expect(await text(page, 'swing-pause')).toBe('Go on');
    await page.click('#swing-push');  // goes on too, as a visitor expects who wants to see something
    expect(await text(page, 'swing-pause')).toBe('Pause');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('drags the cart, not off its track', async () => {
    const {page, complaints} = await open(browser, cart);
    await learnt(page);
    await upright(page, 1);
    const place = Number(await said(page, 'position'));
    const x = 0.5 + 0.45 * (place / 2.4);
    await drag(page, [x, 0.85], [1, 0.85], async () => {
      await expect.poll(async () => Number(await said(page, 'position'))).toBeGreaterThan(1.5);
    });
    expect(Number(await said(page, 'position'))).toBeLessThan(2.4);
    await upright(page, 3);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('changes the world while it runs, the learner, and the system; the address follows', async () => {
    const {page, complaints} = await open(browser, `${cart}&practice=2000&neurons=20`);
    await learnt(page);
    await page.locator('#set-delay').fill('6');
    await page.locator('#set-gravity').focus();
    await page.keyboard.press('ArrowRight');
    expect(await text(page, 'show-gravity')).toBe('× 1.1');
    expect(await said(page, 'state')).toBe('acting');  // it does not learn again by itself
    await expect.poll(async () => Number(await said(page, 'falls'))).toBeGreaterThan(1);  // it fails visibly
    expect(page.url()).toMatch(/#system=cart-pole&delay=6&gravity=1\.1&neurons=20&practice=2000&tab=pole$/);
    await page.click('#swing-learn');
    await practising(page);
    await learnt(page);
    await page.locator('#set-neurons').fill('40');
    await practising(page);
    await page.getByText('Pendulum', {exact: true}).click();  // in the middle of it
    await page.locator('#set-noise').fill('0.05');
    await learnt(page);
    expect(await text(page, 'swing-steps')).toMatch(/^1,9\d\d$/);
    expect(page.url()).toMatch(/#noise=0\.05&delay=6&gravity=1\.1&neurons=40&practice=2000&tab=pole$/);

    const again = await open(browser, page.url());
    await expect.poll(() => text(again.page, 'show-delay')).toBe('6 steps');
    expect(await text(again.page, 'show-neurons')).toBe('40');
    await practising(again.page);
    await again.page.click('#swing-reset');
    expect(again.page.url()).toBe(pole);
    expect(await again.page.locator('#notes p').count()).toBe(0);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await again.page.close();
    await page.close();
  });

  test('goes from tab to tab with the keyboard, and finds all as it was', async () => {
    const {page, complaints} = await open(browser, cart);
    await learnt(page);
    await page.locator('#tab-pole').press('ArrowRight');
    expect(await page.locator('#panel-log').isVisible()).toBe(true);
    await page.locator('#tab-log').press('ArrowRight');
    expect(await page.locator('#panel-bee').isVisible()).toBe(true);
    await page.waitForFunction(() => document.body.dataset['flight'] !== undefined);
    await page.locator('#tab-bee').press('ArrowLeft');
    await page.locator('#tab-log').press('ArrowLeft');
    expect(await page.locator('#panel-pole').isVisible()).toBe(true);
    expect(await said(page, 'state')).toBe('acting');
    await upright(page, 1);
    const reached = new Set<string>();
    for (let i = 0; i < 16; ++i) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id ?? ''));
    }
    for (const id of ['system-cart-pole', 'swing-learn', 'swing-push', 'swing-pause', 'swing-reset', 'set-noise', 'set-delay',
                      'set-gravity', 'set-mass', 'set-neurons', 'set-practice']) {
      expect(reached, id).toContain(id);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('is told of an address that says nonsense', async () => {
    const {settings, notes} = readSettings('#system=rocket&noise=-1&delay=1.5&mass=x&practice=1e9&constructor=1');
    expect(notes).toEqual([
      'system = rocket is not one of pendulum, cart-pole: pendulum is shown.',
      'noise = -1 is out of range: 0 is used.',
      'delay = 1.5 is between two settings: 2 is used.',
      'mass = x is not a number: 1 is used.',
      'practice = 1e9 is out of range: 10000 is used.',
      'And 1 more of the kind in the address.',
    ]);
    expect(writeSettings(settings)).toBe('#delay=2&practice=10000');
  });
});

describe('where the core cannot run, or stops', () => {
  test('no WebAssembly: a recorded pendulum, and a recorded cart', async () => {
    const {page, complaints} = await open(browser, pole, {
      before: async (fresh) => void await fresh.addInitScript(() => { Reflect.deleteProperty(window, 'WebAssembly'); }),
    });
    await expect.poll(() => page.locator('#notes').textContent()).toContain('What you see is a recorded run.');
    await upright(page, 2);
    expect(await text(page, 'swing-phase')).toBe('Holding it upright');
    expect(await text(page, 'swing-steps')).toMatch(/^[3-9],\d{3}$/);  // as many as it needed
    expect(Number(await text(page, 'swing-fits'))).toBeGreaterThan(3);
    expect(await colours(page, '#learning-chart canvas')).toBeGreaterThan(10);
    expect(await page.locator('#swing-learn').isDisabled()).toBe(true);
    expect(await page.locator('#swing-push').isDisabled()).toBe(true);
    expect(await page.locator('#set-noise').isDisabled()).toBe(true);
    await drag(page, [0.5, 0.5], [0.8, 0.5], async () => {});  // nothing can be held
    expect(await text(page, 'swing-phase')).not.toBe('In your hand');
    // The episode has 20 seconds: then it hangs again, and no fall is counted.
    await page.waitForFunction(() => Math.abs(Number(document.getElementById('panel-pole')?.dataset['angle'])) > 2.5, null, {timeout: 40_000});
    expect(await said(page, 'falls')).toBe('0');
    await picture(page, 'playground-pole-recorded');
    await page.getByText('Cart and pole', {exact: true}).click();
    await upright(page, 2);
    expect(await text(page, 'swing-phase')).toBe('Balancing');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a worker that dies is replaced, once', async () => {
    const watch = () => {
      window.Worker = class extends Worker {
        constructor(address: string | URL, options?: WorkerOptions) {
          super(address, options);
          Object.assign(window, {watched: this});
        }
      };
    };
    const {page, complaints} = await open(browser, `${cart}&practice=1000`, {before: async (fresh) => void await fresh.addInitScript(watch)});
    const die = () => page.evaluate(() => (window as unknown as {watched: Worker}).watched.dispatchEvent(
      new ErrorEvent('error', {message: 'out of memory', cancelable: true})));
    await learnt(page);
    await die();
    await expect.poll(() => page.locator('#notes').textContent()).toContain(
      'The pole\'s core stopped (out of memory). Another core was started, and learns anew.');
    await practising(page);
    await learnt(page);
    await die();
    await expect.poll(() => text(page, 'swing-phase')).toContain('“Learn again” starts another core');
    await page.click('#swing-learn');
    await practising(page);
    await learnt(page);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('a page that is not looked at', () => {
  /** The page's clock and whether it is seen are the test's to say. */
  const fake = () => {
    const state = {gap: 0, hidden: false, asked: 0};
    Object.assign(window, {fake: state});
    const frame = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (work) => frame((time) => work(time + state.gap));
    Object.defineProperty(document, 'hidden', {get: () => state.hidden});
    Object.defineProperty(document, 'visibilityState', {get: () => (state.hidden ? 'hidden' : 'visible')});
    const ask = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (this: Worker, ...args: unknown[]) {
      ++state.asked;
      ask.apply(this, args as [unknown]);
    };
  };
  const set = (page: Page, hidden: boolean, gap: number) => page.evaluate(([now, more]) => {
    const {fake: state} = window as unknown as {fake: {gap: number; hidden: boolean}};
    state.hidden = now;
    state.gap += more;
    document.dispatchEvent(new Event('visibilitychange'));
  }, [hidden, gap] as const);
  const asked = (page: Page) => page.evaluate(() => (window as unknown as {fake: {asked: number}}).fake.asked);
  const HOUR = 3_600_000;

  /** Hides the page for an hour: nothing is asked of the core meanwhile, and little at once when it is seen again. */
  async function expectRest(page: Page): Promise<void> {
    await set(page, true, 0);
    await page.waitForTimeout(500);  // what was on its way has arrived
    const before = await asked(page);
    await page.waitForTimeout(1500);
    expect(await asked(page)).toBe(before);
    await set(page, false, HOUR);
    await page.waitForTimeout(1000);
    const after = await asked(page);
    expect(after).toBeGreaterThan(before);
    expect(after).toBeLessThan(before + 60);
  }

  test('the pole rests, and goes on from where it was', async () => {
    const {page, complaints} = await open(browser, `${cart}&practice=1000`, {before: async (fresh) => void await fresh.addInitScript(fake)});
    await learnt(page);
    await upright(page, 0.5);
    await expectRest(page);
    // An hour would be 180,000 steps; the one second that was seen is 50, on a busy machine.
    expect(Number(await said(page, 'up'))).toBeLessThan(30);
    await upright(page, 0.5);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the bee and the market do, too', async () => {
    const {page, complaints} = await open(browser, `${url}#speed=40`, {before: async (fresh) => void await fresh.addInitScript(fake)});
    await page.waitForFunction(() => document.body.dataset['flight'] === 'greedy', null, {timeout: 60_000});
    const steps = () => page.evaluate(() => Number(document.body.dataset['steps']));
    const flown = await steps();
    await expectRest(page);
    expect(await steps()).toBeLessThan(flown + 400);
    await page.click('#tab-market');
    await page.waitForFunction(() => Number(document.getElementById('cost-learnt')?.textContent) > 0, null, {timeout: 60_000});
    const traded = await number(page, 'market-steps');
    await expectRest(page);
    expect(await number(page, 'market-steps')).toBeLessThan(traded + 400);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('what comes by itself waits until it is seen', async () => {
    const {page, complaints} = await open(browser, url, {before: async (fresh) => {
      await fresh.addInitScript(fake);
      await fresh.addInitScript(() => { (window as unknown as {fake: {hidden: boolean}}).fake.hidden = true; });
    }});
    await page.waitForTimeout(5000);
    expect(await text(page, 'solve-time')).toBe('–');
    await set(page, false, HOUR);
    await page.waitForFunction(() => document.body.dataset['flight'] === 'greedy', null, {timeout: 60_000});
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('how it looks', () => {
  test.each(looks)('$theme, on a $device', async ({theme, viewport, suffix}) => {
    const {page, complaints} = await open(browser, pole, {theme, ...viewport});
    await learnt(page);
    await upright(page, 1);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide, 'nothing sticks out').toBeLessThanOrEqual(viewport.width);
    await page.click('#swing-push');
    await expect.poll(() => text(page, 'swing-phase')).toBe('Swinging it up');
    await picture(page, `playground-pole${suffix}`);
    expect(complaints).toEqual([]);
    await page.close();
  });

  // It takes its time, and is for those who make the pictures of the docs.
  test.runIf(process.env.PICTURES)('in a film of some 20 seconds: practice, then what came of it', async () => {
    const {page, complaints} = await open(browser, pole, {width: 440, height: 1000});
    await practising(page);
    const made = await film(page, 'playground-pole', ['#swing', '#learning-chart canvas'], '#swing-phase');
    await page.waitForTimeout(7000);
    await made.pause();  // the rest of it takes longer where the machine is busy
    await learnt(page);
    await made.goOn();
    await page.waitForTimeout(9000);
    await page.click('#swing-push');
    await page.waitForTimeout(5000);
    const bytes = await made.end();
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(2_000_000);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
