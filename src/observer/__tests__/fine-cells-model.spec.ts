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
import { complete } from '../folds/context';
import { fineCells } from '../folds/fine-cells';
import { fineSums } from '../folds/fine-rows';
import { ACTIVITIES, type ActivityCells } from '../store/activity-cells';
import { contextOf, takenIn } from './ask';

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
    if (value !== 0) {
      this._sums.set(key, (this._sums.get(key) ?? 0) + value);
    }
  }

  get sorted(): readonly (readonly [string, number])[] {
    return [...this._sums].sort(([a], [b]) => (a < b ? -1 : 1));
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
              if (isIn(start + part.offset)) {
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
