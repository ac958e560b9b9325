/**
 * Each section of the specification has rows in the pages that compare with Dask, and each row has tests that run and assert something, or a
 * case that is run here.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildNodePrograms } from '../../testing/node-programs';
import { testsOf, type WrittenTest } from '../../testing/test-titles';
import { COMPARED, type Held } from './compared-behaviours';
import { cases } from './compared-cases';

const checkout = resolve(__dirname, '..', '..', '..');
const sections = [
  ...['1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9'],
  ...['2', '3', '3.1', '3.2', '3.3', '4', '4.1', '4.2', '4.3', '4.4', '4.5'],
  ...['6.1', '6.2', '6.3', '6.4', '6.5', '6.6', '6.7']
];

type Row = {
  readonly page: string;
  readonly heading: string;
  readonly sections: readonly string[];
  readonly behaviour: string;
  /** Whether it is as Dask's, and why not. */
  readonly how: string;
  readonly reason: string;
};

/** Rows of the tables that compare, in their order. */
function rowsOf(page: string): Row[] {
  const rows: Row[] = [];
  let heading = '';
  let columns: string[] | null = null;
  for (const line of readFileSync(join(checkout, 'docs', page), 'utf8').split(
    '\n'
  )) {
    if (/^#+ /.test(line)) {
      heading = line.replace(/^#+ /, '');
    }
    const cells = line
      .split(' | ')
      .map(cell => cell.replaceAll('|', '').trim());
    if (!line.startsWith('|')) {
      columns = null;
    } else if (cells.includes("as Dask's?")) {
      columns = cells;
    } else if (columns !== null && !line.startsWith('| ---')) {
      const of = (name: string): string => cells[columns!.indexOf(name)] ?? '';
      const own = of('§').split(', ').filter(Boolean);
      rows.push({
        page,
        heading,
        sections: own.length > 0 ? own : [/\d(?:\.\d)?/.exec(heading)![0]],
        behaviour: of('behaviour'),
        how: of("as Dask's?"),
        reason: of('reason')
      });
    }
  }
  return rows;
}

const pages = Object.keys(COMPARED);
const rows = pages.flatMap(rowsOf);

/** The row's entry stands at the row's place in its table. */
function heldBy(row: Row): Held | undefined {
  const table = rows.filter(
    ({ page, heading }) => page === row.page && heading === row.heading
  );
  return COMPARED[row.page]![row.heading]?.[table.indexOf(row)];
}

const read = new Map<string, readonly WrittenTest[]>();

function testsOfFile(path: string): readonly WrittenTest[] {
  let tests = read.get(path);
  if (tests === undefined) {
    tests = existsSync(path) ? testsOf(path, readFileSync(path, 'utf8')) : [];
    read.set(path, tests);
  }
  return tests;
}

/** Why a named test cannot hold a row; undefined: it is a test that runs and asserts, or a case. */
function wrongWith(holder: string): string | undefined {
  const [, where, title] = /^([^:]+): (.*)$/s.exec(holder)!;
  const [kind, file] = where!.split(' ');
  if (kind === 'case') {
    return title! in cases ? undefined : 'no such case';
  }
  if (kind === 'python') {
    const path = join(checkout, 'spanwise/tests', `${file!}.py`);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = new RegExp(`((?:^@.*\\n)*)^def ${title!}\\(`, 'm').exec(text);
    return found === null
      ? 'no such test'
      : found[1]!.includes('mark.skip(')
        ? 'skipped'
        : undefined;
  }
  const parts = where!.split('/');
  const spec = `${parts.pop()!}.spec.ts`;
  const path =
    kind === 'browser'
      ? join(checkout, 'ui-tests/tests', `${file!}.spec.ts`)
      : join(checkout, 'src/node', ...parts, '__tests__', spec);
  const found = testsOfFile(path).filter(test => test.title.startsWith(title!));
  return found.length === 0
    ? 'no such test'
    : found.length > 1
      ? 'more than one such test'
      : found[0]!.isSkipped
        ? 'skipped'
        : found[0]!.asserts
          ? undefined
          : 'asserts nothing';
}

describe('the sections of the specification', () => {
  it('are compared with Dask', () => {
    const compared = new Set(rows.flatMap(row => row.sections));
    expect(sections.filter(section => !compared.has(section))).toEqual([]);
  });

  it('have no entry without a row', () => {
    const entries = pages.flatMap(page =>
      Object.entries(COMPARED[page]!).flatMap(([heading, held]) =>
        held.map(() => `${page} ${heading}`)
      )
    );
    expect(rows.map(({ page, heading }) => `${page} ${heading}`)).toEqual(
      entries
    );
  });
});

describe.each(rows)('$heading: $behaviour', row => {
  const [beginning, ...holders] = heldBy(row) ?? [''];

  it('is the same as in Dask, or different for a reason', () => {
    expect(row.how).toMatch(/^(?:same|different)\b/);
    if (row.how.startsWith('different')) {
      expect(row.reason).not.toBe('');
    }
  });

  it('is held by tests that run', () => {
    expect([
      row.behaviour,
      row.behaviour.startsWith(beginning) && beginning !== ''
    ]).toEqual([row.behaviour, true]);
    expect(holders).not.toEqual([]);
    const wrong = holders.map(holder => [holder, wrongWith(holder)]);
    expect(wrong.filter(([, why]) => why !== undefined)).toEqual([]);
  });
});

describe('behaviours compared with Dask', () => {
  beforeAll(() => buildNodePrograms('pool-thread.mjs', 'sampler.mjs'));

  it.each(Object.entries(cases))('%s', async (name, show) => {
    expect.hasAssertions();
    await show();
    const holders = rows.flatMap(row => heldBy(row)?.slice(1) ?? []);
    expect(holders).toContain(`case: ${name}`);
  });
});
