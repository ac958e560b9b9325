/** Each test that docs/held-by-tests.md and docs/truth.md name is there, and runs. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testsOf } from '../test-titles';

const checkout = resolve(__dirname, '..', '..', '..');
const [page, truth] = ['held-by-tests.md', 'truth.md'].map(name =>
  readFileSync(join(checkout, 'docs', name), 'utf8')
);

/**
 * `test_x.py::test_y`, `test_x.py::TestZ::test_y`, or `path` "title", in which a quote has a backslash before it. A class alone is no
 * name: a test that it loses would go unseen.
 */
const NAME =
  /`(test_\w+\.py)::(?:(Test\w+)::)?(test_\w+)`|`((?:src|ui-tests)\/[^`]+)` "((?:[^"\\]|\\.)+)"/g;

/** By its path below the checkout. Each is named several times. */
const files = new Map<string, ReturnType<typeof readTests>>();

function readTests(path: string) {
  const file = join(checkout, path);
  if (!existsSync(file)) {
    return null;
  }
  const text = readFileSync(file, 'utf8');
  return path.endsWith('.py')
    ? { text, tests: [], definitions: definitionsIn(text) }
    : { text, tests: testsOf(path, text), definitions: [] };
}

/** What begins at the margin of a module of Python, each with what it holds. */
function definitionsIn(text: string): string[] {
  return text.split(/^(?=class |@|(?:async )?def )/m);
}

function isThere(name: RegExpMatchArray): boolean {
  const [, pythonFile, group, test, path, title] = name;
  const wherever = path ?? `spanwise/tests/${pythonFile}`;
  const found = files.get(wherever) ?? readTests(wherever);
  files.set(wherever, found);
  if (found === null) {
    return false;
  }
  const { text, tests, definitions } = found;
  if (path === undefined) {
    return hasPythonTest(definitions, group, test!);
  }
  // It may be the title of a group.
  const wanted = title!.replaceAll('\\"', '"');
  const named = tests.filter(each => each.title.includes(wanted));
  return text.includes(wanted) && !named.some(each => each.isSkipped);
}

/** Whether the class, or the module where none is named, has the test. */
function hasPythonTest(
  parts: readonly string[],
  group: string | undefined,
  test: string
): boolean {
  const definition = new RegExp(
    `^${group === undefined ? '' : ' {4}'}(?:async )?def ${test}\\(`,
    'm'
  );
  return parts.some(
    part =>
      (group === undefined || new RegExp(`^class ${group}\\b`).test(part)) &&
      definition.test(part)
  );
}

/** The tests that a cell names, which holds nothing but names, or a misspelt one would go unseen. */
function namesIn(holders: string): RegExpMatchArray[] {
  expect(holders.replace(NAME, '').replaceAll(', ', '')).toBe('');
  return [...holders.matchAll(NAME)];
}

const missingOf = (names: readonly RegExpMatchArray[]): string[] =>
  names.filter(name => !isThere(name)).map(([name]) => name);

/** The cells of each row of a page's tables. */
const rowsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter(line => /^\| (?!-)/.test(line))
    .map(line => line.split('|').map(cell => cell.trim()));

describe('what was wrong once', () => {
  const rows = rowsOf(page!)
    .filter(([, defect]) => defect !== 'what was wrong')
    .map(([, defect, holders]) => [defect!, holders!] as const);

  it.each(rows)('%s', (_defect, holders) => {
    const names = namesIn(holders);
    expect(missingOf(names)).toEqual([]);
    expect(names).not.toEqual([]);
  });
});

describe('what is held against another account', () => {
  const rows = rowsOf(truth!).map(([, what, , third, fourth]) => ({
    what: what!,
    third: third!,
    fourth: fourth!
  }));
  const measures = rows.filter(
    ({ what, fourth }) => fourth.includes('`') && !/^Q-\d\d$/.test(what)
  );
  const quirks = rows.filter(({ what }) => /^Q-\d\d$/.test(what));

  it.each(measures)('$what', ({ fourth }) => {
    const names = namesIn(fourth);
    expect(missingOf(names)).toEqual([]);
    expect(names).not.toEqual([]);
  });

  it.each(quirks)('$what', ({ what, third, fourth }) => {
    const names = namesIn(fourth);
    expect(missingOf(names)).toEqual([]);
    expect(names.length > 0).toBe(third !== 'not built yet');
    // By its number: in Python `q01`, in a title as it is written there.
    const number = what.slice(2);
    for (const [name] of names) {
      expect(name).toMatch(new RegExp(`q-?${number}`, 'i'));
    }
  });

  it('are all quirks of the register', () => {
    expect(quirks.map(({ what }) => what)).toEqual(
      Array.from({ length: 22 }, (_, i) => `Q-${`${i + 1}`.padStart(2, '0')}`)
    );
  });
});
