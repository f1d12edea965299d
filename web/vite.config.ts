import {fileURLToPath, pathToFileURL} from 'node:url';

import {defineConfig} from 'vite';
import type {Plugin} from 'vite';
import {viteSingleFile} from 'vite-plugin-singlefile';

import type {CoreModule} from './playground/core';
import {record} from './playground/record';

// The core as WebAssembly. The build says where it is; by hand, `cmake --preset wasm && cmake --build --preset wasm`.
const core = process.env['WAGGLE_CORE'] ??
  fileURLToPath(new URL('../build/wasm/web/wasm/waggle.mjs', import.meta.url));

/** A run of the core, for browsers that cannot run it. */
function recordedRun(): Plugin {
  const name = 'virtual:recorded-run';
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : null),
    load: async (id) => {
      if (id !== `\0${name}`) return null;
      const {default: create} = await import(pathToFileURL(core).href) as {default: () => Promise<CoreModule>};
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(record(await create())))});`;
    },
  };
}

// `vite build report` and `vite build playground`: one HTML file each, with everything inside.
export default defineConfig({
  plugins: [recordedRun(), viteSingleFile({removeViteModuleLoader: true})],
  resolve: {alias: {'waggle-core': core}},
  build: {target: 'es2022', emptyOutDir: false, reportCompressedSize: false},
});
