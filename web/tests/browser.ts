// A real browser for the tests, and what every page has to keep to.

import {chromium} from 'playwright-core';
import type {Browser, BrowserContextOptions, Page} from 'playwright-core';

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

export interface Watched {
  page: Page;
  /** Console errors and warnings, uncaught errors, and requests to anywhere but the page itself. */
  complaints: string[];
}

/** A page that complains about whatever a page must not do. */
export async function watch(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({viewport: {width: 1280, height: 1000}, ...options});
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    const own = url.split('#')[0] === page.url().split('#')[0] || request.isNavigationRequest();
    if (!own && !url.startsWith('data:') && !url.startsWith('blob:')) complaints.push(`request: ${url}`);
  });
  return {page, complaints};
}
