// What the tests of the playground share: where its page is, and how to read it.

import {dirname, join} from 'node:path';
import {pathToFileURL} from 'node:url';

import type {Page} from 'playwright-core';

import {look} from './browser';
import {program} from './waggle';

export const build = join(dirname(program), '..');
export const file = `${build}/web/playground/index.html`;
export const url = pathToFileURL(file).href;

export const text = (page: Page, id: string) => page.locator(`#${id}`).textContent();
export const number = async (page: Page, id: string) => Number(await text(page, id));

/** Several at one moment of a page that goes on. */
export const numbers = (page: Page, ...ids: string[]) => page.evaluate(
  (wanted) => wanted.map((id) => Number(document.getElementById(id)?.textContent)), ids);

/** Waits until the bee has flown so many steps in its present way. */
export async function flown(page: Page, flight: string, steps: number): Promise<void> {
  await page.waitForFunction(
    ([wanted, least]) => document.body.dataset['flight'] === wanted &&
      Number(document.body.dataset['steps']) >= Number(least) && !document.querySelector('.busy'),
    [flight, String(steps)] as const, {timeout: 60_000});
}

export const colours = async (page: Page, selector: string) =>
  (await page.locator(selector).first().evaluate(look as (canvas: Element) => ReturnType<typeof look>)).colours;
