/** scripts/check-enumerations.mjs finds what it is there to find; `scripts/test lint` asks it for the tree. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.resolve(__dirname, '..', '..', '..');
const script = path.join(root, 'scripts', 'check-enumerations.mjs');

/** What the check says of files with these texts; it is an ES module, so another process asks it. */
function complaintsAbout(planted: Record<string, string>): string[] {
  const ask = `
    const { enumerationsIn, secondNumberings } = await import(${JSON.stringify(pathToFileURL(script).href)});
    const [home, planted] = JSON.parse(process.env.ASKED);
    const known = enumerationsIn(home);
    console.log(JSON.stringify(Object.entries(planted).flatMap(
      ([name, text]) => secondNumberings(name, text, known))));`;
  const home = readFileSync(
    path.join(root, 'src/records/enumerations.ts'),
    'utf8'
  );
  const said = execFileSync(
    process.execPath,
    ['--input-type=module', '--eval', ask],
    {
      encoding: 'utf8',
      env: { ...process.env, ASKED: JSON.stringify([home, planted]) }
    }
  );
  return JSON.parse(said) as string[];
}

const planted = {
  'a constant': ['const PART_COMPUTE = 4;', 'PART_COMPUTE numbers'],
  'a Python constant': ['_CANCELLED: int = 4\n', 'CANCELLED numbers'],
  'two Python constants with other numbers': [
    'OK, INPUTS_MISSING = 0, 2\n',
    'OK, INPUTS_MISSING number members of RunStatus'
  ],
  'an enum of its own': [
    'enum Logged {\n  Ok = 0,\n  Failed = 1,\n  Missing = 2\n}\n',
    'members of RunStatus are numbered'
  ],
  'a map': [
    'const ORIGIN = { user: 0, cell: 1, notebook: 2 };',
    'members of SpanOrigin are numbered'
  ],
  'a comment': [
    '/** kind: 1 transfer, 2 disk-read, 3 deserialize. */',
    'members of PartKind are numbered'
  ],
  'words in order': [
    "const names = [\n  'ok',\n  'failed',\n  'lost'\n];",
    'the words of RunStatus'
  ],
  'a comparison': ['if (box.kind === 4) {', 'beside a bare number'],
  'a column': ['return columns.state[i]! === 2;', 'beside a bare number'],
  'no id': ['return id === 0xffffffff;', 'NONE_U16, NONE_U32'],
  'no id in Python': ['NO_CHUNK = 0xFFFF_FFFF\n', 'NONE_U16, NONE_U32'],
  'no worker': ['where.push(65535)', 'NONE_U16, NONE_U32']
} as const;

it('finds every kind of second numbering', () => {
  const said = complaintsAbout(
    Object.fromEntries(
      Object.entries(planted).map(([name, [text]]) => [name, text])
    )
  );
  for (const [name, [, sentence]] of Object.entries(planted)) {
    const own = said.filter(each => each.startsWith(`${name}:`));
    expect([name, own.join('\n')]).toEqual([
      name,
      expect.stringContaining(sentence)
    ]);
  }
});

it('lets other words and numbers be', () => {
  const plain = `
    const kinds = { transfer: 0, disk: 0, serialize: 0 };
    if (response.status === 404) { throw new Error(text); }
    const shown = ['transfer', 'disk', 'import', 'serialize'];
    const MOST_LOST = 12;
    box.kind === BoxKind.Failed`;
  expect(complaintsAbout({ 'a.ts': plain })).toEqual([]);
});
