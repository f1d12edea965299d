// The WebAssembly module that web/wasm/exports.cc becomes; vite.config.ts says where it is.
declare module 'waggle-core' {
  import type {CoreModule} from './core';
  const create: () => Promise<CoreModule>;
  export default create;
}

declare module 'virtual:recorded-run' {
  import type {RecordedRun} from './recorded_core';
  const run: RecordedRun;
  export default run;
}
