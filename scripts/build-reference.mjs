/**
 * Generates the API reference of the npm package `spanwise` from the comments behind src/node/index.ts: HTML that needs no network.
 *
 * Into the folder given as argument, or .build/reference. What typedoc warns of (a name without a comment, a broken link, a type that is
 * mentioned and not exported) is an error.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { version } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8')
);

/** @throws Error if typedoc warned of anything; it has printed what. */
export async function buildReference(
  folder = join(root, '.build', 'reference')
) {
  const tsconfig = writeConfig();
  const app = await Application.bootstrapWithPlugins({
    entryPoints: [join(root, 'src', 'node', 'index.ts')],
    tsconfig,
    // tsc has checked the types.
    skipErrorChecking: true,
    name: `API reference of spanwise ${version}`,
    readme: join(root, 'src', 'node', 'package-readme.md'),
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    excludeExternals: true,
    disableSources: true,
    validation: { notExported: true, invalidLink: true, notDocumented: true },
    requiredToBeDocumented: [
      'Class',
      'Function',
      'Interface',
      'Property',
      'TypeAlias',
      'Variable'
    ],
    // Sorts functions before types that one hands in or gets.
    sort: ['kind', 'source-order'],
    kindSortOrder: [
      'Function',
      'Class',
      'Interface',
      'TypeAlias',
      'Variable',
      'Constructor',
      'Property',
      'Accessor',
      'Method'
    ],
    // As one meets them; then the parts of a class.
    groupOrder: [
      'Graphs',
      'Keys',
      'Schedulers',
      'Callbacks',
      'Diagnostics',
      'Pictures',
      'Observing',
      'Pools',
      'Errors',
      'Constructors',
      'Properties',
      'Accessors',
      'Methods'
    ],
    navigation: { includeGroups: true },
    hideGenerator: true,
    githubPages: false,
    logLevel: 'Warn'
  });
  const project = await app.convert();
  rmSync(tsconfig);
  if (project !== undefined) {
    app.validate(project);
    await app.generateDocs(project, folder);
  }
  if (app.logger.hasErrors() || app.logger.hasWarnings()) {
    throw new Error('The reference has the problems named above.');
  }
}

/** Only what index.ts reaches: reading the whole checkout would take four times as long. */
function writeConfig() {
  mkdirSync(join(root, '.build'), { recursive: true });
  const path = join(root, '.build', `tsconfig.reference-${process.pid}.json`);
  writeFileSync(
    path,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        incremental: false,
        tsBuildInfoFile: null,
        types: ['node'],
        typeRoots: [join(root, 'node_modules', '@types')]
      },
      files: [join(root, 'src', 'node', 'index.ts')],
      include: []
    })
  );
  return path;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? join(root, '.build', 'reference'));
  await buildReference(folder);
  console.log(folder);
}
