// How smooth the playground is. On its own, since it watches the frames: nothing else may run meanwhile.

import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {launch, open} from './browser';
import {flown, url} from './playground';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/**
 * Presses the button that makes it learn. The median time between two frames, over the two seconds that follow; and the
 * longest stretch in which the page's own script held it up.
 */
async function expectSmooth(page: Page, button: string): Promise<void> {
  const measured = await page.evaluate(async (learn) => {
    let longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
    }).observe({entryTypes: ['longtask']});
    document.getElementById(learn)?.click();
    const times: number[] = [];
    const begin = performance.now();
    while (performance.now() - begin < 2000) {
      times.push(await new Promise<number>((resolve) => requestAnimationFrame(resolve)));
    }
    const gaps = times.slice(1).map((time, i) => time - times[i]!).sort((a, b) => a - b);
    return {frames: gaps.length / 2, median: gaps[Math.floor(gaps.length / 2)]!, longest};
  }, button);
  console.log(`${button}: frames a second ${measured.frames}, median ${measured.median.toFixed(1)} ms, longest task ${measured.longest.toFixed(0)} ms`);
  expect(measured.median).toBeLessThan(34);  // two frames of 60 a second: machines differ
  expect(measured.longest).toBeLessThan(250);  // a solve in the page would take longer
}

describe('how smooth it is', () => {
  test('the page never waits for the core', async () => {
    const {page} = await open(browser, `${url}#speed=120`);
    await flown(page, 'greedy', 100);
    await expectSmooth(page, 'learn');
    await page.close();
  });

  test('nor for practice', async () => {
    const {page} = await open(browser, `${url}#tab=pole`);
    await page.waitForFunction(() => Number(document.getElementById('swing-fits')?.textContent) > 0, null, {timeout: 60_000});
    await expectSmooth(page, 'swing-learn');
    await page.close();
  });
});
