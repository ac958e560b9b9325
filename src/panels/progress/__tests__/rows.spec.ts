/** How far tasks are, as the observer's fold answers it: bars, their texts, and the table. */
import { ask } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { type Row, rowsToBlock } from '../../../testing/rows-to-block';
import { drawRuns } from '../../../testing/run-from-text';
import { english } from '../../../testing/translators';
import type { ProgressResult } from '../../../wire/panel-link';
import {
  detailText,
  doneText,
  headlineText,
  otherTexts,
  progressRows,
  remarkOf,
  shareText,
  tableOf,
  tasksOf
} from '../rows';

const NAMES = ['', 'load', 'smooth', 'add'];

function told(...rows: readonly Row[]): ProgressResult {
  const log = new LogStore('progress');
  const names = NAMES.map((text, id) => ({ id, text }));
  ingestBlock(log, rowsToBlock(1, 'names', names));
  const filled = rows.map(row => ({ t: 1, within: 0, ...row }));
  ingestBlock(log, rowsToBlock(2, 'progress', filled));
  return ask(log, 'progress');
}

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const SMOOTH = {
  function: 2,
  done: 312,
  memory: 40,
  running: 4,
  waiting: 82,
  failed: 2
};

it('says of a function how many of all are done, and what the others do', () => {
  const [row] = progressRows(told(SMOOTH), 'appearance', english);
  expect(doneText(row!, english)).toBe('312 of 400');
  expect(otherTexts(row!, english)).toEqual([
    '4 running',
    '82 waiting',
    '2 failed'
  ]);
  expect(detailText(row!, english)).toBe(
    'smooth\n312 of 400 · 4 running · 82 waiting · 2 failed\nThe results of 40 are kept.'
  );
});

it('says of all together how far they are', () => {
  const result = told(SMOOTH, { function: 1, done: 100, dropped: 3 });
  expect(headlineText(result, english)).toBe('412 of 503 tasks done');
  expect(plain(shareText(result.total))).toBe('82 %');
  expect(tasksOf(result.total)).toBe(503);
  const [, load] = progressRows(result, 'appearance', english);
  expect(otherTexts(load!, english)).toEqual(['3 not run']);
  expect(detailText(load!, english)).toContain('cancelled');
  // All is said only of all.
  const nearly = told({ function: 1, done: 99_999, waiting: 1 });
  expect(plain(shareText(nearly.total))).toBe('> 99 %');
  expect(shareText(told().total)).toBe('');
});

it('is in the order in which functions came, unless another is asked for', () => {
  const result = told(
    { function: 2, waiting: 3 },
    { function: 3, running: 5, done: 9 },
    { function: 1, done: 100 }
  );
  const names = (order: 'appearance' | 'left' | 'name') =>
    progressRows(result, order, english).map(row => row.name);
  expect(names('appearance')).toEqual(['smooth', 'add', 'load']);
  expect(names('left')).toEqual(['add', 'smooth', 'load']);
  expect(names('name')).toEqual(['add', 'load', 'smooth']);
});

it('has a last line for the functions that have none', () => {
  const result: ProgressResult = {
    ...told(SMOOTH),
    others: { ...told(SMOOTH).total, functions: 12 }
  };
  const last = progressRows(result, 'name', english).at(-1)!;
  expect(last).toMatchObject({ name: '12 others', isOthers: true, done: 312 });
});

it('claims no whole where the source does not tell what waits', () => {
  const result = ask(drawRuns('0/0 aabb\n1/0 b'), 'progress');
  const [row] = progressRows(result, 'appearance', english);
  expect(doneText(row!, english)).toBe(`${row!.done} done`);
  expect(headlineText(result, english)).toMatch(/^\d+ runs are done$/);
  expect(shareText(result.total)).toBe('');
  expect(remarkOf(result, english)).toContain('each time that it ran');
  const table = tableOf(result, english);
  expect(table.rows[0]!.map(cell => cell.text)).toContain('–');
  expect(table.note).toBe(remarkOf(result, english));
  expect(remarkOf(told(SMOOTH), english)).toBe('');
});

it('has a table of all counts', () => {
  const { columns, rows, note } = tableOf(told(SMOOTH), english);
  expect(
    Object.fromEntries(columns.map(({ name }, i) => [name, rows[0]![i]!.value]))
  ).toEqual({
    Function: 'smooth',
    Tasks: 400,
    Done: 312,
    Running: 4,
    Waiting: 82,
    Failed: 2,
    'Not run': 0,
    'Results kept': 40
  });
  expect(note).toBeUndefined();
});
