/**
 * eslint holds one way of naming constants, and finds the other one.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');

const linter = `
  const { ESLint } = await import('eslint');
  const [project, ...texts] = JSON.parse(process.argv[1]);
  const eslint = new ESLint({
    ruleFilter: ({ ruleId }) => ruleId === 'house/constant-names',
    overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions: { project } } }
  });
  const said = [];
  for (const [filePath, text] of texts) {
    const [{ messages }] = await eslint.lintText(text, { filePath });
    said.push(messages.filter(({ fatal, ruleId }) => fatal || ruleId === 'house/constant-names').map(({ message }) => message));
  }
  console.log(JSON.stringify(said));`;

let folder = '';

beforeAll(() => {
  const build = path.join(root, '.build');
  mkdirSync(build, { recursive: true });
  folder = mkdtempSync(path.join(build, 'constant-names-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/**
 * The names that the project's eslint finds fault with, in each text as if it stood in the file. Types are those of these files alone: to
 * read all of the project takes five times as long.
 */
function faults(...texts: [file: string, text: string][]): string[][] {
  const project = path.join(folder, 'tsconfig.json');
  const files = texts.map(([file]) => path.join(root, file));
  const extended = path.join(root, 'tsconfig.json');
  writeFileSync(
    project,
    JSON.stringify({ extends: extended, files, include: [] })
  );
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', linter, JSON.stringify([project, ...texts])],
    {
      cwd: root,
      encoding: 'utf8',
      // Or the parser takes the file's text from the disk.
      env: { ...process.env, TSESTREE_SINGLE_RUN: 'false' }
    }
  );
  expect(stderr).toBe('');
  const said = JSON.parse(stdout) as string[][];
  return said.map(each => each.map(message => message.split(' ')[0]!));
}

const RIGHT = `
type SpanId = number & { readonly kind?: 'span' };
const LIMIT = 4, NAME = 'a' as const, NO_SPAN = 0 as SpanId;
const UNITS = ['s', 'ms'], PAIRS = [1, 2] as const, WORD = /[a-z]+/;
const OPEN: ReadonlySet<string> = new Set(['a']);
export const MARGIN = { left: 4, right: { inner: 2 } };
export const Kind = { one: 1, two: 2 } as const;
export type Kind = (typeof Kind)[keyof typeof Kind];
const seen = new Set<string>(), decoder = new TextDecoder();
const state = { rows: 0 }, log = { kept: new Map<string, number>() };
const reader = { read: () => LIMIT }, handlers: Record<string, () => void> = {};
const inc = (by: number) => (state.rows += by);
`;
/** Each name is in the wrong style, and nothing else is. */
const WRONG = `
type SpanId = number & { readonly kind?: 'span' };
const limit = 4, name = 'a' as const, noSpan = 0 as SpanId;
const units = ['s', 'ms'], pairs = [1, 2] as const, word = /[a-z]+/;
const open: ReadonlySet<string> = new Set(['a']);
export const margin = { left: 4, right: { inner: 2 } };
export const Margin = { left: 4, right: { inner: 2 } };
const SEEN = new Set<string>(), DECODER = new TextDecoder();
const STATE = { rows: 0 }, LOG = { kept: new Map<string, number>() };
const READER = { read: () => limit }, HANDLERS: Record<string, () => void> = {};
STATE.rows++;
`;
const DATA = 'limit name noSpan units pairs word open margin Margin'.split(' ');
const THINGS = 'SEEN DECODER STATE LOG READER HANDLERS'.split(' ');

it('finds each constant that is named the other way, and no other one', () => {
  const shipped = 'src/records/ids.ts';
  const spec = 'src/records/__tests__/block.spec.ts';
  const [right, wrong, inSpec] = faults(
    [shipped, RIGHT],
    [shipped, WRONG],
    [spec, WRONG]
  );
  expect(right).toEqual([]);
  expect(wrong).toEqual([...DATA, ...THINGS]);
  // A spec names data as it likes, but nothing else in SCREAMING.
  expect(inSpec).toEqual(THINGS);
});
