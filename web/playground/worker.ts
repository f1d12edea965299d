// The worker: the core, and nothing else. It does what it is asked, in order, and answers.

import createCore from 'waggle-core';
import {Core} from './core';
import type {Answer, Call, Calls} from './calls';

const ready = createCore().then((module) => new Core(module));

let asked = 0;  // the call at work
const say = (answer: Answer) => self.postMessage(answer);

/** Of a large file only so much is read: the page has to hold it, and whoever came does not wait for long. */
const MOST_BYTES = 8_000_000;

/** A file's first bytes, up to the end of a line where it is cut. */
async function start(file: File): Promise<Uint8Array> {
  const bytes = new Uint8Array(await file.slice(0, MOST_BYTES).arrayBuffer());
  return file.size <= MOST_BYTES ? bytes : bytes.subarray(0, bytes.lastIndexOf(10) + 1);
}

/** What messages call it, and the core knows for a CSV file. */
const csvName = (name: string) => `${name.replace(/\.[^.]*$/, '').replace(/[/\0]/g, '_') || 'log'}.csv`;

type Handler<Name extends keyof Calls> =
  (core: Core, ...args: Calls[Name][0]) => Calls[Name][1] | Promise<Calls[Name][1]>;

const handlers: {[Name in keyof Calls]: Handler<Name>} = {
  version: (core) => core.version(),
  open: (core, settings) => core.open(settings),
  setLearner: (core, settings) => core.setLearner(settings),
  fly: (core, flight, steps, shown) => core.fly(flight, steps, shown),
  learn: (core) => core.learn(),
  marketOpen: (core, timing, seed) => core.marketOpen(timing, seed),
  marketRun: (core, steps) => core.marketRun(steps),
  marketLearn: (core) => core.marketLearn(),
  swingOpen: (core, settings) => core.swingOpen(settings),
  swingLearn: (core) => core.swingLearn((meanwhile) => say({id: asked, meanwhile})),
  swingRun: (core, steps) => core.swingRun(steps),
  swingSetWorld: (core, world) => core.swingSetWorld(world),
  swingHold: (core, at) => core.swingHold(at),
  swingPush: (core, change) => core.swingPush(change),
  logSample: (core) => core.logSample(),
  logOpen: async (core, file) => {
    const bytes = await start(file);
    return {columns: core.logOpen(csvName(file.name), bytes), read: bytes.length};
  },
  logLearn: (core, roles, discount, seed) =>
    core.logLearn(roles, discount, seed, (progress) => say({id: asked, progress})),
  logFile: (core, what) => core.logFile(what),
};

function run<Name extends keyof Calls>(core: Core, call: Call<Name>): Calls[Name][1] | Promise<Calls[Name][1]> {
  return handlers[call.name](core, ...call.args);
}

self.onmessage = async (event: MessageEvent<Call<keyof Calls>>) => {
  let answer: Answer;
  try {
    const core = await ready;
    asked = event.data.id;
    answer = {id: event.data.id, value: await run(core, event.data)};
  } catch (error) {
    answer = {id: event.data.id, error: error instanceof Error ? error.message : String(error)};
  }
  say(answer);
};
