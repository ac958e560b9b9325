/**
 * scripts/check-imports.mjs finds what it is there to find.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
const scripts = path.join(root, 'scripts');
type Files = Readonly<Record<string, string>>;

/** Each in a folder of its own, all looked at by one process: to load the TypeScript compiler takes longer than any of them. */
const SOUND: Files = {
  'base/ring.ts': 'export const size = 1;',
  'records/codec.ts': "import { size } from '../base/ring';",
  'wire/frame.ts': "import { encode } from '@msgpack/msgpack';",
  'sidecar/main.ts': "import * as net from 'node:net';",
  'base/__tests__/ring.spec.ts': "import * as fs from 'node:fs';"
};
const REFUSED = {
  'a folder upstream': ['base/a.ts', "import '../wire/frame';"],
  'a platform': ['scheduler/a.ts', "import * as fs from 'node:fs';"],
  'a type': ['scheduler/a.ts', "import type { F } from '../wire/frame';"],
  'a re-export': ['observer/a.ts', "export { f } from '../sidecar/main';"],
  'on demand': ['panels/x/view.tsx', "void import('plotly.js');"],
  'test support': ['feed/a.ts', "import '../testing/fake';"],
  'what a view may': ['panels/x/rows.ts', "import * as r from 'react';"],
  'outside src': ['lab/a.ts', "import '../../scripts/build';"]
} as const;
const CIRCLE: Files = {
  'base/a.ts': "import { b } from './b';",
  'base/b.ts': "export { c } from './deep/c';",
  'base/deep/c.ts': "import type { A } from '../a';",
  'base/user.ts': "import { a } from './a';"
};
const KNOTS: Files = {
  'base/a.ts': "import './b';",
  'base/b.ts': "import './a'; import './c';",
  'base/c.ts': "import './a';",
  'records/a.ts': "import './b';",
  'records/b.ts': "import './a';"
};
const PROJECTS: Readonly<Record<string, Files>> = {
  sound: SOUND,
  'a new folder': { 'wire/frame.ts': '', 'fresh/a.ts': '' },
  circle: CIRCLE,
  knots: KNOTS,
  ...Object.fromEntries(
    Object.entries(REFUSED).map(([what, [name, text]]) => [
      what,
      { 'wire/frame.ts': 'export type F = 1;', [name]: text }
    ])
  )
};

let folder: string;
let complaints: Readonly<Record<string, readonly string[]>>;

beforeAll(() => {
  // Beside node_modules, where the script finds the TypeScript compiler.
  mkdirSync(path.join(root, '.build'), { recursive: true });
  folder = mkdtempSync(path.join(root, '.build', 'import-check-'));
  for (const [what, files] of Object.entries(PROJECTS)) {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(folder, what, 'src', name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
  const said = execFileSync(
    process.execPath,
    ['--input-type=module', '--eval', ASK],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        ASKED: JSON.stringify([scripts, folder, Object.keys(PROJECTS)])
      }
    }
  );
  complaints = JSON.parse(said) as typeof complaints;
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const ASK = `
  const { join } = await import('node:path');
  const { readFileSync } = await import('node:fs');
  const { pathToFileURL } = await import('node:url');
  const [scripts, folder, names] = JSON.parse(process.env.ASKED);
  const { checkImports } = await import(pathToFileURL(join(scripts, 'check-imports.mjs')).href);
  const table = JSON.parse(readFileSync(join(scripts, 'import-table.json'), 'utf8'));
  console.log(JSON.stringify(Object.fromEntries(names.map(
    name => [name, checkImports(join(folder, name, 'src'), table).problems]))));`;

/** The program itself, as lint runs it, over one of the projects. */
function run(what: string) {
  cpSync(scripts, path.join(folder, what, 'scripts'), { recursive: true });
  return spawnSync(
    process.execPath,
    [path.join(folder, what, 'scripts', 'check-imports.mjs')],
    { encoding: 'utf8', cwd: tmpdir() }
  );
}

describe('the import check', () => {
  it('is content with what the table allows', () => {
    expect(complaints['sound']).toEqual([]);
    const { status, stdout, stderr } = run('sound');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('4 files follow the table');
  });

  it('prints what it found, and fails', () => {
    const { status, stderr } = run('a platform');
    expect(status).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      ...complaints['a platform']!,
      expect.stringMatching(/^1 imports against the table/)
    ]);
  });

  it.each(Object.entries(REFUSED))(
    'refuses the import of %s',
    (what, [name]) => {
      expect(complaints[what]).toHaveLength(1);
      expect(complaints[what]![0]).toContain(`src/${name}:1`);
    }
  );

  it('asks for a row for a new folder', () => {
    expect(complaints['a new folder']).toEqual([
      'src/fresh/a.ts: its folder is not in scripts/import-table.json'
    ]);
  });

  it('refuses a circle of files, of types too', () => {
    expect(complaints['circle']).toEqual([
      'circle: src/base/a.ts → src/base/b.ts → src/base/deep/c.ts → src/base/a.ts'
    ]);
  });

  it('tells each knot of circles once', () => {
    expect(complaints['knots']!.map(each => each.split(' → ')[0])).toEqual([
      'circle: src/base/a.ts',
      'circle: src/records/a.ts'
    ]);
  });
});
