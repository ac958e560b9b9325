/**
 * Real runs with faults, recorded (src/testing/recorded-run.ts): in any range and of any selection what was executed and what was idle is threads ×
 * wall, by an account over the raw rows that knows nothing of the folds, and by the stamps of the program and its tasks.
 */
import { SeededRandom } from '../../base/seeded-random';
import { CapacityState, NONE_U32, RunStatus } from '../../records/enumerations';
import {
  RECORDED,
  recordedRun,
  type RecordedRun
} from '../../testing/recorded-run';
import type { Row } from '../../testing/rows-to-block';
import type { Filter, FineMetricsResult } from '../../wire/panel-link';
import { ask } from './ask';

/** Of each program, so many ranges: a thousand in all. */
const RANGES = Math.ceil(1000 / RECORDED.length);
/** Between the clocks of the stamps and of the log, over all stamps that a range cuts. */
const CLOCK_SECONDS = 0.001;
const MOST_OFF = 0.02;
const NANOSECOND = 1e-9;
/** Rows hold durations in 24 bits: of runs of seconds, to a tenth of a microsecond. */
const ROUNDING = 1e-6;

type Stretch = { readonly from: number; readonly to: number };

const num = (row: Row, column: string): number => row[column] as number;
const positive = (value: number): number => (value > 0 ? value : 0);
const add = (a: number, b: number): number => a + b;

/** What was so between two neighbouring moments. */
type Piece = Stretch & {
  readonly isActive: boolean;
  /** By worker. */
  readonly threads: ReadonlyMap<number, number>;
  /** By worker: its threads that ran something, and how many runs there were beside these. */
  readonly busy: ReadonlyMap<number, number>;
  readonly beyond: ReadonlyMap<number, number>;
};

/** The run of a log, moment by moment. */
function piecesOf({ rows, log }: RecordedRun): Piece[] {
  const end = log.now;
  const lanes = new Map(
    rows.lanes!.map(row => [
      num(row, 'lane'),
      { worker: num(row, 'worker'), thread: num(row, 'thread') }
    ])
  );
  /** Which thread of the system had which lane from when on. */
  const placed = rows
    .lanes!.filter(row => !Number.isNaN(num(row, 'since')))
    .map(row => ({
      lane: num(row, 'lane'),
      worker: num(row, 'worker'),
      ident: num(row, 'ident'),
      since: num(row, 'since')
    }))
    .sort((a, b) => a.since - b.since);
  /** The lane in which the thread of a run was then: the run's own, or that of a thread whose place it held. */
  const laneThen = (run: { lane: number; to: number }, t: number): number => {
    const { worker } = lanes.get(run.lane)!;
    const own = placed.findLast(
      ({ lane, since }) => lane === run.lane && since <= run.to
    );
    const then = placed.findLast(
      each =>
        each.worker === worker && each.ident === own?.ident && each.since <= t
    );
    return then?.lane ?? run.lane;
  };
  const runs = lastOf(rows.runs ?? [], 'run')
    .filter(row => row['status'] !== RunStatus.Missing)
    // Ended without having begun: a mark.
    .filter(
      row => num(row, 'duration') > 0 || !Number.isNaN(num(row, 'waitThread'))
    )
    .map(row => ({
      lane: num(row, 'lane'),
      pending:
        num(row, 'start') -
        positive(num(row, 'waitReady')) -
        positive(num(row, 'waitInputs')) -
        positive(num(row, 'waitThread')),
      from: num(row, 'start'),
      to: num(row, 'start') + num(row, 'duration')
    }));
  for (const row of lastOf(rows.running ?? [], 'lane')) {
    const from = num(row, 'started');
    const lane = num(row, 'lane');
    const isOver = runs.some(
      run => run.lane === lane && run.to > from + ROUNDING
    );
    if (row['node'] !== NONE_U32 && !isOver) {
      runs.push({ lane, pending: from, from, to: end });
    }
  }
  const workers = lastOf(rows.workers!, 'worker').map(row => {
    const steps = rows.capacity!.filter(
      step =>
        step['worker'] === row['worker'] && step['state'] !== CapacityState.Gone
    );
    return {
      worker: num(row, 'worker'),
      // It may be some milliseconds between joining and the first task.
      from: num(steps[0]!, 't'),
      to: Number.isNaN(num(row, 'left')) ? end : num(row, 'left'),
      steps
    };
  });
  const moments = [
    ...runs.flatMap(run => [run.pending, run.from, run.to]),
    ...workers.flatMap(({ from, to, steps }) => [
      from,
      to,
      ...steps.map(step => num(step, 't'))
    ]),
    ...placed.map(({ since }) => since),
    0,
    end
  ].sort((a, b) => a - b);
  return moments.slice(1).map((to, i) => {
    const from = moments[i]!;
    const t = (from + to) / 2;
    const isHere = (each: Stretch): boolean => each.from <= t && t < each.to;
    const threads = new Map(
      workers.filter(isHere).map(({ worker, steps }) => [
        worker,
        num(
          steps.findLast(each => num(each, 't') <= t)!,
          'threads'
        )
      ])
    );
    const busy = new Map<number, number>();
    const beyond = new Map<number, number>();
    const seen = new Set<number>();
    for (const run of runs.filter(isHere)) {
      const { worker, thread } = lanes.get(run.lane)!;
      const own = threads.get(worker) ?? 0;
      const lane = thread < own ? run.lane : laneThen(run, t);
      const isOwn = lanes.get(lane)!.thread < own && !seen.has(lane);
      const into = isOwn ? busy : beyond;
      into.set(worker, (into.get(worker) ?? 0) + 1);
      seen.add(lane);
    }
    const isActive = runs.some(run => run.pending <= t && t < run.to);
    return { from, to, isActive, threads, busy, beyond };
  });
}

/** The newest row of each `column`. */
function lastOf(rows: readonly Row[], column: string): Row[] {
  return [...new Map(rows.map(row => [row[column], row])).values()];
}

function overlap(one: Stretch, other: Stretch): number {
  return Math.max(
    0,
    Math.min(one.to, other.to) - Math.max(one.from, other.from)
  );
}

function shared(one: Stretch, other: Stretch): Stretch {
  return {
    from: Math.max(one.from, other.from),
    to: Math.min(one.to, other.to)
  };
}

function unionOf(stretches: readonly Stretch[]): Stretch[] {
  const union: { from: number; to: number }[] = [];
  for (const { from, to } of [...stretches].sort((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last !== undefined && from <= last.to) {
      last.to = Math.max(last.to, to);
    } else {
      union.push({ from, to });
    }
  }
  return union;
}

/** The account of a range, of some workers. */
function account(
  pieces: readonly Piece[],
  range: Stretch,
  isWorker: (worker: number) => boolean
) {
  const sums = { wall: 0, capacity: 0, busy: 0, beyond: 0 };
  for (const piece of pieces) {
    // (one after another)
    if (piece.from >= range.to) {
      break;
    }
    const seconds = overlap(piece, range);
    if (seconds === 0) {
      continue;
    }
    const of = (by: ReadonlyMap<number, number>): number => {
      let sum = 0;
      by.forEach((count, worker) => {
        sum += isWorker(worker) ? count * seconds : 0;
      });
      return sum;
    };
    sums.wall += piece.isActive ? seconds : 0;
    sums.capacity += piece.isActive ? of(piece.threads) : 0;
    sums.busy += of(piece.busy);
    sums.beyond += of(piece.beyond);
  }
  return sums;
}

/** Of one answer: what threads did, and did not, of the selection and of all. */
function sumsOf(result: FineMetricsResult) {
  const executed = result.byActivity
    .filter(({ activity }) => !activity.startsWith('idle:'))
    .reduce((sum, { value }) => sum + value, 0);
  const idle = result.idle.map(({ seconds }) => seconds).reduce(add, 0);
  return {
    executed,
    beside: Object.values(result.beside ?? {}).reduce(add, 0),
    idle,
    all: executed + idle + result.otherSpansSeconds + result.otherIdleSeconds,
    capacity: result.capacitySeconds
  };
}

const seed = new Map(RECORDED.map((name, i) => [name, i + 1]));

describe.each(RECORDED)('a real run, %s,', name => {
  const run = recordedRun(name);
  const pieces = piecesOf(run);
  const random = new SeededRandom(seed.get(name)!);
  const first = Math.min(...run.waits.map(([from]) => from));
  const end = run.log.now;
  const pick = <T>(of: readonly T[]): T => of[random.below(of.length)]!;
  const range = (): Stretch => {
    const [from, to] = [random.next(), random.next()]
      .map(at => first - 0.1 + at * (end + 0.2 - first))
      .sort((a, b) => a - b);
    return { from: from!, to: to! };
  };
  const fold = (filter: Filter, time: Stretch): FineMetricsResult =>
    ask(run.log, 'fine-metrics', { filter, time, params: { top: 500 } });
  const workers = [...run.log.shape.workers.keys()];
  const functions = [
    ...new Set(
      [...run.rows.runs!, ...(run.rows.parts ?? [])].map(row =>
        run.log.name(num(row, 'function'))
      )
    )
  ];

  it('has the runs that are told of', () => {
    expect(run.rows.runs!.length).toBeGreaterThan(20);
    expect(run.waits.length).toBeGreaterThan(0);
  });

  it('is executed and idle as its rows say, in random ranges', () => {
    for (let i = 0; i < RANGES; i++) {
      const time = range();
      const only = i % 2 === 0 ? undefined : [pick(workers)];
      const isWorker = (worker: number): boolean =>
        only?.includes(worker) ?? true;
      const filter = only === undefined ? {} : { workers: only };
      const told = sumsOf(fold(filter, time));
      const expected = account(pieces, time, isWorker);
      const bound = ROUNDING * (1 + run.rows.runs!.length / 10);
      expect(Math.abs(told.capacity - expected.capacity)).toBeLessThan(bound);
      expect(
        Math.abs(told.executed - expected.busy - expected.beyond)
      ).toBeLessThan(bound);
      expect(Math.abs(told.beside - expected.beyond)).toBeLessThan(bound);
      // No remainder: the gaps of each thread.
      const idle = expected.capacity - expected.busy;
      expect(Math.abs(told.idle - idle)).toBeLessThan(bound);
      expect(told.idle).toBeGreaterThanOrEqual(0);
      expect(told.idle).toBeLessThanOrEqual(told.capacity + NANOSECOND);
      expect(
        Math.abs(told.executed - told.beside + told.idle - told.capacity)
      ).toBeLessThanOrEqual(MOST_OFF * told.capacity + bound);
      expect(told.executed - told.beside).toBeLessThanOrEqual(
        told.capacity + bound
      );
    }
  });

  it('is divided by tasks, functions and statuses, so that they make up the whole', () => {
    const statuses = ['ok', 'failed', 'lost', 'cancelled'] as const;
    for (let i = 0; i < RANGES; i++) {
      const time = range();
      const filter: Filter = pick<() => Filter>([
        () => ({ functions: [pick(functions)] }),
        () => ({ status: [pick(statuses)] }),
        () => ({ functions: [pick(functions)], workers: [pick(workers)] }),
        () => ({ status: [pick(statuses)], functions: [pick(functions)] })
      ])();
      const all = sumsOf(
        fold(
          filter.workers === undefined ? {} : { workers: filter.workers },
          time
        )
      );
      const told = sumsOf(fold(filter, time));
      expect(told.capacity).toBe(all.capacity);
      expect(told.all).toBeCloseTo(all.all, 6);
      expect(told.idle).toBeGreaterThanOrEqual(0);
      expect(told.idle).toBeLessThanOrEqual(all.idle + NANOSECOND);
      expect(told.executed).toBeLessThanOrEqual(all.executed + NANOSECOND);
      // (few: it asks once a function)
      if (i % 30 === 0) {
        for (const disjoint of [
          statuses.map(status => ({ status: [status] })),
          functions.map(fn => ({ functions: [fn] }))
        ]) {
          const parts = disjoint.map(each => sumsOf(fold(each, time)));
          const whole = sumsOf(fold({}, time));
          for (const of of ['executed', 'idle'] as const) {
            const sum = parts.map(each => each[of]).reduce(add, 0);
            expect(sum).toBeCloseTo(whole[of], 6);
          }
        }
      }
    }
  });

  it('takes the time that program and tasks have stamped', () => {
    const bodies = run.bodies.map(([, from, to]) => ({ from, to }));
    const ran = unionOf(bodies);
    const waits = unionOf(run.waits.map(([from, to]) => ({ from, to })));
    /** Threads × how long one of `united` was; a worker's coming and going is the log's. */
    const lasting = (united: readonly Stretch[], time: Stretch): number => {
      let seconds = 0;
      let first = 0;
      // Pieces and stretches follow each other: each is looked at where they meet.
      for (const piece of pieces) {
        const part = shared(piece, time);
        if (part.to <= part.from) {
          continue;
        }
        while (first < united.length && united[first]!.to <= part.from) {
          first++;
        }
        const threads = [...piece.threads.values()].reduce(add, 0);
        for (let at = first; at < united.length; at++) {
          if (united[at]!.from >= part.to) {
            break;
          }
          seconds += overlap(united[at]!, part) * threads;
        }
      }
      return seconds;
    };
    for (let i = 0; i < RANGES; i++) {
      const drawn = range();
      const time = { from: Math.max(first, drawn.from), to: drawn.to };
      const { executed, idle } = sumsOf(fold({}, time));
      const inside = bodies.map(each => overlap(each, time)).reduce(add, 0);
      expect(executed).toBeGreaterThanOrEqual(inside - CLOCK_SECONDS);
      const { beyond } = account(pieces, time, () => true);
      const made = executed - beyond + idle;
      // While a body ran a task was unfinished, and none was while the program waited for none.
      expect(made).toBeGreaterThanOrEqual(lasting(ran, time) - CLOCK_SECONDS);
      expect(made).toBeLessThanOrEqual(lasting(waits, time) + CLOCK_SECONDS);
    }
  });
});
