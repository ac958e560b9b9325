/**
 * Compiles src to lib, file by file, for the labextension's bundler. Types are
 * not checked here (`jlpm types:check` does), so this takes half a second.
 */
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const entryPoints = readdirSync(join(root, 'src'), { recursive: true })
  .map(name => name.split(sep).join('/'))
  .filter(name => /\.(tsx?|svg)$/.test(name))
  .filter(name => !/(^|\/)__tests__\/|^testing\//.test(name))
  .map(name => `src/${name}`);

// A file that is gone from src must not live on in lib.
rmSync(join(root, 'lib'), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'lib',
  outbase: 'src',
  bundle: false,
  format: 'esm',
  target: 'es2022',
  jsx: 'transform',
  jsxFactory: 'createElement',
  sourcemap: true,
  loader: { '.svg': 'copy' },
  logLevel: 'warning'
});
console.log(`lib: ${entryPoints.length} files`);
