/**
 * scripts/check-imports.mjs finds what it is there to find.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
let folder: string;

beforeEach(() => {
  // Beside node_modules, where the script finds the TypeScript compiler.
  mkdirSync(path.join(root, '.build'), { recursive: true });
  folder = mkdtempSync(path.join(root, '.build', 'import-check-'));
  cpSync(path.join(root, 'scripts'), path.join(folder, 'scripts'), {
    recursive: true
  });
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): void {
  const file = path.join(folder, 'src', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Runs the check over drawn files and returns its complaints. */
function complaintsAbout(files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) {
    write(name, text);
  }
  try {
    execFileSync(
      process.execPath,
      [path.join(folder, 'scripts', 'check-imports.mjs')],
      { encoding: 'utf8', stdio: 'pipe', cwd: tmpdir() }
    );
    return [];
  } catch (error) {
    const { stderr } = error as { stderr: string };
    return stderr.trim().split('\n').slice(0, -1);
  }
}

describe('the import check', () => {
  it('is content with what the table allows', () => {
    expect(
      complaintsAbout({
        'base/ring.ts': 'export const size = 1;',
        'records/codec.ts': "import { size } from '../base/ring';",
        'wire/frame.ts': "import { encode } from '@msgpack/msgpack';",
        'sidecar/main.ts': "import * as net from 'node:net';",
        'base/__tests__/ring.spec.ts': "import * as fs from 'node:fs';"
      })
    ).toEqual([]);
  });

  it.each([
    ['a folder upstream', 'base/a.ts', "import '../wire/frame';"],
    ['a platform', 'scheduler/a.ts', "import * as fs from 'node:fs';"],
    ['a type', 'scheduler/a.ts', "import type { F } from '../wire/frame';"],
    ['a re-export', 'observer/a.ts', "export { f } from '../sidecar/main';"],
    ['on demand', 'panels/x/view.tsx', "void import('plotly.js');"],
    ['test support', 'feed/a.ts', "import '../testing/fake';"],
    ['what a view may', 'panels/x/rows.ts', "import * as r from 'react';"],
    ['outside src', 'lab/a.ts', "import '../../scripts/build';"]
  ])('refuses the import of %s', (_what, name, text) => {
    const complaints = complaintsAbout({
      'wire/frame.ts': 'export type F = 1;',
      [name]: text
    });
    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toContain(`src/${name}:1`);
  });

  it('asks for a row for a new folder', () => {
    expect(complaintsAbout({ 'fresh/a.ts': '' })).toEqual([
      'src/fresh/a.ts: its folder is not in scripts/import-table.json'
    ]);
  });

  it('refuses a circle of files, of types too', () => {
    expect(
      complaintsAbout({
        'base/a.ts': "import { b } from './b';",
        'base/b.ts': "export { c } from './deep/c';",
        'base/deep/c.ts': "import type { A } from '../a';",
        'base/user.ts': "import { a } from './a';"
      })
    ).toEqual([
      'circle: src/base/a.ts → src/base/b.ts → src/base/deep/c.ts → src/base/a.ts'
    ]);
  });

  it('tells each knot of circles once', () => {
    const complaints = complaintsAbout({
      'base/a.ts': "import './b';",
      'base/b.ts': "import './a'; import './c';",
      'base/c.ts': "import './a';",
      'records/a.ts': "import './b';",
      'records/b.ts': "import './a';"
    });
    expect(complaints.map(each => each.split(' → ')[0])).toEqual([
      'circle: src/base/a.ts',
      'circle: src/records/a.ts'
    ]);
  });
});
