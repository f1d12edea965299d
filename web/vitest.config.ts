import {existsSync} from 'node:fs';

import {defineConfig} from 'vitest/config';

import {chromium} from './tests/chromium';

if (!existsSync(chromium)) {
  console.log(`Skipped: there is no browser at ${chromium}; install chromium, or name one by CHROMIUM`);
  process.exit(0);
}

// A browser takes its time, and two at once take more.
export default defineConfig({
  test: {include: ['tests/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 60_000, fileParallelism: false},
});
