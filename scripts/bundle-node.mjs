/**
 * Bundles the Node programs into one file without dependencies:
 *
 *   src/sidecar/main.ts -> spanwise/node/spanwise.mjs   the program, every role
 *                          spanwise/node/build.json     {version, build}
 *
 * The build hash is the hash of the bundle's text itself, so equal sources give
 * equal builds on every machine. The build is first made with a placeholder of
 * the same length, which the hash then replaces: line maps stay right.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'spanwise', 'node');
const placeholder = '@build-hash@';

const { version } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8')
);
const result = await build({
  absWorkingDir: root,
  entryPoints: ['src/sidecar/main.ts'],
  outfile: join(folder, 'spanwise.mjs'),
  bundle: true,
  write: false,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  charset: 'utf8',
  legalComments: 'inline',
  define: {
    SPANWISE_VERSION: JSON.stringify(version),
    SPANWISE_BUILD: JSON.stringify(placeholder)
  },
  // Bundled CommonJS packages call require() for Node's own modules.
  banner: {
    js: "import { createRequire as spanwiseCreateRequire } from 'node:module';\nconst require = spanwiseCreateRequire(import.meta.url);"
  },
  logLevel: 'warning'
});

const text = result.outputFiles[0].text;
const hash = createHash('sha256')
  .update(text)
  .digest('hex')
  .slice(0, placeholder.length);
mkdirSync(folder, { recursive: true });
// In one step: a process that starts meanwhile must not read half a program.
writeFileSync(
  join(folder, '.spanwise.mjs'),
  text.replaceAll(placeholder, hash)
);
renameSync(join(folder, '.spanwise.mjs'), join(folder, 'spanwise.mjs'));
writeFileSync(
  join(folder, 'build.json'),
  `${JSON.stringify({ version, build: hash })}\n`
);
console.log(
  `spanwise/node/spanwise.mjs: ${(text.length / 1024).toFixed(0)} KiB, build ${hash}`
);
