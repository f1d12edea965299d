// A real browser for the tests: Debian's chromium, with everything it would fetch by itself off.

import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
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
    early?: boolean;  // before the page can be used
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
  if (!options.early) await page.waitForFunction(() => !document.querySelector('[inert]'), null, {polling: 50, timeout: 60_000});
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

/** What a page is looked at in. Colours have nothing to do with widths, so two of the four will do. */
export const looks = [
  {theme: 'light', device: 'desk', viewport: {width: 1280, height: 1000}, suffix: ''},
  {theme: 'dark', device: 'phone', viewport: {width: 390, height: 844}, suffix: '-phone-dark'},
] as const;

/** Where to keep a picture: for the docs where PICTURES says so, else beside the build. */
function kept(file: string): string {
  const folder = process.env.PICTURES ?? join(dirname(program), '..', 'screenshots');
  mkdirSync(folder, {recursive: true});
  return join(folder, file);
}

/** Keeps a picture of a page or of a part of it. */
export async function picture(of: Page | Locator, name: string): Promise<void> {
  const path = kept(`${name}.png`);
  await ('goto' in of ? of.screenshot({path, fullPage: true}) : of.screenshot({path}));
}

/** A film that is being made. */
export interface Film {
  /** Nothing is filmed until it goes on. */
  pause(): Promise<void>;
  goOn(): Promise<void>;
  /** Keeps it; how many bytes it has. */
  end(): Promise<number>;
}

const encoder = readFileSync(createRequire(import.meta.url).resolve('gifenc'), 'utf8');

/** Films some of the page's canvases side by side, under the text of an element, as an animated GIF. */
export async function film(page: Page, name: string, canvases: string[], title: string): Promise<Film> {
  const recorder = await page.evaluateHandle(([selectors, caption, code]) => {
    const exports = {};
    new Function('exports', 'module', code)(exports, {exports});
    const {GIFEncoder, quantize, applyPalette} = exports as typeof import('gifenc');
    const height = 220;
    const gap = 12;
    const milliseconds = 150;  // a frame
    const found = selectors.map((selector) => document.querySelector<HTMLCanvasElement>(selector)!);
    const widths = found.map((canvas) => Math.round((height * canvas.width) / canvas.height));
    const sheet = document.createElement('canvas');
    sheet.width = widths.reduce((sum, wide) => sum + wide + gap, gap);
    sheet.height = height + 48;
    const context = sheet.getContext('2d', {willReadFrequently: true})!;
    const style = getComputedStyle(document.body);
    const gif = GIFEncoder();
    let filming = true;
    const take = () => {
      if (!filming) return;
      context.fillStyle = style.backgroundColor;
      context.fillRect(0, 0, sheet.width, sheet.height);
      context.fillStyle = style.color;
      context.font = '600 18px system-ui, sans-serif';
      context.fillText(document.querySelector(caption)?.textContent ?? '', gap, 27);
      let x = gap;
      found.forEach((canvas, i) => {
        context.drawImage(canvas, x, 40, widths[i]!, height);
        x += widths[i]! + gap;
      });
      const {data} = context.getImageData(0, 0, sheet.width, sheet.height);
      const palette = quantize(data, 24);
      gif.writeFrame(applyPalette(data, palette), sheet.width, sheet.height, {palette, delay: milliseconds});
    };
    const timer = setInterval(take, milliseconds);
    const end = async () => {
      clearInterval(timer);
      gif.finish();
      return new Promise<string>((resolve) => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result).replace(/^.*,/, ''));
        reader.readAsDataURL(new Blob([gif.bytes()]));
      });
    };
    return {film: (on: boolean) => { filming = on; }, end};
  }, [canvases, title, encoder] as const);
  return {
    pause: () => recorder.evaluate((made) => made.film(false)),
    goOn: () => recorder.evaluate((made) => made.film(true)),
    end: async () => {
      const bytes = Buffer.from(await recorder.evaluate((made) => made.end()), 'base64');
      writeFileSync(kept(`${name}.gif`), bytes);
      return bytes.length;
    },
  };
}
