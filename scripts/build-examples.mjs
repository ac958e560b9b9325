/**
 * Compiles the TypeScript examples into .build/examples, with `spanwise` taken from the sources, and what that starts into
 * .build/node-programs. Prints the folder.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleNodePrograms } from './bundle-node-programs.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, '.build', 'examples');

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
await bundleNodePrograms();
await build({
  absWorkingDir: root,
  entryPoints: readdirSync(join(root, 'examples'))
    .filter(name => name.endsWith('.ts'))
    .map(name => `examples/${name}`),
  outdir: folder,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  // `spanwise` is found by the paths in tsconfig.json; its packages are installed.
  external: ['ml-matrix', 'acorn', 'eslint-scope', 'esrecurse', 'estraverse'],
  logLevel: 'warning'
});
console.log(folder);
