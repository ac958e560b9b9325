/**
 * Bundles the Node programs into one file without dependencies, and what shows the content of HTML files:
 *
 *   src/sidecar/main.ts      -> spanwise/node/spanwise.mjs   the program, every role
 *                               spanwise/node/build.json     {version, build}
 *   src/exports/page/main.ts -> spanwise/node/page.js        the script in HTML files (spanwise/observed/page_file.py)
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

/** In one step: a process that starts meanwhile must not read half a program. */
function write(name, content) {
  writeFileSync(join(folder, `.${name}`), content);
  renameSync(join(folder, `.${name}`), join(folder, name));
}

write('spanwise.mjs', text.replaceAll(placeholder, hash));
const page = await build({
  absWorkingDir: root,
  entryPoints: ['src/exports/page/main.ts'],
  bundle: true,
  write: false,
  platform: 'browser',
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  minify: true,
  legalComments: 'inline',
  logLevel: 'warning'
});
write('page.js', page.outputFiles[0].text);
writeFileSync(
  join(folder, 'build.json'),
  `${JSON.stringify({ version, build: hash })}\n`
);
console.log(
  `spanwise/node/spanwise.mjs: ${(text.length / 1024).toFixed(0)} KiB, build ${hash}`
);
console.log(
  `spanwise/node/page.js: ${(page.outputFiles[0].text.length / 1024).toFixed(0)} KiB`
);
