/**
 * oxlint holds one way of naming constants, and finds the other one; the other rules that are ours find what they are about.
 */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const ROOT = path.resolve(__dirname, '..', '..', '..');

type Settings = { readonly jsPlugins: readonly string[] };

type Finding = {
  readonly rule: string;
  readonly name: string;
};

/** By file, what the project's oxlint finds fault with in these texts, as if they stood in the files. */
function faults(
  texts: Readonly<Record<string, string>>
): Record<string, Finding[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'spanwise-house-rules-'));
  try {
    const settings = JSON.parse(
      readFileSync(path.join(ROOT, '.oxlintrc.json'), 'utf8')
    ) as Settings;
    const jsPlugins = settings.jsPlugins.map(each => path.join(ROOT, each));
    const compilerOptions = {
      strict: true,
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
      noEmit: true
    };
    const written = {
      ...texts,
      '.oxlintrc.json': JSON.stringify({ ...settings, jsPlugins }),
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['src'] })
    };
    for (const [file, text] of Object.entries(written)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    const { stdout, stderr } = spawnSync(
      path.join(ROOT, 'node_modules', '.bin', 'oxlint'),
      ['--format', 'json'],
      { cwd: folder, encoding: 'utf8' }
    );
    expect(stderr).toBe('');
    const { diagnostics, number_of_files: looked } = JSON.parse(stdout) as {
      diagnostics: readonly {
        code: string;
        message: string;
        filename: string;
        labels: readonly { span: { offset: number } }[];
      }[];
      number_of_files: number;
    };
    expect(looked).toBe(Object.keys(texts).length);
    const found: Record<string, Finding[]> = {};
    const inOrder = [...diagnostics].sort(
      (a, b) => a.labels[0]!.span.offset - b.labels[0]!.span.offset
    );
    for (const { code, message, filename } of inOrder) {
      (found[filename] ??= []).push({
        rule: /\((.*)\)/.exec(code)?.[1] ?? code,
        name: message.split(' ')[0]!
      });
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function namesFound(findings: readonly Finding[] = []): string[] {
  return findings
    .filter(({ rule }) => rule === 'constant-names')
    .map(({ name }) => name);
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
  const found = faults({
    'src/records/right.ts': RIGHT,
    'src/records/wrong.ts': WRONG,
    'src/records/__tests__/wrong.spec.ts': WRONG
  });
  expect(namesFound(found['src/records/right.ts'])).toEqual([]);
  expect(namesFound(found['src/records/wrong.ts'])).toEqual([
    ...DATA,
    ...THINGS
  ]);
  // A spec names data as it likes, but nothing else in SCREAMING.
  expect(namesFound(found['src/records/__tests__/wrong.spec.ts'])).toEqual(
    THINGS
  );
});

/** Each line breaks the rule that its comment names. */
const PLANTED = `
export interface Role {} // role-names
export class Planted {
  private name = 1; // role-names
  later(): number {
    return this.name + this._key + this.taken;
  }
  private readonly _key = 2; // fields-first
  private static run(): void {} // role-names
  constructor(private taken: number) {} // role-names
}
export function now(): Date {
  document.body.textContent = 'text'; // hidden-text
  return new Date(); // no-clock
}
`;
const MENDED = `
export interface IRole {}
export class Planted {
  private _name = 1;
  private readonly _key = 2;
  private _later = (): number => this._key;
  private static _run(): void {}
  constructor(private _taken: number) {}
  later(): number {
    return this._name + this._key + this._taken;
  }
}
export function now(seconds: number): Date {
  document.body.textContent = shownText('text');
  return new Date(seconds);
}
`;

it('finds names of roles and members, fields, hidden texts and clocks', () => {
  const found = faults({
    'src/records/planted.ts': PLANTED,
    'src/records/mended.ts': MENDED,
    'src/lab/planted.ts': PLANTED,
    'benchmarks/planted.ts': PLANTED
  });
  const ours = (file: string) =>
    (found[file] ?? [])
      .map(({ rule }) => rule)
      .filter(rule => PLANTED.includes(`// ${rule}`));
  const all = [...PLANTED.matchAll(/\/\/ (.*)/g)].map(([, rule]) => rule);
  expect(ours('src/records/planted.ts')).toEqual(all);
  expect(ours('src/records/mended.ts')).toEqual([]);
  expect(ours('src/lab/planted.ts')).toEqual(
    all.filter(rule => rule !== 'no-clock')
  );
  expect(ours('benchmarks/planted.ts')).toEqual(
    all.filter(rule => rule !== 'no-clock' && rule !== 'hidden-text')
  );
});
