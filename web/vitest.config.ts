import {existsSync} from 'node:fs';

import {defineConfig} from 'vitest/config';

import {chromium} from './tests/chromium';

if (!existsSync(chromium)) {
  console.log(`Skipped: there is no browser at ${chromium}; install chromium, or name one by CHROMIUM`);
  process.exit(0);
}

// A browser takes its time, and two at once take more; on a busy machine it may miss a beat or two.
export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'], fileParallelism: false, retry: 2,
    testTimeout: 240_000, hookTimeout: 120_000, expect: {poll: {timeout: 30_000}},
  },
});
