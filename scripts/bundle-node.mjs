/**
 * Bundles the Node programs into files without dependencies, and what shows the content of HTML files:
 *
 *   src/sidecar/main.ts                    -> spanwise/node/spanwise.cjs    the program
 *   src/sidecar/<role>-process/program.ts  -> spanwise/node/<role>.cjs      what it loads for a role
 *                                             spanwise/node/build.json      {version, build}
 *   src/exports/page/main.ts               -> spanwise/node/page.js         the script in HTML files (spanwise/observed/page_file.py)
 *
 * A file per role, and CommonJS: a start reads only what it needs, without the loader of ES modules.
 * That is a fifth of its CPU.
 *
 * Into the folder given as argument, or spanwise/node, of which all else is removed.
 *
 * The build hash is the hash of the bundles' texts, so equal sources give
 * equal builds on every machine. The build is first made with a placeholder of
 * the same length, which the hash then replaces: line maps stay right.
 */
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const shipped = join(root, 'spanwise', 'node');
const folder = resolve(process.argv[2] ?? shipped);
const placeholder = '@build-hash@';

const { version } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8')
);
const ROLES = ['scheduler', 'observer'];

/** The program finds the others beside it. */
const rolesApart = {
  name: 'roles-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/\w+-process\/program$/ }, ({ path }) => ({
      path: `./${/\w+/.exec(path)[0]}.cjs`,
      external: true
    }));
  }
};

async function bundle(entry, options = {}) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: [`src/sidecar/${entry}.ts`],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    charset: 'utf8',
    legalComments: 'inline',
    define: {
      SPANWISE_VERSION: JSON.stringify(version),
      SPANWISE_BUILD: JSON.stringify(placeholder)
    },
    logLevel: 'warning',
    ...options
  });
  return result.outputFiles[0].text;
}

const programs = {
  // Its import() becomes require(): a file of CommonJS that is imported is read once more, for its exports.
  'spanwise.cjs': await bundle('main', {
    plugins: [rolesApart],
    supported: { 'dynamic-import': false }
  })
};
for (const role of ROLES) {
  programs[`${role}.cjs`] = await bundle(`${role}-process/program`);
}
const text = Object.values(programs).join('');
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

for (const [name, program] of Object.entries(programs)) {
  write(name, program.replaceAll(placeholder, hash));
}
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
  // Private members: nothing outside of the program knows their names.
  mangleProps: /^_/,
  legalComments: 'inline',
  logLevel: 'warning'
});
write('page.js', page.outputFiles[0].text);
writeFileSync(
  join(folder, 'build.json'),
  `${JSON.stringify({ version, build: hash })}\n`
);
// The wheel takes the whole folder: not what a build of another version made.
const made = new Set([...Object.keys(programs), 'page.js', 'build.json']);
for (const name of folder === shipped ? readdirSync(folder) : []) {
  // (another build may be writing what begins with a dot)
  if (!made.has(name) && !name.startsWith('.')) {
    rmSync(join(folder, name), { force: true });
  }
}
console.log(
  `${folder}/${Object.keys(programs).join(', ')}: ${(text.length / 1024).toFixed(0)} KiB, build ${hash}`
);
console.log(
  `${folder}/page.js: ${(page.outputFiles[0].text.length / 1024).toFixed(0)} KiB`
);
