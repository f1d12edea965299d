// The worker: the core, and nothing else. It does what it is asked, in order, and answers.

import createCore from 'waggle-core';
import {Core} from './core';
import type {Answer, Call, Calls} from './calls';

const ready = createCore().then((module) => new Core(module));

let asked = 0;  // the call at work
const say = (answer: Answer) => self.postMessage(answer);

const handlers: {[Name in keyof Calls]: (core: Core, ...args: Calls[Name][0]) => Calls[Name][1]} = {
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
};

function run<Name extends keyof Calls>(core: Core, call: Call<Name>): Calls[Name][1] {
  return handlers[call.name](core, ...call.args);
}

self.onmessage = async (event: MessageEvent<Call<keyof Calls>>) => {
  let answer: Answer;
  try {
    const core = await ready;
    asked = event.data.id;
    answer = {id: event.data.id, value: run(core, event.data)};
  } catch (error) {
    answer = {id: event.data.id, error: error instanceof Error ? error.message : String(error)};
  }
  say(answer);
};
