// The core in a worker, asked by promises.

import CoreWorker from './worker?worker&inline';
import type {Answer, Calls, CoreClient} from './calls';
import type {LogProgress, SwingPractice} from './core';

interface Waiting {
  resolve(value: Calls[keyof Calls][1]): void;
  reject(error: Error): void;
}

// Told off by a clock that stands still while the machine sleeps: a worker is not silent that could say nothing.
const TICK_MILLISECONDS = 5_000;
const PATIENCE_TICKS = 4;

/** The worker has died, and with it whatever was asked of it. */
export class CoreLost extends Error {}

export class WorkerClient implements CoreClient {
  readonly live = true;
  /** Told once, when the worker has died, or has been silent for so long that it was ended. */
  lost: (why: string, silent: boolean) => void = () => {};
  /** Told of what there is to see before an answer. */
  meanwhile: (practice: SwingPractice) => void = () => {};
  /** Told how far a long piece of work is. */
  progress: (progress: LogProgress) => void = () => {};
  private readonly worker = new CoreWorker();
  private readonly waiting = new Map<number, Waiting>();
  private readonly clock = setInterval(() => this.tick(), TICK_MILLISECONDS);
  private quiet = 0;  // ticks without a word, while there is something to say
  private next = 0;
  private death: CoreLost | null = null;

  constructor() {
    this.worker.onmessage = (event: MessageEvent<Answer>) => {
      const answer = event.data;
      this.quiet = 0;
      if ('meanwhile' in answer) {
        this.meanwhile(answer.meanwhile);
        return;
      }
      if ('progress' in answer) {
        this.progress(answer.progress);
        return;
      }
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.value);
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.die(event.message || 'its worker gave no reason', false);
    };
  }

  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    const id = this.next++;
    return new Promise<Calls[keyof Calls][1]>((resolve, reject) => {
      if (this.death) throw this.death;
      if (this.waiting.size === 0) this.quiet = 0;
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, name, args});
    }) as Promise<Calls[Name][1]>;
  }

  /** What was asked is never answered. */
  end(): void {
    clearInterval(this.clock);
    this.worker.terminate();
  }

  private tick(): void {
    if (this.waiting.size > 0 && ++this.quiet > PATIENCE_TICKS) this.die('no answer for 20 seconds', true);
  }

  private die(why: string, silent: boolean): void {
    if (this.death) return;
    this.death = new CoreLost(why);
    this.end();
    for (const waiting of this.waiting.values()) waiting.reject(this.death);
    this.waiting.clear();
    this.lost(why, silent);
  }
}
