// A real browser for the tests: Debian's chromium, with everything it would fetch by itself off.

import {mkdirSync} from 'node:fs';
import {dirname, join} from 'node:path';

import {type Browser, type Locator, type Page, chromium} from 'playwright-core';

import {chromium as executablePath} from './chromium';
import {program} from './waggle';

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
      '--disable-background-networking', '--disable-component-update'],
  });
}

/** A page that remembers what no page of ours may do: complain, or ask the network for anything. */
export interface Watched {
  page: Page;
  complaints: string[];
}

export async function open(
  browser: Browser, address: string,
  options: {
    width?: number; height?: number; theme?: 'light' | 'dark'; still?: boolean;
    before?: (page: Page) => Promise<void>;
  } = {},
): Promise<Watched> {
  const page = await browser.newPage({
    viewport: {width: options.width ?? 1200, height: options.height ?? 900},
    colorScheme: options.theme ?? 'light',
    reducedMotion: options.still ? 'reduce' : 'no-preference',
    acceptDownloads: true,
  });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const allowed = request.url().startsWith(address.replace(/#.*/, '')) || /^(data|blob):/.test(request.url());
    if (!allowed) complaints.push(`request of ${request.url()}`);
  });
  await options.before?.(page);
  await page.goto(address);
  return {page, complaints};
}

/**
 * A look at a canvas: how many colours it shows, counted up to 64 (1 if it is blank), and that of its corner. Once
 * for each canvas: the browser complains of more.
 */
export function look(canvas: HTMLCanvasElement): {colours: number; corner: number[]} {
  const context = canvas.getContext('2d');
  if (!context || canvas.width === 0 || canvas.height === 0) return {colours: 0, corner: []};
  const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.buffer);
  const seen = new Set<number>();
  for (let i = 0; i < pixels.length && seen.size < 64; i++) seen.add(pixels[i]!);
  return {colours: seen.size, corner: [...data.slice(0, 3)]};
}

/** Keeps a picture of a page or of a part of it: for the docs where PICTURES says so, else beside the build. */
export async function picture(of: Page | Locator, name: string): Promise<void> {
  const folder = process.env.PICTURES ?? join(dirname(program), '..', 'screenshots');
  mkdirSync(folder, {recursive: true});
  const path = join(folder, `${name}.png`);
  await ('goto' in of ? of.screenshot({path, fullPage: true}) : of.screenshot({path}));
}
