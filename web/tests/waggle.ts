// The program under test, and folders for what it writes.

import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const program = process.env.WAGGLE ?? fileURLToPath(new URL('../../build/release/bin/waggle', import.meta.url));

export interface Ran {
  status: number | null;
  output: string;
  errors: string;
}

export function waggle(...args: string[]): Ran {
  const done = spawnSync(program, args, {encoding: 'utf8'});
  if (done.error) throw done.error;
  return {status: done.status, output: done.stdout, errors: done.stderr};
}

/** Runs it and insists on success. */
export function must(...args: string[]): Ran {
  const done = waggle(...args);
  if (done.status !== 0) throw new Error(`waggle ${args.join(' ')} ended with ${done.status}: ${done.errors}`);
  return done;
}

export function temporaryFolder(): {path: string; remove: () => void} {
  const path = mkdtempSync(join(tmpdir(), 'waggle-'));
  return {path, remove: () => rmSync(path, {recursive: true, force: true})};
}
