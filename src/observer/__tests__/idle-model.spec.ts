/**
 * Idle time of a drawn cluster is worked out twice: gap by gap in the observer, and here thread by thread and tick by tick, each with the cause
 * that the thread's next run tells and shared among the tasks that are unfinished in that tick.
 */
import { CapacityState, PartKind, RunStatus } from '../../records/enumerations';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  toldToSource,
  type ClusterFacts,
  type RunFact
} from '../../testing/drawn-cluster';
import type { LaneIndex } from '../../records/ids';
import {
  DRAWN_SELECTIONS,
  type DrawnSelection
} from '../../testing/drawn-selections';
import { rowsToBlock } from '../../testing/rows-to-block';
import type { TimeRange } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { blockRows } from '../store/block-rows';
import { LogStore } from '../store/log-store';
import { ask, takenIn } from './ask';

const END = TICKS * TICK;
const SEEDS = [1, 2, 3, 4, 6];

const TIMES: readonly [TimeRange, from: number, to: number][] = [
  ['all', 0, END],
  // Half of it, so that each tick is whole bins.
  [{ from: 4, to: 12 }, 4, 12],
  [{ last: 8 }, 8, END]
];

type Step = {
  readonly t: number;
  readonly worker: number;
  readonly threads: number;
  readonly state: CapacityState;
};
/** How many threads workers have, and whether they may begin tasks, from a tick on. */
const STEPS: readonly Step[] = (
  [
    [2, 0, 2, CapacityState.Running],
    [2, 200, 2, CapacityState.Paused],
    [2, 310, 2, CapacityState.Running],
    [2, 500, 2, CapacityState.Stopped],
    [2, 540, 2, CapacityState.Paused],
    [2, 600, 2, CapacityState.Running],
    [9, 40, 3, CapacityState.Running],
    [9, 350, 1, CapacityState.Running],
    [9, 420, 6, CapacityState.Running],
    [9, 650, 2, CapacityState.Paused],
    [9, 720, 3, CapacityState.Running]
  ] as const
).map(([worker, tick, threads, state]) => ({
  t: tick * TICK,
  worker,
  threads,
  state
}));

type Stretch = { readonly from: number; readonly to: number };
/** When some task has no worker that may run it; the last goes on. */
const UNPLACED: readonly Stretch[] = [
  { from: 60 * TICK, to: 210 * TICK },
  { from: 300 * TICK, to: 301 * TICK },
  { from: 520 * TICK, to: Infinity }
];

type Unfinished = {
  readonly from: number;
  readonly start: number;
  readonly to: number;
  readonly lane: number;
  /** Infinity: it has not ended, so that nothing is known of it. */
  readonly runnable: number;
  readonly inputsHere: number;
  readonly firstTransfer: number;
  readonly parts: readonly {
    readonly span: number;
    readonly function: string;
    readonly share: number;
  }[];
  readonly status: RunStatus | null;
};

function ofRun(run: RunFact): Unfinished {
  const { start, waitReady, waitInputs, waitThread, task } = run;
  const computing = run.parts.filter(({ kind }) => kind === PartKind.Compute);
  const all = computing.reduce((sum, { duration }) => sum + duration, 0);
  const transfers = run.parts
    .filter(({ kind }) => kind === PartKind.Transfer)
    .map(({ offset }) => start + offset);
  const inputsHere = start - waitThread;
  return {
    from: start - waitReady - (waitInputs || 0) - (waitThread || 0),
    start,
    to: endOf(run),
    lane: run.worker.firstLane + run.thread,
    runnable: inputsHere - waitInputs,
    inputsHere,
    firstTransfer: transfers.length > 0 ? Math.min(...transfers) : inputsHere,
    parts:
      all > 0
        ? computing.map(part => ({ ...part, share: part.duration / all }))
        : [{ ...task, share: 1 }],
    status: run.status
  };
}

function unfinishedOf({ runs, going }: ClusterFacts): Unfinished[] {
  return [
    ...runs.filter(({ status }) => status !== RunStatus.Missing).map(ofRun),
    ...going.map(({ started, worker, thread, task }) => ({
      from: started,
      start: started,
      to: END,
      lane: worker.firstLane + thread,
      runnable: Infinity,
      inputsHere: Infinity,
      firstTransfer: Infinity,
      parts: [{ ...task, share: 1 }],
      status: null
    }))
  ];
}

function causeOf(
  t: number,
  next: Unfinished | undefined,
  isWaitedElsewhere: boolean,
  isUnplaced: boolean
): string {
  const { runnable, inputsHere, firstTransfer } = next ?? {
    runnable: Infinity,
    inputsHere: Infinity,
    firstTransfer: Infinity
  };
  if (Number.isNaN(runnable)) {
    return 'unknown';
  }
  if (t < runnable) {
    return isWaitedElsewhere
      ? 'held-elsewhere'
      : isUnplaced
        ? 'no-worker'
        : 'nothing-runnable';
  }
  return t >= firstTransfer && t < inputsHere
    ? 'inputs-in-flight'
    : 'scheduler';
}

type Tick = {
  readonly t: number;
  readonly here: readonly Unfinished[];
  /** Of each thread that is there, why it does nothing; null: it runs. */
  readonly threads: readonly {
    readonly worker: number;
    readonly cause: string | null;
  }[];
};

function stepOf(
  { worker, joined, left, threads }: ClusterFacts['workers'][number],
  steps: readonly Step[],
  t: number
): Pick<Step, 'threads' | 'state'> {
  const own = steps.filter(each => each.worker === worker);
  return t < joined || t >= left
    ? { threads: 0, state: CapacityState.Gone }
    : (own.findLast(each => each.t <= t) ?? {
        threads,
        state: CapacityState.Running
      });
}

/** The ticks at which a task is unfinished. */
function ticksOf(
  facts: ClusterFacts,
  steps: readonly Step[],
  unplaced: readonly Stretch[] = []
): Tick[] {
  const unfinished = unfinishedOf(facts).sort((a, b) => a.start - b.start);
  const lanes = facts.workers.flatMap(worker =>
    Array.from({ length: 3 + worker.threads }, (_, thread) => ({
      worker,
      thread,
      // The last ones may come later: they never get a run.
      runs: unfinished.filter(
        each =>
          thread < worker.threads && each.lane === worker.firstLane + thread
      )
    }))
  );
  return Array.from({ length: TICKS }, (_, tick) => tick * TICK)
    .map(t => ({
      t,
      here: unfinished.filter(each => each.from <= t && t < each.to)
    }))
    .filter(({ here }) => here.length > 0)
    .map(({ t, here }) => {
      const isWaited = here.some(
        each => each.inputsHere <= t && t < each.start
      );
      const threads = lanes
        .map(lane => ({ ...lane, step: stepOf(lane.worker, steps, t) }))
        .filter(({ thread, step }) => thread < step.threads)
        .map(({ worker, runs, step }) => ({
          worker: worker.worker,
          cause: runs.some(each => each.start <= t && t < each.to)
            ? null
            : step.state === CapacityState.Running
              ? causeOf(
                  t,
                  runs.find(({ start }) => start > t),
                  isWaited,
                  unplaced.some(({ from, to }) => from <= t && t < to)
                )
              : step.state === CapacityState.Paused
                ? 'paused'
                : 'stopped'
        }));
      return { t, here, threads };
    });
}

function expectedIdle(
  ticks: readonly Tick[],
  { isWorker, isOwn, isStatus }: DrawnSelection,
  from: number,
  to: number
) {
  const selected = new Map<string, number>();
  const sums = { wall: 0, capacity: 0, execute: 0, idle: 0 };
  for (const { t, here, threads } of ticks) {
    if (t < from || t >= to) {
      continue;
    }
    sums.wall += TICK;
    let mine = 0;
    for (const { status, parts } of here) {
      for (const part of parts) {
        mine += isOwn(part) && isStatus(status) ? part.share : 0;
      }
    }
    for (const { worker, cause } of threads) {
      if (!isWorker(worker)) {
        continue;
      }
      sums.capacity += TICK;
      if (cause === null) {
        sums.execute += TICK;
      } else {
        const share = (TICK * mine) / here.length;
        selected.set(cause, (selected.get(cause) ?? 0) + share);
        sums.idle += TICK;
      }
    }
  }
  return { ...sums, selected };
}

/** For each run, the ticks of threads without anything runnable from its start to its stop. */
function expectedWaitedFor(
  facts: ClusterFacts,
  ticks: readonly Tick[],
  isWorker: DrawnSelection['isWorker'],
  from: number,
  to: number
): number {
  const idle = ticks
    .filter(({ t }) => t >= from && t < to)
    .map(({ t, threads }) => ({
      t,
      seconds:
        TICK *
        threads.filter(
          ({ worker, cause }) =>
            isWorker(worker) && cause === 'nothing-runnable'
        ).length
    }));
  const most = Math.max(
    0,
    ...unfinishedOf(facts).map(run =>
      idle
        .filter(({ t }) => run.start <= t && t < run.to)
        .reduce((sum, { seconds }) => sum + seconds, 0)
    )
  );
  // Of a run with less of it nothing is told, nor where it is little.
  const all = idle.reduce((sum, { seconds }) => sum + seconds, 0);
  const capacity =
    TICK *
    ticks
      .filter(({ t }) => t >= from && t < to)
      .flatMap(({ threads }) => threads)
      .filter(({ worker }) => isWorker(worker)).length;
  return most > 0.1 * all && all >= 0.01 * capacity ? most : 0;
}

describe('idle time of a drawn cluster', () => {
  const drawn = SEEDS.map(seed => {
    const facts = drawCluster(seed);
    const steps = seed % 2 === 0 ? STEPS : [];
    return { facts, steps, unplaced: seed % 3 === 0 ? UNPLACED : [] };
  });
  const logOf = ({
    facts,
    steps,
    unplaced
  }: (typeof drawn)[number]): LogStore => {
    const log = takenIn(facts);
    ingestBlock(log, rowsToBlock(log.seq + 1, 'capacity', steps));
    const changes = unplaced.flatMap(({ from, to }) => [
      { t: from, waits: 1 },
      ...(to < Infinity ? [{ t: to, waits: 0 }] : [])
    ]);
    ingestBlock(log, rowsToBlock(log.seq + 1, 'unplaced', changes));
    return log;
  };

  it('has its causes, of each selection in each range', () => {
    const causes = new Set<string>();
    for (const each of drawn) {
      const log = logOf(each);
      const ticks = ticksOf(each.facts, each.steps, each.unplaced);
      for (const chosen of DRAWN_SELECTIONS) {
        for (const [time, from, to] of TIMES) {
          const expected = expectedIdle(ticks, chosen, from, to);
          const result = ask(log, 'fine-metrics', {
            filter: chosen.filter,
            time,
            now: END
          });
          expect(result.wallSeconds).toBeCloseTo(expected.wall, 9);
          expect(result.capacitySeconds).toBeCloseTo(expected.capacity, 9);
          expect(result.threads).toBeCloseTo(
            expected.capacity / expected.wall,
            9
          );
          const { selected } = expected;
          for (const cause of [...selected.keys()]) {
            if (selected.get(cause)! < 1e-12) {
              selected.delete(cause);
            }
          }
          expect(
            Object.fromEntries(
              result.idle.map(({ cause, seconds }) => [
                cause,
                expect.closeTo(seconds, 9) as unknown
              ])
            )
          ).toEqual(Object.fromEntries(selected));
          const shares = result.byActivity.filter(({ activity }) =>
            activity.startsWith('idle:')
          );
          expect(
            shares.map(({ activity, value }) => [activity.slice(5), value])
          ).toEqual(result.idle.map(({ cause, seconds }) => [cause, seconds]));
          for (const { value, share } of shares) {
            expect(share).toBeCloseTo(value / expected.capacity, 9);
          }
          const mine = [...selected.values()].reduce((sum, x) => sum + x, 0);
          expect(result.otherIdleSeconds).toBeCloseTo(expected.idle - mine, 9);
          [...selected.keys()].forEach(cause => causes.add(cause));
        }
      }
    }
    expect(causes).toEqual(
      new Set([
        'nothing-runnable',
        'held-elsewhere',
        'no-worker',
        'inputs-in-flight',
        'scheduler',
        'paused',
        'stopped',
        'unknown'
      ])
    );
  });

  it('names the run during which most of it had nothing runnable', () => {
    let named = 0;
    for (const each of drawn) {
      const log = logOf(each);
      const ticks = ticksOf(each.facts, each.steps, each.unplaced);
      for (const { filter, isWorker } of DRAWN_SELECTIONS) {
        for (const [time, from, to] of TIMES) {
          const { waitedFor } = ask(log, 'fine-metrics', {
            filter,
            time,
            now: END
          });
          const choosesTasks = Object.keys(filter).some(
            condition => condition !== 'workers'
          );
          const seconds = choosesTasks
            ? 0
            : expectedWaitedFor(each.facts, ticks, isWorker, from, to);
          expect(waitedFor?.seconds ?? 0).toBeCloseTo(seconds, 9);
          named += seconds > 0 ? 1 : 0;
        }
      }
    }
    expect(named).toBeGreaterThan(10);
  });

  it('makes up the capacity, with what ran', () => {
    for (const each of drawn) {
      const expected = expectedIdle(
        ticksOf(each.facts, each.steps, each.unplaced),
        DRAWN_SELECTIONS[0]!,
        0,
        END
      );
      expect(ask(logOf(each), 'summary', { now: END })).toMatchObject({
        wallSeconds: expect.closeTo(expected.wall, 9) as unknown,
        capacitySeconds: expect.closeTo(expected.capacity, 9) as unknown,
        executeSeconds: expect.closeTo(expected.execute, 9) as unknown,
        idleSeconds: expect.closeTo(expected.idle, 9) as unknown
      });
    }
  });

  it('is the same if runs are heard of in the reversed order', () => {
    for (const { facts } of drawn) {
      const blocks = toldToSource(facts).map(blockRows);
      const [log, late] = [new LogStore('log'), new LogStore('late')];
      const of = (isIn: (table: string) => boolean): typeof blocks =>
        blocks.filter(({ table }) => isIn(table));
      const runs = of(table => table === 'runs');
      const before = of(table => table !== 'runs' && table !== 'running');
      const running = of(table => table === 'running');
      for (const [into, order] of [
        [log, runs],
        [late, runs.toReversed()]
      ] as const) {
        [...before, ...order, ...running].forEach((block, i) =>
          ingestBlock(into, { ...block, seq: i + 1 })
        );
      }
      const [one, other] = [log, late].map(each => {
        const { idle, wallSeconds, capacitySeconds } = ask(
          each,
          'fine-metrics',
          { now: END }
        );
        return { idle, wallSeconds, capacitySeconds };
      });
      expect(late.laneDisorder).toContain(true);
      expect(other).toEqual(one);
    }
  });

  it('is not there where runs overlap, whose time counts once', () => {
    const log = new LogStore('overlapping');
    const lane = { lane: 0, worker: 0, thread: 0 };
    const runs = [
      { run: 1, start: 0, duration: 4 },
      { run: 2, start: 2, duration: 4 },
      { run: 3, start: 3, duration: 1 }
    ];
    const worker = { worker: 0, threads: 1, left: NaN };
    ingestBlock(log, rowsToBlock(1, 'workers', [worker]));
    ingestBlock(log, rowsToBlock(2, 'lanes', [lane]));
    ingestBlock(log, rowsToBlock(3, 'runs', runs));
    expect(ask(log, 'summary')).toMatchObject({
      wallSeconds: 6,
      executeSeconds: 6,
      idleSeconds: 0
    });
  });

  it('is the same where runs of a lane are put in order first', () => {
    for (const each of drawn) {
      const [log, disordered] = [logOf(each), logOf(each)];
      for (const index of log.shape.lanes.keys()) {
        if (index % 2 === 0) {
          disordered.laneDisorder[index as LaneIndex] = true;
        }
      }
      for (const time of ['all', { from: 4, to: 12 }] as const) {
        const [one, other] = [log, disordered].map(of =>
          ask(of, 'fine-metrics', { time, now: END })
        );
        expect(other).toEqual(one);
      }
    }
  });
});
