/** Each entry of a `with` block, and each run of a cell, is a row of its own, told apart by its id; what is counted together says so. */
import fc from 'fast-check';
import type { TableName } from '../../records/tables';
import { type Row, rowsToBlock } from '../../testing/rows-to-block';
import type { SpanRow, SpansResult } from '../../wire/panel-link';
import { runDetail } from '../folds/run-detail';
import { readCellRun } from '../store/cell-run';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { SpanOrigin } from '../../records/enumerations';
import { ask } from './ask';

/** A span of the first, second, third tag, in none or in one of the newest; how long its own tasks ran, in seconds. */
const anyPass = fc.record({
  tag: fc.nat(2),
  within: fc.nat(3),
  seconds: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
  staysOpen: fc.boolean()
});
type Pass = typeof anyPass extends fc.Arbitrary<infer T> ? T : never;

const TAGS = ['load', 'fit', 'score'];
const uuidOf = (id: number): string => `uuid ${id}`;

/** Spans 1, 2, 3, …, one after another, each with its tasks. */
function told(passes: readonly Pass[], spans: number): LogStore {
  const log = new LogStore('passes', { spans });
  const say = (table: TableName, rows: readonly Row[]): void =>
    ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
  say(
    'names',
    TAGS.map((text, i) => ({ id: i + 1, text }))
  );
  say('lanes', [{ lane: 0, worker: 0 }]);
  let run = 0;
  passes.forEach((pass, i) => {
    const id = i + 1;
    const row = {
      id,
      parent: parentOf(passes, id) ?? 0,
      tag: pass.tag + 1,
      opened: id,
      uuid: uuidOf(id)
    };
    say('spans', [{ ...row, closed: NaN }]);
    const runs = pass.seconds.map(duration => {
      run++;
      return { run, node: run, span: id, start: 10 * run, duration };
    });
    if (runs.length > 0) {
      say('runs', runs);
    }
    if (!pass.staysOpen) {
      say('spans', [{ ...row, closed: id + 0.5 }]);
    }
  });
  return log;
}

function parentOf(passes: readonly Pass[], id: number): number | null {
  const { within } = passes[id - 1]!;
  return within === 0 || within >= id ? null : id - within;
}

function pathOf(passes: readonly Pass[], id: number): readonly string[] {
  const above = parentOf(passes, id);
  const tag = TAGS[passes[id - 1]!.tag]!;
  return above === null ? [tag] : [...pathOf(passes, above), tag];
}

/** Of a pass and all that is in it. */
function secondsIn(passes: readonly Pass[], id: number): number {
  return passes.reduce(
    (sum, { seconds }, i) =>
      isIn(passes, i + 1, id) ? sum + seconds.reduce((a, b) => a + b, 0) : sum,
    0
  );
}

function isIn(passes: readonly Pass[], id: number, outer: number): boolean {
  const above = parentOf(passes, id);
  return id === outer || (above !== null && isIn(passes, above, outer));
}

function filteredSeconds(log: LogStore, { path, id }: SpanRow): number {
  const filter = { spans: { any: [{ path, id, pass: 'whatever' }] } };
  const { attributedNanoseconds } = ask(log, 'fine-metrics', { filter });
  return attributedNanoseconds / 1e9;
}

describe('passes', () => {
  it('have the figures of their own tasks, in their row and under a filter; those that share a row are counted', () => {
    const count = { alone: 0, together: 0 };
    const many = Array.from({ length: 24 }, (_, i) => ({
      tag: i % 2,
      within: 0,
      seconds: [1 + (i % 9)],
      staysOpen: false
    }));
    fc.assert(
      fc.property(
        fc.array(anyPass, { maxLength: 24 }),
        fc.constantFrom(6, 8192),
        (passes, bound) => {
          const log = told(passes, bound);
          const { rows }: SpansResult = ask(log, 'spans');
          const rowsOf = new Map<string, number>();
          for (const row of rows.filter(({ id }) => id !== undefined)) {
            const path = row.path.join('/');
            const others = row.others ?? 0;
            rowsOf.set(path, (rowsOf.get(path) ?? 0) + 1 + others);
            expect(filteredSeconds(log, row)).toBeCloseTo(row.threadSeconds, 9);
            if (others === 0) {
              count.alone++;
              const number = Number(row.id!.split(' ')[1]);
              expect(row.path).toEqual(pathOf(passes, number));
              // (what is folded into a span in it is in it as well)
              expect(row.threadSeconds).toBeCloseTo(
                secondsIn(passes, number),
                9
              );
            } else {
              count.together++;
            }
          }
          const drawn = new Map<string, number>();
          passes.forEach((_, i) => {
            const path = pathOf(passes, i + 1).join('/');
            drawn.set(path, (drawn.get(path) ?? 0) + 1);
          });
          expect(rowsOf).toEqual(drawn);
        }
      ),
      // (drawn ones seldom have to share a row, and in some draws none has)
      { examples: [[many, 6]] }
    );
    expect(count.alone).toBeGreaterThan(0);
    expect(count.together).toBeGreaterThan(0);
  });

  it('are counted in another where there are more than are shown', () => {
    const passes = Array.from({ length: 1600 }, (_, i) => ({
      tag: 0,
      within: 0,
      seconds: [1 + ((i * 7) % 9)],
      staysOpen: true
    }));
    const { rows, folded }: SpansResult = ask(told(passes, 8192), 'spans');
    const together = rows.filter(({ others }) => others !== undefined);
    expect([rows.length, folded]).toEqual([1500, 100]);
    expect(together.map(({ others }) => others)).toEqual([100]);
    expect(JSON.stringify(rows).length).toBeLessThan(1 << 20);
  });

  it('of a cell are told by its id and by the number beside it, if the row has no other', () => {
    const log = new LogStore('cells', { spans: 4 });
    const say = (table: TableName, rows: readonly Row[]): void =>
      ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
    say('names', [{ id: 1, text: '# fit' }]);
    const cell = (id: number, execution: number, code?: string) => ({
      id,
      tag: 1,
      origin: SpanOrigin.Cell,
      uuid: uuidOf(id),
      opened: id,
      closed: id + 1,
      code:
        code ??
        JSON.stringify([{ filename: `In [${execution}]`, cell: 'c0ffee' }])
    });
    say('spans', [cell(1, 3), cell(2, 7)]);
    // What closes it may leave its code out.
    say('spans', [cell(2, 7, '')]);
    const rows = () => {
      const answer: SpansResult = ask(log, 'spans');
      return answer.rows.map(row => [row.execution, row.cell, row.others]);
    };
    expect(rows()).toEqual([
      [3, 'c0ffee', undefined],
      [7, 'c0ffee', undefined]
    ]);
    // What was written in a span of it, and what in none.
    say('spans', [
      { id: 20, parent: 2, tag: 1, opened: 2, closed: NaN, uuid: 'within' }
    ]);
    const written = [2, 20, 0].map((span, run) => ({ run, node: run, span }));
    say('lanes', [{ lane: 0, worker: 0 }]);
    say('runs', written);
    const cells = () =>
      written.map(({ run }) => runDetail(log, log.runRows.get(run))!.cell);
    const seventh = { title: '# fit', execution: 7 };
    expect(cells()).toEqual([seventh, seventh, undefined]);
    say('spans', [{ id: 20, parent: 2, tag: 1, opened: 2, closed: 3 }]);
    say('spans', [cell(3, 8), cell(4, 9)]);
    expect(cells()).toEqual([
      { title: '# fit' },
      { title: '# fit' },
      undefined
    ]);
    expect(rows().filter(([, id]) => id !== undefined)).toEqual([
      [undefined, 'c0ffee', 2],
      [9, 'c0ffee', undefined]
    ]);
  });

  it('read any code of a cell', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map(v => `[${JSON.stringify(v)}]`)
        ),
        code => {
          const { execution, cell } = readCellRun(code);
          expect(Number.isInteger(execution) && execution >= 0).toBe(true);
          expect(typeof cell).toBe('string');
        }
      )
    );
    const of = (filename: unknown, cell?: unknown) =>
      readCellRun(JSON.stringify([{ filename, cell }]));
    expect(of('In [12]', 'a')).toEqual({ execution: 12, cell: 'a' });
    expect(of('/home/In [12]', 'a'.repeat(65))).toEqual({
      execution: 0,
      cell: ''
    });
  });
});
