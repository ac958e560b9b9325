/**
 * The answer of the Task Stream for a drawn cluster, all of its fields, is worked out a second time from the drawn facts, of each selection.
 */
import { PartKind, RunStatus, SpanOrigin } from '../../records/enumerations';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  type ClusterFacts,
  type RunFact,
  type SpanFact
} from '../../testing/drawn-cluster';
import { isComputing } from '../../testing/drawn-computing';
import {
  DRAWN_SELECTIONS,
  type DrawnSelection
} from '../../testing/drawn-selections';
import { ask, takenIn } from './ask';

const END = TICKS * TICK;
const BINS = 240;
const SEEDS = [1, 2, 3];

type Series = 'compute' | 'transfer' | 'disk' | 'other';
const SERIES: Readonly<Record<number, Series>> = {
  [PartKind.Transfer]: 'transfer',
  [PartKind.DiskRead]: 'disk',
  [PartKind.DiskWrite]: 'disk',
  [PartKind.Compute]: 'compute',
  [PartKind.Deserialize]: 'other',
  [PartKind.Serialize]: 'other',
  [PartKind.Import]: 'other'
};
const COUNTED: Readonly<Record<number, string>> = {
  [PartKind.Transfer]: 'transfer',
  [PartKind.DiskRead]: 'disk',
  [PartKind.DiskWrite]: 'disk',
  [PartKind.Deserialize]: 'serialize',
  [PartKind.Serialize]: 'serialize',
  [PartKind.Import]: 'import'
};

type Use = {
  readonly series: Series;
  readonly function: string;
  readonly from: number;
  readonly to: number;
};

/** The part of a run's time on its thread that passes. */
function usesOf(run: RunFact, { isOwn }: DrawnSelection): Use[] {
  const { start, task } = run;
  const held = run.parts.filter(part => part.held);
  const rest = start + held.reduce((sum, { duration }) => sum + duration, 0);
  const ofTask = { function: task.function, from: rest, to: endOf(run) };
  return [
    ...held.filter(isOwn).map(part => ({
      series: SERIES[part.kind]!,
      function: part.function,
      from: start + part.offset,
      to: start + part.offset + part.duration
    })),
    // The time of a run that no part explains; all of it, if there are no parts.
    ...(isOwn(task)
      ? [
          {
            ...ofTask,
            series: held.length > 0 ? ('other' as const) : ('compute' as const)
          }
        ]
      : [])
  ];
}

function isHere({ isWorker, isStatus }: DrawnSelection) {
  return (run: RunFact): boolean =>
    isWorker(run.worker.worker) && isStatus(run.status);
}

function isShown(run: RunFact, { isOwn }: DrawnSelection): boolean {
  return (
    run.status !== RunStatus.Missing &&
    (isOwn(run.task) || run.parts.some(part => part.held && isOwn(part)))
  );
}

function expectedStrip(uses: readonly Use[]): Record<Series, number[]> {
  const strip = {
    compute: new Array<number>(BINS).fill(0),
    transfer: new Array<number>(BINS).fill(0),
    disk: new Array<number>(BINS).fill(0),
    other: new Array<number>(BINS).fill(0)
  };
  const width = END / BINS;
  for (const { series, from, to } of uses) {
    for (let bin = 0; bin < BINS; bin++) {
      strip[series][bin]! += Math.max(
        0,
        Math.min(to, (bin + 1) * width) - Math.max(from, bin * width)
      );
    }
  }
  return strip;
}

function expectedFunctions(
  runs: readonly RunFact[],
  selection: DrawnSelection
): Map<string, { seconds: number; executions: number }> {
  const sums = new Map<string, { seconds: number; executions: number }>();
  const add = (name: string, seconds: number, executions: number): void => {
    const sum = sums.get(name) ?? { seconds: 0, executions: 0 };
    sum.seconds += seconds;
    sum.executions += executions;
    sums.set(name, sum);
  };
  for (const run of runs) {
    for (const use of usesOf(run, selection)) {
      add(use.function, use.to - use.from, 0);
    }
    const inner = run.parts.filter(isComputing);
    const isWhole = inner.length === 0 && run.status !== RunStatus.Missing;
    for (const each of isWhole ? [run.task] : inner) {
      if (selection.isOwn(each)) {
        add(each.function, 0, 1);
      }
    }
  }
  return sums;
}

/** Both clients of the cluster have computed, so that it is told whose all is. */
function ownedBy(client: number | undefined): { readonly client?: string } {
  return client === undefined
    ? {}
    : { client: client === 1 ? 'first.ipynb' : 'script' };
}

/** From the first start to the last stop of a span's subtree; what still runs reaches to the end. */
function bandOf(
  { spans, runs, going }: ClusterFacts,
  { id, tag, client }: SpanFact
): Record<string, unknown> | null {
  const subtree = (of: number): number[] => [
    of,
    ...spans.filter(({ parent }) => parent === of).flatMap(s => subtree(s.id))
  ];
  const ids = subtree(id);
  const isIn = (each: { readonly span: number }): boolean =>
    ids.includes(each.span);
  const begun = runs.filter(({ status }) => status !== RunStatus.Missing);
  const extents = [
    ...begun
      .filter(({ task }) => isIn(task))
      .map(run => [run.start, endOf(run)] as const),
    ...begun.flatMap(({ start, parts }) =>
      parts
        .filter(isIn)
        .map(({ offset, duration }) => [
          start + offset,
          start + offset + duration
        ])
    ),
    ...going
      .filter(({ task }) => isIn(task))
      .map(({ started }) => [started, END] as const)
  ];
  const isRoot = (of: number): boolean => {
    const { origin } = spans.find(span => span.id === of)!;
    return origin === SpanOrigin.Notebook || origin === SpanOrigin.Cell;
  };
  const depth = (of: number): number => {
    const { parent } = spans.find(span => span.id === of)!;
    return parent === 0 || isRoot(parent) ? 0 : 1 + depth(parent);
  };
  return extents.length === 0 || isRoot(id)
    ? null
    : {
        span: id,
        tag,
        ...ownedBy(client),
        depth: depth(id),
        from: Math.min(...extents.map(each => each[0]!)),
        to: Math.max(...extents.map(each => each[1]!))
      };
}

/** Whether anything of the selection ran or runs in a span, or in one that it is around. */
function isSelected(
  { id }: SpanFact,
  { spans, runs, going }: ClusterFacts,
  selection: DrawnSelection
): boolean {
  const isAround = (of: number): boolean =>
    of === id || spans.some(span => span.id === of && isAround(span.parent));
  const { isOwn, isWorker, isStatus } = selection;
  return (
    runs
      .filter(isHere(selection))
      .flatMap(({ task, parts }) => [task, ...parts.filter(part => part.held)])
      .some(each => isOwn(each) && isAround(each.span)) ||
    going.some(
      ({ task, worker }) =>
        isOwn(task) &&
        isWorker(worker.worker) &&
        isStatus(null) &&
        isAround(task.span)
    )
  );
}

/** Seconds of a worker's threads while it is there and some task is unfinished. */
function capacityOf(
  { runs, going }: ClusterFacts,
  { joined, left, threads }: ClusterFacts['workers'][number]
): number {
  let ticks = 0;
  for (let t = joined; t < Math.min(left, END); t += TICK) {
    const isActive =
      going.some(({ started }) => started <= t) ||
      runs.some(run => {
        const { start, waitReady, waitInputs, waitThread } = run;
        const waited = waitReady + (waitInputs || 0) + (waitThread || 0);
        return (
          run.status !== RunStatus.Missing &&
          start - waited <= t &&
          t < endOf(run)
        );
      });
    ticks += isActive ? 1 : 0;
  }
  return ticks * TICK * threads;
}

describe('the Task Stream of a drawn cluster', () => {
  it.each(DRAWN_SELECTIONS.map(each => [JSON.stringify(each.filter), each]))(
    'has every figure of %s',
    (_, selection) => {
      for (const seed of SEEDS) {
        const facts = drawCluster(seed);
        const log = takenIn(facts);
        const { filter, isOwn, isWorker, isStatus } = selection;
        const { strip, functions, workers, ...result } = ask(
          log,
          'task-stream',
          { filter, now: END }
        );
        const here = facts.runs.filter(isHere(selection));
        const shown = here.filter(run => isShown(run, selection));
        const begun = facts.runs.filter(
          run => run.status !== RunStatus.Missing
        );
        const going = facts.going.filter(
          ({ task, worker }) =>
            isOwn(task) && isWorker(worker.worker) && isStatus(null)
        );
        const inVain = shown.filter(run => run.status === RunStatus.Failed);
        const kinds = {
          transfer: 0,
          disk: 0,
          import: 0,
          serialize: 0,
          failed: inVain.length,
          lost: shown.filter(run => run.status === RunStatus.Lost).length
        };
        for (const { kind } of here.flatMap(run => run.parts).filter(isOwn)) {
          const name = COUNTED[kind] as keyof typeof kinds | undefined;
          if (name !== undefined) {
            kinds[name]++;
          }
        }
        const starts = [
          ...shown.map(({ start }) => start),
          ...going.map(({ started }) => started)
        ];
        const sums = expectedFunctions(here, selection);
        expect(result).toEqual({
          view: 'task-stream',
          from: 0,
          to: END,
          // (there is no long pause)
          newestFrom: 0,
          ...(starts.length > 0 && {
            selected: {
              from: Math.min(...starts),
              to: going.length > 0 ? END : Math.max(...shown.map(endOf))
            }
          }),
          now: END,
          live: true,
          settledBefore: Math.min(
            END - 2,
            ...facts.going.map(({ started }) => started)
          ),
          lateSeq: 0,
          lanes: facts.workers.flatMap(({ worker, threads, firstLane }) =>
            Array.from({ length: threads }, (__, thread) => ({
              laneIndex: firstLane + thread,
              worker,
              thread
            }))
          ),
          running: going.map(({ task, worker, thread, started }) => ({
            laneIndex: worker.firstLane + thread,
            key: task.group + task.suffix,
            function: task.function,
            span: task.span,
            started,
            ...ownedBy(facts.spans.find(({ id }) => id === task.span)?.client)
          })),
          othersRunning: facts.going.length - going.length,
          bands: facts.spans
            .filter(span => isSelected(span, facts, selection))
            .map(span => bandOf(facts, span))
            .filter(band => band !== null),
          tasks: shown.length,
          executions: [...sums.values()].reduce(
            (sum, { executions }) => sum + executions,
            0
          ),
          hidden: begun.length - shown.length,
          kinds: {
            ...kinds,
            ...(inVain.length > 0 && {
              failedTasks: new Set(inVain.map(({ task }) => task)).size
            })
          }
        });
        const uses = here.flatMap(run => usesOf(run, selection));
        const expected = expectedStrip(uses);
        for (const series of Object.keys(expected) as Series[]) {
          strip[series].forEach((seconds, bin) => {
            if (Math.abs(seconds - expected[series][bin]!) > 1e-9) {
              expect([series, bin, seconds]).toEqual([
                series,
                bin,
                expected[series][bin]
              ]);
            }
          });
          expect(strip[series]).toHaveLength(BINS);
        }
        const failed = new Array<number>(BINS).fill(0);
        for (const { start, status } of shown) {
          const isBad =
            status === RunStatus.Failed || status === RunStatus.Lost;
          failed[Math.floor((start / END) * BINS)]! += isBad ? 1 : 0;
        }
        expect(strip.failed).toEqual(failed);
        expect(
          functions
            .filter(({ seconds, executions }) => seconds + executions > 0)
            .map(({ name, seconds, executions }) => [name, seconds, executions])
        ).toEqual(
          [...sums]
            .filter(([, { seconds, executions }]) => seconds + executions > 0)
            .sort(([a, x], [b, y]) => y.seconds - x.seconds || (a < b ? -1 : 1))
            .map(([name, { seconds, executions }]) => [
              name,
              expect.closeTo(seconds, 9) as unknown,
              executions
            ])
        );
        expect(workers).toEqual(
          facts.workers.map(worker => ({
            worker: worker.worker,
            name: worker.name,
            threads: worker.threads,
            busy: expect.closeTo(
              here
                .filter(run => run.worker === worker)
                .flatMap(run => usesOf(run, selection))
                .reduce((sum, use) => sum + use.to - use.from, 0),
              9
            ) as unknown,
            capacity: expect.closeTo(capacityOf(facts, worker), 9) as unknown,
            process: facts.memory.findLast(row => row.worker === worker.worker)!
              .process,
            memoryLimit: worker.memoryLimit,
            joined: worker.joined,
            left: worker.left === Infinity ? null : worker.left,
            within: facts.clocks.findLast(row => row.worker === worker.worker)
              ?.within
          }))
        );
      }
    }
  );

  it('runs nothing any more once it has ended', () => {
    const facts = drawCluster(SEEDS[0]!);
    const log = takenIn(facts);
    const result = ask(log, 'task-stream', { now: END + 5, ended: true });
    expect(result).toMatchObject({
      to: END,
      now: END,
      live: false,
      settledBefore: END + 1,
      running: [],
      othersRunning: 0
    });
    // Only ended tasks of the span show what ran.
    const { going, ...ended } = facts;
    expect(going.length).toBeGreaterThan(0);
    expect(result.bands).toEqual(
      facts.spans
        .map(span => bandOf({ ...ended, going: [] }, span))
        .filter(band => band !== null)
    );
  });
});
