// The program under test, and folders for what it writes.

import {execFile} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const program = process.env.WAGGLE ?? fileURLToPath(new URL('../../build/release/bin/waggle', import.meta.url));

export interface Ran {
  status: number;
  output: string;
  errors: string;
}

export function waggle(...args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile(program, args, (error, output, errors) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({status: typeof error?.code === 'number' ? error.code : 0, output, errors});
    });
  });
}

/** Runs it and insists on success. */
export async function must(...args: string[]): Promise<Ran> {
  const done = await waggle(...args);
  if (done.status !== 0) throw new Error(`waggle ${args.join(' ')} ended with ${done.status}: ${done.errors}`);
  return done;
}

export function temporaryFolder(): {path: string; remove: () => void} {
  const path = mkdtempSync(join(tmpdir(), 'waggle-'));
  return {path, remove: () => rmSync(path, {recursive: true, force: true})};
}
