/** Each test that docs/held-by-tests.md names is there, and runs. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testsOf } from '../test-titles';

const checkout = resolve(__dirname, '..', '..', '..');
const page = readFileSync(join(checkout, 'docs', 'held-by-tests.md'), 'utf8');

/**
 * `test_x.py::test_y`, `test_x.py::TestZ::test_y`, or `path` "title", in which a quote has a backslash before it. A class alone is no
 * name: a test that it loses would go unseen.
 */
const NAME =
  /`(test_\w+\.py)::(?:(Test\w+)::)?(test_\w+)`|`((?:src|ui-tests)\/[^`]+)` "((?:[^"\\]|\\.)+)"/g;

function isThere(name: RegExpMatchArray): boolean {
  const [, pythonFile, group, test, path, title] = name;
  const file = join(checkout, path ?? `spanwise/tests/${pythonFile}`);
  if (!existsSync(file)) {
    return false;
  }
  const text = readFileSync(file, 'utf8');
  if (path === undefined) {
    return hasPythonTest(text, group, test!);
  }
  // It may be the title of a group.
  const wanted = title!.replaceAll('\\"', '"');
  const named = testsOf(path, text).filter(test => test.title.includes(wanted));
  return text.includes(wanted) && !named.some(test => test.isSkipped);
}

/** Whether the class, or the module where none is named, has the test. */
function hasPythonTest(
  text: string,
  group: string | undefined,
  test: string
): boolean {
  const parts = text.split(/^(?=class |@|(?:async )?def )/m);
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

/** Rows as [defect, what holds it]. */
const rows = page
  .split('\n')
  .filter(line => /^\| (?!what was wrong|-)/.test(line))
  .map(line => line.split('|').map(cell => cell.trim()))
  .map(([, defect, holders]) => [defect!, holders!] as const);

describe('what was wrong once', () => {
  it.each(rows)('%s', (_defect, holders) => {
    const names = [...holders.matchAll(NAME)];
    expect(names.filter(name => !isThere(name)).map(([name]) => name)).toEqual(
      []
    );
    // Nothing but names, or a misspelt one would go unseen.
    expect(holders.replace(NAME, '').replaceAll(', ', '')).toBe('');
    expect(names).not.toEqual([]);
  });
});
