// A visitor's own log, in a real browser: what is learnt from it, what can be saved, and what is said of bad input.

import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';

import {launch, looks, open, picture} from './browser';
import {colours, text, url} from './playground';
import {must} from './waggle';

let browser: Browser;
let folder: string;
beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), 'waggle-log-'));
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, {recursive: true, force: true});
});

const address = `${url}#tab=log`;

async function phase(page: Page, wanted: string | RegExp): Promise<void> {
  await expect.poll(() => text(page, 'log-phase'), {timeout: 120_000}).toMatch(wanted);
}

async function save(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

async function choose(page: Page, name: string, content: string | Buffer): Promise<void> {
  await page.locator('#log-drop').waitFor();  // the tab is shown once the page listens
  await page.setInputFiles('#log-file', {name, mimeType: 'text/csv', buffer: Buffer.from(content)});
}

/** What is done, left or right, is what is earned in the next row. */
function twoArmed(rows: number, names = 'step,light,reward,action'): string {
  let draw = 1;
  let reward = 0;
  const lines = [names];
  for (let k = 0; k < rows; ++k) {
    draw = (draw * 48271) % 2147483647;
    const right = draw % 2 === 1;
    lines.push(`${k},${draw % 7},${reward},${right ? 'right' : 'left'}`);
    reward = right ? 1 : -1;
  }
  return `${lines.join('\n')}\n`;
}

describe('a sample', () => {
  test('is learnt from with one click, and what is saved is what the program loads', async () => {
    const {page, complaints} = await open(browser, `${url}#discount=0.5&tab=log`);
    await page.click('#log-sample');
    await phase(page, 'Learnt');
    expect(await text(page, 'log-rows')).toBe('2,000');
    for (const chart of ['value', 'action']) {
      expect(await colours(page, `#${chart}-chart canvas`), chart).toBeGreaterThan(10);
    }
    const figures = await text(page, 'log-figures');
    const model = await save(page, '#log-model');
    expect(model).toMatch(/bee-world\.safetensors$/);

    // The same log natively: the file holds the same digits but for the last of some.
    const log = join(folder, 'bee.csv');
    await must('simulate', 'bee-world', '--steps', '2000', '--seed', '1', '-o', log);
    const judged = JSON.parse((await must('evaluate', model, log, '--json')).output) as {
      bellman_error: number; calibration: {correlation: number; rows: number};
    };
    expect(figures).toContain(`correlation ${judged.calibration.correlation.toFixed(3)}`);
    expect(figures).toContain(`${judged.calibration.rows.toLocaleString('en-GB')} rows`);
    expect(figures).toContain(`${Number(judged.bellman_error.toPrecision(4))} of the logged actions`);
    expect((await must('inspect', model)).output).toContain('bee-world.csv');

    const source = await save(page, '#log-source');
    const header = await save(page, '#log-header');
    expect(readFileSync(header, 'utf8')).toContain('controller_step');
    execFileSync('cc', ['-std=c99', '-Wall', '-Wextra', '-Werror', '-c', source, '-o', join(folder, 'controller.o')]);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('a file of one’s own', () => {
  test('is dropped, learnt from, and its columns can be changed', async () => {
    const {page, complaints} = await open(browser, `${url}#discount=0.5&tab=log`);
    await page.locator('#log-drop').waitFor();
    await page.evaluate((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], 'arms.csv'));
      document.getElementById('log-drop')!.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    }, twoArmed(400));
    await phase(page, 'Learnt');
    const roles = page.locator('#log-columns select');
    expect(await roles.evaluateAll((all) => all.map((each) => (each as HTMLSelectElement).value)))
      .toEqual(['unused', 'observation', 'reward', 'action']);
    expect(await text(page, 'action-note')).toContain('0: left, 1: right');
    expect(await text(page, 'log-figures')).toMatch(/Actions agree.*in (4|5)\d\.\d % of the rows/);
    // By the keyboard: the light is not to be seen.
    await roles.nth(1).focus();
    await page.keyboard.press('End');
    expect(await roles.nth(1).inputValue()).toBe('unused');
    await page.locator('#log-learn').press('Enter');
    await phase(page, /Learning|Reading/);
    await phase(page, 'Learnt');
    const model = await save(page, '#log-model');
    expect(model).toMatch(/arms\.safetensors$/);
    expect((await must('inspect', model)).output).not.toContain('light');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('can be stopped while it is learnt from', async () => {
    const {page, complaints} = await open(browser, address);
    await choose(page, 'arms.csv', twoArmed(5000));
    await phase(page, 'pass');
    await page.click('#log-stop');
    await phase(page, 'Stopped: nothing was learnt');
    expect(await page.locator('#log-model').isDisabled()).toBe(true);
    expect(await page.locator('#log-progress').isVisible()).toBe(false);
    await choose(page, 'short.csv', twoArmed(100));  // another one goes on
    await phase(page, 'Learnt');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('of 50 MB is read in part, and the page goes on', async () => {
    const {page, complaints} = await open(browser, address);
    await page.locator('#log-drop').waitFor();
    const path = join(folder, 'large.csv');
    const body = twoArmed(20_000);
    writeFileSync(path, body);
    const lines = body.slice(body.indexOf('\n') + 1);
    for (let size = body.length; size < 50e6; size += lines.length) writeFileSync(path, lines, {flag: 'a'});
    await page.evaluate(() => {
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) document.body.dataset['longest'] = String(Math.max(Number(document.body.dataset['longest'] ?? 0), entry.duration));
      }).observe({entryTypes: ['longtask']});
    });
    await page.setInputFiles('#log-file', path);
    await expect.poll(() => text(page, 'notes')).toMatch(/large\.csv has 50 MB: its first 8\.0 MB are read here/);
    await phase(page, 'pass');
    expect(Number(await page.evaluate(() => document.body.dataset['longest'] ?? '0'))).toBeLessThan(250);
    await page.click('#log-stop');
    await phase(page, 'Stopped');
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('bad input', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  test.each([
    ['an empty file', 'empty.csv', '', /'empty\.csv': the file is empty/],
    ['a header alone', 'header.csv', 'reward,action\n', /'header\.csv': the log is empty: it has no rows/],
    ['one row', 'one.csv', 'reward,action\n1,2\n', /'one\.csv': the log has 1 row, at least \d+ are needed/],
    ['no text', 'photo.png', png, /'photo\.csv': this is no text/],
    ['no header', 'numbers.csv', '1,2\n3,4\n', /must be a header of column names/],
    ['text for a reward', 'text.csv', 'reward,action\n1,2\nmuch,3\n', /'text\.csv', row 2 \(line 3\), column 'reward': 'much' is not a number/],
    ['hexadecimal', 'hex.csv', 'reward,action\n0x10,2\n1,3\n', /row 1 \(line 2\), column 'reward': '0x10' is not a number/],
    ['a number too large', 'large.csv', 'reward,action\n1e999,2\n1,3\n', /'1e999' is outside the range of double precision/],
    ['digits and more', 'more.csv', 'reward,action\n1.5V,2\n1,3\n', /'1\.5V' is not a number/],
    ['no action', 'none.csv', 'reward,warmth\n1,2\n2,3\n', /No column looks like an action: choose below/],
    ['neither', 'neither.csv', 'warmth,cold\n1,2\n2,3\n', /No column looks like the reward or an action/],
    ['one action alone', 'same.csv', 'reward,action\n1,2\n2,2\n', /the action 'action' is '2' in every row/],
  ] as const)('%s is named', async (_, name, content, wanted) => {
    const {page, complaints} = await open(browser, address);
    await choose(page, name, content);
    await expect.poll(() => text(page, 'log-problem')).toMatch(wanted);
    expect(await page.locator('#panel-log').evaluate((panel) => panel.classList.contains('busy'))).toBe(false);
    expect(await page.locator('#log-model').isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('columns without a reward are asked for again', async () => {
    const {page} = await open(browser, address);
    await choose(page, 'arms.csv', twoArmed(60, 'step,light,earned,action'));
    await expect.poll(() => text(page, 'log-problem')).toContain('No column looks like the reward');
    await page.click('#log-learn');
    await expect.poll(() => text(page, 'log-problem')).toContain('no column is the reward');
    await page.selectOption('#log-role-2', 'reward');
    await page.click('#log-learn');
    await phase(page, 'Learnt');
    expect(await page.locator('#log-problem').isVisible()).toBe(false);
    await page.close();
  });
});

describe('how it looks', () => {
  test.each(looks)('$theme, on a $device', async ({theme, viewport, suffix}) => {
    const {page, complaints} = await open(browser, address, {theme, ...viewport});
    await page.click('#log-sample');
    await phase(page, 'Learnt');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide, 'nothing sticks out').toBeLessThanOrEqual(viewport.width);
    await picture(page, `playground-log${suffix}`);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('every control is in reach of the keyboard', async () => {
    const {page} = await open(browser, address);
    await page.click('#log-sample');
    await phase(page, 'Learnt');
    await page.locator('#tab-log').focus();
    const reached = new Set<string>();
    for (let i = 0; i < 12; ++i) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id ?? ''));
    }
    for (const id of ['log-file', 'log-sample', 'log-learn', 'log-model', 'log-source', 'log-header', 'set-discount', 'log-role-0']) {
      expect(reached, id).toContain(id);
    }
    await page.close();
  });
});
