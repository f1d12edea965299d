// The programs under test, and folders for what it writes.

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

function ran(command: string, args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile(command, args, (error, output, errors) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({status: typeof error?.code === 'number' ? error.code : 0, output, errors});
    });
  });
}

export function waggle(...args: string[]): Promise<Ran> {
  return ran(program, args);
}

async function succeeding(command: string, args: string[]): Promise<Ran> {
  const done = await ran(command, args);
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${done.status}: ${done.errors}`);
  return done;
}

/** Runs it and insists on success. */
export function must(...args: string[]): Promise<Ran> {
  return succeeding(program, args);
}

/** The same of `waggle-paper`, which lies beside it. */
export function mustPaper(...args: string[]): Promise<Ran> {
  return succeeding(`${program}-paper`, args);
}

export function temporaryFolder(): {path: string; remove: () => void} {
  const path = mkdtempSync(join(tmpdir(), 'waggle-'));
  return {path, remove: () => rmSync(path, {recursive: true, force: true})};
}
