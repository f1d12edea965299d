// The core in a worker, asked by promises.

import BeeWorker from './worker?worker&inline';
import type {Answer, Calls, CoreClient} from './calls';

interface Waiting {
  resolve(value: Calls[keyof Calls][1]): void;
  reject(error: Error): void;
}

export class WorkerClient implements CoreClient {
  readonly live = true;
  private readonly worker = new BeeWorker();
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;

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
      for (const waiting of this.waiting.values()) {
        waiting.reject(new Error(event.message || 'the worker could not start'));
      }
      this.waiting.clear();
    };
  }

  call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    const id = this.next++;
    return new Promise<Calls[keyof Calls][1]>((resolve, reject) => {
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, name, args});
    }) as Promise<Calls[Name][1]>;
  }

  end(): void {
    this.worker.terminate();
  }
}
