import {defineConfig} from 'vitest/config';

// A browser takes its time, and two at once take more.
export default defineConfig({
  test: {include: ['tests/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 60_000, fileParallelism: false},
});
