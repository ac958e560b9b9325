/**
 * Makes the folder of the npm package `spanwise`, ready for `npm pack`:
 *
 *   package.json  README.md  LICENSE
 *   dist/index.js, .js.map       src/node as one ES module; packages stay imports
 *   dist/programs/*              what it starts in other threads and processes
 *   dist/types/**.d.ts           as the sources are laid out
 *   reference/index.html         the API reference
 *
 * Into the folder given as argument, or .build/npm. Versions of dependencies are those of package.json, with which the tests ran.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';
import { buildReference } from './build-reference.mjs';
import { bundleNodePrograms } from './bundle-node-programs.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folder = resolve(process.argv[2] ?? join(root, '.build', 'npm'));
const dist = join(folder, 'dist');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What users install with it, and why each is worth that. */
const dependencies = {
  acorn: 'reads the text of functions that are sent to workers',
  'eslint-scope': 'finds the variables such a text takes from around it',
  pidtree: 'lists child processes where there is no /proc',
  pidusage: 'reads their memory and CPU time there'
};

const readme = readFileSync(
  join(root, 'src', 'node', 'package-readme.md'),
  'utf8'
)
  .replace(
    '<!-- reference -->',
    'Every public name, with an example: [API reference](reference/index.html).'
  )
  .replace(
    '<!-- dependencies -->',
    `## Dependencies

| dependency | why |
| --- | --- |
${Object.entries(dependencies)
  .map(([name, why]) => `| \`${name}\` | ${why} |`)
  .join('\n')}`
  );

rmSync(folder, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
writeFileSync(join(folder, 'README.md'), readme);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(
    {
      name: 'spanwise',
      version: manifest.version,
      description:
        'Local task schedulers and diagnostics: where a parallel computation spends its time and memory',
      keywords: [
        'dask',
        'dag',
        'task-graph',
        'scheduler',
        'worker-threads',
        'thread-pool',
        'profiler',
        'progress-bar'
      ],
      license: manifest.license,
      author: manifest.author,
      type: 'module',
      engines: { node: '>=22' },
      exports: {
        '.': {
          types: './dist/types/node/index.d.ts',
          default: './dist/index.js'
        }
      },
      files: ['dist', 'reference'],
      sideEffects: false,
      dependencies: Object.fromEntries(
        Object.keys(dependencies).map(name => [
          name,
          manifest.dependencies[name] ?? manifest.devDependencies[name]
        ])
      )
    },
    null,
    2
  )}\n`
);

await build({
  absWorkingDir: root,
  entryPoints: ['src/node/index.ts'],
  outfile: join(dist, 'index.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  charset: 'utf8',
  sourcemap: true,
  sourcesContent: true,
  external: Object.keys(dependencies),
  logLevel: 'warning'
});
await bundleNodePrograms(join(dist, 'programs'));
// tsc is a process of its own.
await Promise.all([
  emitTypes(join(dist, 'types')),
  buildReference(join(folder, 'reference'))
]);
console.log(folder);

/** Declarations of what index.ts exports, and of what these mention. */
async function emitTypes(into) {
  const config = join(folder, 'tsconfig.types.json');
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        stripInternal: true,
        incremental: false,
        tsBuildInfoFile: null,
        paths: {},
        types: ['node'],
        typeRoots: [join(root, 'node_modules', '@types')],
        rootDir: join(root, 'src'),
        outDir: into
      },
      files: [join(root, 'src', 'node', 'index.ts')],
      include: []
    })
  );
  const compiler = join(
    root,
    'node_modules',
    'typescript-native',
    'bin',
    'tsc'
  );
  const child = spawn(process.execPath, [compiler, '-p', config], {
    stdio: 'inherit'
  });
  const [status] = await once(child, 'close');
  if (status !== 0) {
    throw new Error(`tsc ended with ${status}.`);
  }
  rmSync(config);
  const paths = readdirSync(into, { recursive: true })
    .filter(name => name.endsWith('.d.ts'))
    .map(name => join(into, name));
  paths.forEach(nameFiles);
  const index = join(into, 'node', 'index.d.ts');
  const reached = reachedFrom(index);
  paths.filter(path => !reached.has(path)).forEach(path => rmSync(path));
  // `using` is newer than the library that many projects name.
  writeFileSync(
    index,
    `/// <reference lib="esnext.disposable" />\n${readFileSync(index, 'utf8')}`
  );
}

/** Declarations that users see, directly or not: the others may need packages that users do not have. */
function reachedFrom(path, reached = new Set()) {
  if (!reached.has(path)) {
    reached.add(path);
    const { importedFiles } = ts.preProcessFile(readFileSync(path, 'utf8'));
    for (const { fileName } of importedFiles) {
      if (fileName.startsWith('.')) {
        const target = join(dirname(path), fileName);
        reachedFrom(target.replace(/\.js$/, '.d.ts'), reached);
      }
    }
  }
  return reached;
}

/** ES modules in Node name files with their ending; our sources do not, as bundlers want it. */
function nameFiles(path) {
  const text = readFileSync(path, 'utf8');
  const named = text.replace(
    /((?:from|import)\s*\(?\s*['"])(\.{1,2}\/[^'"]*)(['"])/g,
    (_, before, specifier, after) => {
      const target = join(dirname(path), specifier);
      const ending = existsSync(`${target}.d.ts`) ? '.js' : '/index.js';
      return `${before}${specifier}${ending}${after}`;
    }
  );
  writeFileSync(path, named);
}
