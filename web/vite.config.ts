import {defineConfig} from 'vite';
import {viteSingleFile} from 'vite-plugin-singlefile';

// `vite build report` and `vite build playground`: one HTML file each, with everything inside.
export default defineConfig({
  plugins: [viteSingleFile({removeViteModuleLoader: true})],
  build: {target: 'es2022', emptyOutDir: false, reportCompressedSize: false},
});
