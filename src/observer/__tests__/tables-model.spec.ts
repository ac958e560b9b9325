/**
 * Pages of the task table and of records, of a drawn cluster: which runs, in which order. Worked out a second time from the drawn facts, of each
 * selection, in each range, by each column.
 */
import fc from 'fast-check';
import { PartKind, RunStatus, SpanOrigin } from '../../records/enumerations';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  type ClusterFacts,
  type RunFact
} from '../../testing/drawn-cluster';
import { calledBy } from '../../testing/drawn-computing';
import {
  DRAWN_SELECTIONS,
  type DrawnSelection
} from '../../testing/drawn-selections';
import type { RecordsResult, TimeRange } from '../../wire/panel-link';
import { ask, takenIn } from './ask';

const END = TICKS * TICK;
const DRAWN = [1, 2, 3].map(drawCluster);

const anySelection = fc.constantFrom(...DRAWN_SELECTIONS);
const anyDrawn = fc.constantFrom(...DRAWN.keys());
/** Most ends lie on a tick, some of them on the run's own border. */
const anyTime = fc.option(
  fc
    .tuple(fc.nat(TICKS), fc.nat(TICKS / 2), fc.boolean())
    .map(([from, length, isBetween]) => {
      const shift = isBetween ? TICK / 2 : 0;
      const begin = from * TICK + shift;
      return { from: begin, to: begin + length * TICK };
    }),
  { nil: 'all' as const }
);

function passes(run: RunFact, selection: DrawnSelection): boolean {
  return (
    run.status !== RunStatus.Missing &&
    selection.isWorker(run.worker.worker) &&
    selection.isStatus(run.status) &&
    (selection.isOwn(run.task) ||
      run.parts.some(part => part.held && selection.isOwn(part)))
  );
}

const unknownFirst = (value: number): number =>
  Number.isNaN(value) ? -Infinity : value;
const waits = ({ waitReady, waitInputs, waitThread }: RunFact): number => {
  const known = [waitReady, waitInputs, waitThread].filter(
    each => !Number.isNaN(each)
  );
  return known.length === 0 ? -Infinity : known.reduce((a, b) => a + b);
};

/** Column → what the drawn runs are sorted by. */
const sortedBy: Readonly<
  Record<
    string,
    (
      run: RunFact,
      facts: ClusterFacts
    ) => number | string | readonly [string, number]
  >
> = {
  start: ({ start }) => start,
  run: ({ run }) => run,
  duration: ({ duration }) => duration,
  cpu: ({ cpu }) => unknownFirst(cpu),
  waitReady: run => unknownFirst(run.waitReady),
  waitInputs: run => unknownFirst(run.waitInputs),
  waitThread: run => unknownFirst(run.waitThread),
  waited: waits,
  attempt: ({ attempt }) => attempt,
  status: ({ status }) => status,
  thread: ({ thread }) => thread,
  nbytes: ({ nbytes }) => unknownFirst(nbytes),
  worker: ({ worker }) => worker.name,
  function: calledBy,
  error: ({ error }) => error?.split('\n').at(-1) ?? '',
  span: ({ task }, { spans }) => {
    const nameOf = (id: number): string[] => {
      const span = spans.find(each => each.id === id);
      return span === undefined ||
        span.origin === SpanOrigin.Notebook ||
        span.origin === SpanOrigin.Cell
        ? []
        : [...nameOf(span.parent), span.tag];
    };
    const name = nameOf(task.span);
    const client = spans.find(each => each.id === task.span)?.client ?? 0;
    // By whose they are first.
    const owner = ['', 'first.ipynb', 'script'][client];
    return [owner, ...(name.length === 0 ? ['default'] : name)].join('\0');
  },
  key: ({ task }) => [task.group, task.node],
  // No such column: as they began.
  nothing: ({ start }) => start
};

function compare(
  one: ReturnType<(typeof sortedBy)[string]>,
  other: typeof one
): number {
  if (Array.isArray(one) && Array.isArray(other)) {
    return (
      compare(one[0] as string, other[0] as string) ||
      compare(one[1] as number, other[1] as number)
    );
  }
  return one < other ? -1 : one > other ? 1 : 0;
}

describe('the task table of a drawn cluster', () => {
  const logs = DRAWN.map(takenIn);

  // A table: drawn beside all else, a column of eighteen would come up too seldom to be seen.
  it.each(Object.keys(sortedBy))('is sorted by %s, page by page', sort => {
    fc.assert(
      fc.property(
        anyDrawn,
        anySelection,
        anyTime,
        fc.boolean(),
        fc.option(fc.nat(60), { nil: undefined }),
        fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
        fc.constantFrom(undefined, '', 'UM', '-1', 'fit-f3-'),
        (drawn, selection, time, descending, offset, limit, search) => {
          const facts = DRAWN[drawn]!;
          const result = ask(logs[drawn]!, 'tasks', {
            filter: selection.filter,
            time,
            now: END,
            params: { sort, descending, offset, limit, search }
          });
          const isIn = (run: RunFact): boolean =>
            time === 'all' || (run.start < time.to && endOf(run) >= time.from);
          const found = facts.runs.filter(
            run =>
              passes(run, selection) &&
              isIn(run) &&
              (run.task.group + run.task.suffix)
                .toLowerCase()
                .includes((search ?? '').toLowerCase())
          );
          // Equal ones stay in the order in which the log has them.
          const sorted = found
            .map(run => ({ run, by: sortedBy[sort]!(run, facts) }))
            .sort(
              (one, other) => (descending ? -1 : 1) * compare(one.by, other.by)
            );
          expect(result.total).toBe(found.length);
          const from = offset ?? 0;
          expect(result.rows.map(({ run }) => run)).toEqual(
            sorted.slice(from, from + (limit ?? 100)).map(({ run }) => run.run)
          );
        }
      ),
      {
        numRuns: 15,
        examples: [[0, DRAWN_SELECTIONS[0]!, 'all', true, 0, 500, undefined]]
      }
    );
  });
});

describe('records of a drawn cluster', () => {
  it('are those that pass and end in the range, the oldest or the newest so many', () => {
    const logs = DRAWN.map(takenIn);
    const lastEnd = (run: RunFact): number =>
      run.parts.some(({ kind }) => kind === PartKind.Compute)
        ? run.start +
          Math.max(...run.parts.map(part => part.offset + part.duration))
        : endOf(run);
    fc.assert(
      fc.property(
        anyDrawn,
        anySelection,
        anyTime,
        fc.option(fc.nat(20), { nil: undefined }),
        fc.boolean(),
        fc.option(fc.nat(150), { nil: undefined }),
        (drawn, selection, time, limit, newest, end) => {
          const [facts, log] = [DRAWN[drawn]!, logs[drawn]!];
          const asked = { filter: selection.filter, time, now: END };
          const params = { limit, newest, end };
          const result = ask(log, 'records', { ...asked, params });
          const found = facts.runs
            .slice(0, end)
            .filter(
              run =>
                passes(run, selection) &&
                (time === 'all' ||
                  (lastEnd(run) >= time.from && lastEnd(run) < time.to))
            );
          const most = limit ?? Infinity;
          const wanted = newest
            ? found.slice(Math.max(0, found.length - most))
            : found.slice(0, most);
          expect(result.run).toEqual(wanted.map(({ run }) => run));
          expect(result.end).toBe(Math.min(end ?? Infinity, log.runs.endRow));
          expect(result.next).toBeNull();
        }
      ),
      { numRuns: 150 }
    );
  });

  it('go on where the page before ended, without those that were dropped', () => {
    const facts = DRAWN[0]!;
    const log = takenIn(facts);
    const all = ask(log, 'records').run;
    const from = (row: number): RecordsResult =>
      ask(log, 'records', { params: { after: [row, 0] } });
    expect(from(0).run).toEqual(all);
    const row = facts.runs.length - 5;
    expect(from(row).run).toEqual(
      facts.runs
        .slice(row)
        .filter(({ status }) => status !== RunStatus.Missing)
        .map(({ run }) => run)
    );
    const time: TimeRange = { last: 4 };
    expect(ask(log, 'records', { time, now: END }).run).toEqual(
      ask(log, 'records', { time: { from: END - 4, to: END }, now: END }).run
    );
  });
});
