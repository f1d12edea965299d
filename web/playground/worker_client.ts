// The core in a worker, asked by promises.

import BeeWorker from './worker?worker&inline';
import type {Answer, Calls, CoreClient} from './calls';

interface Waiting {
  resolve(value: Calls[keyof Calls][1]): void;
  reject(error: Error): void;
}

const PATIENCE_MILLISECONDS = 20_000;

/** The worker has died, and with it whatever was asked of it. */
export class CoreLost extends Error {}

export class WorkerClient implements CoreClient {
  readonly live = true;
  /** Told once, when the worker has died. */
  lost: (why: string) => void = () => {};
  /** Told when an answer is long overdue, and when it has come after all. */
  overdue: (is: boolean) => void = () => {};
  private readonly worker = new BeeWorker();
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;
  private death: CoreLost | null = null;

  constructor() {
    this.worker.onmessage = (event: MessageEvent<Answer>) => {
      const answer = event.data;
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.value);
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      if (this.death) return;
      this.death = new CoreLost(event.message || 'its worker gave no reason');
      this.end();
      for (const waiting of this.waiting.values()) waiting.reject(this.death);
      this.waiting.clear();
      this.lost(this.death.message);
    };
  }

  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    const id = this.next++;
    let late = false;
    const watchdog = setTimeout(() => this.overdue(late = true), PATIENCE_MILLISECONDS);
    return new Promise<Calls[keyof Calls][1]>((resolve, reject) => {
      if (this.death) throw this.death;
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, name, args});
    }).finally(() => {
      clearTimeout(watchdog);
      if (late) this.overdue(false);
    }) as Promise<Calls[Name][1]>;
  }

  end(): void {
    this.worker.terminate();
  }
}
