/**
 * Runs, failures, executions, events and bytes by span and function, of each selection in each range: worked out a second time from the
 * drawn facts. What begins in the range counts; time is cut at its borders.
 */
import fc from 'fast-check';
import { PartKind, RunStatus, wordsOf } from '../../records/enumerations';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  type PartFact
} from '../../testing/drawn-cluster';
import { DRAWN_SELECTIONS } from '../../testing/drawn-selections';
import {
  blockOfZeros,
  rowsToBlock,
  type Row
} from '../../testing/rows-to-block';
import { complete } from '../folds/context';
import { fineCells } from '../folds/fine-cells';
import { fineSums } from '../folds/fine-rows';
import { ACTIVITIES, type ActivityCells } from '../store/activity-cells';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { contextOf, takenIn, type Asked } from './ask';

const KINDS = wordsOf(PartKind);
const DRAWN = [1, 2, 3].map(drawCluster);
const LOGS = DRAWN.map(takenIn);
const WHOLE = 'all' as const;

/** Ends on ticks, on which runs and parts begin and end. */
const anyTime = fc.oneof(
  fc.constant(WHOLE),
  fc.tuple(fc.nat(TICKS), fc.nat(TICKS / 2)).map(([from, length]) => ({
    from: from * TICK,
    to: (from + length) * TICK
  }))
);

class Sums {
  private readonly _sums = new Map<string, number>();

  add(key: string, value: number): void {
    this._sums.set(key, (this._sums.get(key) ?? 0) + value);
  }

  get sorted(): readonly (readonly [string, number])[] {
    const sums = [...this._sums].filter(([, value]) => value !== 0);
    return sums.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

function tell(
  sums: Sums,
  of: string,
  cells: ActivityCells,
  nameOf: (id: number) => string
): void {
  for (let cell = 0; cell < cells.length; cell++) {
    const at = `${of} ${cells.span(cell)} ${nameOf(cells.function(cell))}`;
    sums.add(`${at} runs`, cells.runs(cell));
    sums.add(`${at} failed`, cells.failed(cell));
    sums.add(`${at} executions`, cells.executions(cell));
    for (const [i, activity] of ACTIVITIES.entries()) {
      sums.add(`${at} ${activity} events`, cells.events(cell, i));
      sums.add(`${at} ${activity} bytes`, cells.bytes(cell, i));
    }
    sums.add(`${at} nanoseconds`, cells.totalNanoseconds(cell));
  }
}

describe('fine cells of a drawn cluster', () => {
  it('count what begins in the range, of the runs that pass', () => {
    fc.assert(
      fc.property(
        fc.nat(2),
        fc.constantFrom(...DRAWN_SELECTIONS),
        anyTime,
        (drawn, selection, time) => {
          const [facts, log] = [DRAWN[drawn]!, LOGS[drawn]!];
          const context = contextOf(log, {
            filter: selection.filter,
            time,
            now: TICKS * TICK
          });
          const cells = complete(fineCells(context));
          const found = new Sums();
          tell(found, 'held', cells.held, id => log.name(id));
          tell(found, 'background', cells.background, id => log.name(id));
          const range =
            time === WHOLE ? { from: -Infinity, to: Infinity } : time;
          const isIn = (at: number): boolean =>
            at >= range.from && at < range.to;
          const expected = new Sums();
          let total = 0;
          for (const run of facts.runs) {
            const { task, status, start, parts } = run;
            // Spans and functions choose cells and not runs.
            if (
              !selection.isWorker(run.worker.worker) ||
              start >= range.to ||
              endOf(run) < range.from
            ) {
              continue;
            }
            total +=
              Math.min(endOf(run), range.to) - Math.max(start, range.from);
            if (!selection.isStatus(status)) {
              continue;
            }
            const own = `held ${task.span} ${task.function}`;
            const length = (from: number, to: number): number =>
              1e9 *
              Math.max(0, Math.min(to, range.to) - Math.max(from, range.from));
            const whole = length(start, endOf(run));
            expected.add(`${own} nanoseconds`, whole);
            const computes = ({ kind, held }: PartFact): boolean =>
              held && kind === PartKind.Compute;
            if (isIn(start) && status !== RunStatus.Missing) {
              expected.add(`${own} runs`, 1);
              expected.add(
                `${own} failed`,
                status === RunStatus.Failed ? 1 : 0
              );
              expected.add(`${own} executions`, parts.some(computes) ? 0 : 1);
            }
            for (const part of parts) {
              const from = start + part.offset;
              if (part.held && status !== RunStatus.Lost) {
                const ns = length(from, from + part.duration);
                const at = `held ${part.span} ${part.function}`;
                expected.add(`${at} nanoseconds`, ns);
                expected.add(`${own} nanoseconds`, -ns);
              }
              if (!part.held && isIn(from)) {
                // Nobody's thread was held, so it is not cut.
                const at = `background ${part.span} ${part.function}`;
                expected.add(`${at} nanoseconds`, part.duration * 1e9);
              }
              if (isIn(from)) {
                const of = part.held ? 'held' : 'background';
                const at = `${of} ${part.span} ${part.function}`;
                const activity = KINDS[part.kind]!;
                expected.add(`${at} ${activity} events`, 1);
                expected.add(`${at} ${activity} bytes`, part.bytes);
                expected.add(`${at} executions`, computes(part) ? 1 : 0);
              }
            }
          }
          expect(found.sorted).toEqual(expected.sorted);
          expect(cells.totalNanoseconds).toBeCloseTo(total * 1e9, -1);
        }
      ),
      { numRuns: 150 }
    );
  });
});

describe('rows of fine metrics of a drawn cluster', () => {
  it("are the log's own sums if nothing is chosen", () => {
    const log = LOGS[0]!;
    expect(complete(fineSums(contextOf(log)))).toBe(log.fineSums);
    const asked = { filter: DRAWN_SELECTIONS[1]!.filter };
    expect(complete(fineSums(contextOf(log, asked)))).not.toBe(log.fineSums);
  });

  it('are each added up once, of the whole run also those when nothing ran', () => {
    const ROWS = 9000;
    const log = new LogStore('many');
    const rows = blockOfZeros(1, 'fine', ROWS);
    rows.columns['second']!.fill(77);
    rows.columns['value']!.fill(2);
    ingestBlock(log, rows);
    const sums = complete(
      fineSums(contextOf(log, { filter: { workers: [0] } }))
    );
    expect([...sums.all()].map(({ value }) => value)).toEqual([2 * ROWS]);
  });

  it('are added up, of the workers that pass and the seconds that reach into the range', () => {
    fc.assert(
      fc.property(
        fc.nat(2),
        fc.constantFrom(DRAWN_SELECTIONS[0]!, DRAWN_SELECTIONS[1]!),
        fc.oneof(
          anyTime,
          fc.tuple(fc.nat(12), fc.nat(6)).map(([from, length]) => ({
            from,
            to: from + length
          }))
        ),
        (drawn, selection, time) => {
          const [facts, log] = [DRAWN[drawn]!, LOGS[drawn]!];
          const range =
            time === WHOLE ? { from: -Infinity, to: Infinity } : time;
          const expected = new Sums();
          for (const row of facts.fine) {
            const second = Math.floor(row.t);
            if (
              selection.isWorker(row.worker) &&
              second + 1 > range.from &&
              second < range.to
            ) {
              const { context, activity, unit, span } = row;
              expected.add(
                [context, activity, unit, span, row.function].join(),
                row.value
              );
            }
          }
          const sums = complete(
            fineSums(
              contextOf(log, {
                filter: selection.filter,
                time,
                now: TICKS * TICK
              })
            )
          );
          const found = new Sums();
          for (const sum of sums.all()) {
            const names = [sum.context, sum.activity, sum.unit].map(id =>
              log.name(id)
            );
            found.add(
              [...names, sum.span, log.name(sum.function)].join(),
              sum.value
            );
          }
          expect(found.sorted).toEqual(expected.sorted);
        }
      ),
      { numRuns: 100 }
    );
  });
});

describe('fine cells of a few rows', () => {
  const logOf = (runs: readonly Row[], parts: readonly Row[]): LogStore => {
    const log = new LogStore('few');
    const lane = { lane: 0, worker: 0, thread: 0 };
    [
      rowsToBlock(1, 'workers', [{ worker: 0, threads: 1, left: NaN }]),
      rowsToBlock(2, 'lanes', [lane]),
      rowsToBlock(3, 'parts', parts),
      rowsToBlock(4, 'runs', runs)
    ].forEach(block => ingestBlock(log, block));
    return log;
  };
  const told = (log: LogStore, asked: Asked) => {
    const { held, background, totalNanoseconds } = complete(
      fineCells(contextOf(log, asked))
    );
    const sums = new Sums();
    tell(sums, 'held', held, () => '');
    tell(sums, 'background', background, () => '');
    return { sums: Object.fromEntries(sums.sorted), totalNanoseconds };
  };
  const ofWorker: Asked = { filter: { workers: [0] } };

  it("are the log's own if nothing is chosen", () => {
    const log = logOf([{ run: 1, duration: 1 }], []);
    const { held, background } = complete(fineCells(contextOf(log)));
    expect(held).toBe(log.held);
    expect(background).toBe(log.background);
  });

  it('count a run at the very end, of no length or of an unknown one, and what ends where the range begins', () => {
    const part = { kind: 1, held: 0, bytes: 5 };
    const log = logOf(
      [
        { run: 1, start: 0, duration: 4 },
        { run: 2, start: 2, duration: NaN },
        { run: 3, start: 8, duration: 0 }
      ],
      [
        { ...part, run: 1, offset: 4 },
        { ...part, run: 3, offset: 2, kind: 99 }
      ]
    );
    expect(told(log, ofWorker)).toEqual({
      sums: {
        'held 0  runs': 3,
        'held 0  executions': 3,
        'held 0  nanoseconds': 4e9,
        'background 0  transfer events': 1,
        'background 0  transfer bytes': 5,
        'background 0  other events': 1,
        'background 0  other bytes': 5
      },
      totalNanoseconds: 4e9
    });
    expect(told(log, { time: { from: 4, to: 6 } }).sums).toEqual({
      'background 0  transfer events': 1,
      'background 0  transfer bytes': 5
    });
    expect(told(log, { time: { from: 1, to: 3 } }).totalNanoseconds).toBe(2e9);
    // With the range's beginning, and with its end.
    expect(told(log, { time: { from: 2, to: 4 } }).sums).toEqual({
      'held 0  runs': 1,
      'held 0  executions': 1,
      'held 0  nanoseconds': 2e9
    });
  });

  it('count a run that was told again once, and the time of one that was given back', () => {
    const log = logOf(
      [
        { run: 1, start: 0, duration: 4 },
        { run: 1, start: 1, duration: 2 },
        { run: 2, start: 4, duration: 1, status: RunStatus.Missing }
      ],
      []
    );
    expect(told(log, ofWorker)).toEqual({
      sums: {
        'held 0  runs': 1,
        'held 0  executions': 1,
        'held 0  nanoseconds': 3e9
      },
      totalNanoseconds: 3e9
    });
  });
});
