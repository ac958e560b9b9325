/**
 * Folds go on in slices, and between two of them tasks end, parts of runs come, and functions run for the first time. Whatever comes then, an
 * answer is that of the moment in which it was begun, by an account that knows nothing of the folds: of a list of tasks, those that had ended
 * and those that ran.
 */
import fc from 'fast-check';
import { PartKind } from '../../records/enumerations';
import type { TableName } from '../../records/tables';
import {
  type Row,
  rowsToBlock,
  blockOfZeros
} from '../../testing/rows-to-block';
import type { Filter, ViewResult } from '../../wire/panel-link';
import { foldView } from '../folds/fold-view';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { contextOf } from './ask';

const TICK = 1 / 64;
const LANES = 4;
/** Tasks that have ended before the drawn ones: enough for breaks amid the runs and amid the lanes. */
const EARLY = 20_000;
const FUNCTIONS = ['load', 'fit', 'save'] as const;

type Task = {
  readonly run: number;
  readonly lane: number;
  readonly function: number;
  readonly start: number;
  readonly stop: number;
  readonly hasParts: boolean;
};
/** A block that the log gets, and the time in it. */
type Step = { readonly at: number } & (
  | { readonly begun: Task }
  | { readonly ended: Task }
);

type DrawnTask = Pick<Task, 'lane' | 'function' | 'hasParts'> & {
  /** In ticks: since the task before on its lane, and of itself. */
  readonly gap: number;
  readonly length: number;
};
type Interruption = {
  readonly before: readonly Step[];
  readonly meanwhile: readonly Step[];
  /** So many in one break. */
  readonly atOnce: number;
};

const anyTask: fc.Arbitrary<DrawnTask> = fc.record({
  lane: fc.nat(LANES - 1),
  function: fc.nat(FUNCTIONS.length - 1),
  gap: fc.integer({ min: 0, max: 3 }),
  length: fc.integer({ min: 1, max: 9 }),
  hasParts: fc.boolean()
});

/** All lanes at the same times, with a rest after each task. */
const early: readonly Task[] = Array.from({ length: EARLY }, (_, run) => {
  const start = Math.floor(run / LANES) * 2 * TICK;
  const stop = start + TICK;
  return { run, lane: run % LANES, function: 0, start, stop, hasParts: false };
});

/** Tasks one after the other on each lane, by when they begin and end. */
function stepsOf(drawn: readonly DrawnTask[]): Step[] {
  const free = new Array<number>(LANES).fill(early.at(-1)!.stop);
  const steps: Step[] = [];
  drawn.forEach(({ lane, gap, length, ...task }, i) => {
    const start = free[lane]! + gap * TICK;
    const stop = start + length * TICK;
    free[lane] = stop;
    const whole = { ...task, run: EARLY + i, lane, start, stop };
    steps.push({ at: start, begun: whole }, { at: stop, ended: whole });
  });
  // (what ends on a lane as another begins there ends first)
  return steps.sort(
    (a, b) => a.at - b.at || Number('begun' in a) - Number('begun' in b)
  );
}

function logOfCluster(): LogStore {
  const log = new LogStore('live');
  const take = (table: TableName, rows: readonly Row[]): void =>
    ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
  take(
    'names',
    FUNCTIONS.map((text, i) => ({ id: i + 1, text, kind: 0 }))
  );
  const workers = [0, 1].map(worker => ({ worker, threads: 2, left: NaN }));
  take('workers', workers);
  take(
    'lanes',
    Array.from({ length: LANES }, (_, lane) => ({
      lane,
      worker: lane >> 1,
      thread: lane & 1,
      ident: NaN,
      since: NaN
    }))
  );
  const block = blockOfZeros(log.seq + 1, 'runs', EARLY);
  early.forEach(({ run, lane, function: fn, start }, i) => {
    block.columns['run']![i] = run;
    block.columns['lane']![i] = lane;
    block.columns['function']![i] = fn + 1;
    block.columns['start']![i] = start;
    block.columns['duration']![i] = TICK;
    block.columns['cpu']![i] = NaN;
  });
  ingestBlock(log, block);
  return log;
}

function takeStep(log: LogStore, step: Step): void {
  const next = (): number => log.seq + 1;
  if ('begun' in step) {
    const { lane, start, function: fn } = step.begun;
    const row = { lane, node: 1, function: fn + 1, started: start };
    ingestBlock(log, rowsToBlock(next(), 'running', [row]));
    return;
  }
  const { run: id, lane, start, stop, function: fn, hasParts } = step.ended;
  const run = {
    run: id,
    lane,
    function: fn + 1,
    start,
    duration: stop - start,
    cpu: NaN
  };
  ingestBlock(log, rowsToBlock(next(), 'runs', [run]));
  if (hasParts) {
    const part = {
      run: id,
      kind: PartKind.Compute,
      held: 1,
      function: fn + 1,
      duration: stop - start,
      cpu: NaN
    };
    ingestBlock(log, rowsToBlock(next(), 'parts', [part]));
  }
}

/** What tasks had done after so many steps. */
function accountOf(
  steps: readonly Step[],
  isOwn: (task: Task) => boolean
): {
  readonly tasks: number;
  readonly seconds: number;
  readonly running: number;
  readonly runningSeconds: number;
} {
  const now = Math.max(0, ...steps.map(({ at }) => at));
  const ended = steps.flatMap(step => ('ended' in step ? [step.ended] : []));
  const running = steps.flatMap(step =>
    'begun' in step && !ended.includes(step.begun) ? [step.begun] : []
  );
  const own = [...early, ...ended].filter(isOwn);
  const going = running.filter(isOwn);
  return {
    tasks: own.length,
    seconds: own.reduce((sum, { start, stop }) => sum + stop - start, 0),
    running: going.length,
    runningSeconds: going.reduce((sum, { start }) => sum + now - start, 0)
  };
}

/** Functions of which own tasks run, and no task has ended. */
function firstOf(
  steps: readonly Step[],
  isOwn: (task: Task) => boolean
): string[] {
  const ended = steps.flatMap(step => ('ended' in step ? [step.ended] : []));
  const hasEnded = new Set([...early, ...ended].map(task => task.function));
  const first = steps.flatMap(step =>
    'begun' in step && isOwn(step.begun) && !hasEnded.has(step.begun.function)
      ? [FUNCTIONS[step.begun.function]!]
      : []
  );
  return [...new Set(first)].sort();
}

const SELECTIONS: readonly [Filter, isOwn: (task: Task) => boolean][] = [
  [{}, () => true],
  [{ workers: [1] }, ({ lane }) => lane >= 2],
  [{ functions: ['fit'] }, task => task.function === 1],
  [
    { workers: [0], notFunctions: ['load'] },
    task => task.lane < 2 && task.function !== 0
  ]
];

/** An answer, in the breaks of which the steps come, one or several at a time. */
function interrupted<V extends ViewResult['view']>(
  view: V,
  filter: Filter,
  { before, meanwhile, atOnce }: Interruption
): { readonly result: Extract<ViewResult, { view: V }>; breaks: number } {
  const log = logOfCluster();
  before.forEach(step => takeStep(log, step));
  const slices = foldView(view, contextOf(log, { filter }), {});
  let next = 0;
  for (let breaks = 0; ; breaks++) {
    const step = slices.next();
    if (step.done === true) {
      return {
        result: step.value.result as Extract<ViewResult, { view: V }>,
        breaks
      };
    }
    for (const end = next + atOnce; next < end; next++) {
      const step = meanwhile[next];
      if (step !== undefined) {
        takeStep(log, step);
      }
    }
  }
}

const anyInterruption: fc.Arbitrary<Interruption> = fc
  .tuple(
    fc.array(anyTask, { minLength: 2, maxLength: 24 }),
    fc.nat(),
    fc.integer({ min: 1, max: 6 })
  )
  .map(([drawn, at, atOnce]) => {
    const steps = stepsOf(drawn);
    const split = 1 + (at % (steps.length - 1));
    return {
      before: steps.slice(0, split),
      meanwhile: steps.slice(split),
      atOnce
    };
  });

const close = (value: number): unknown => expect.closeTo(value, 6);

describe('an answer while tasks end', () => {
  const held = (
    check: (
      selection: (typeof SELECTIONS)[number],
      interruption: Interruption
    ) => number
  ): void => {
    let breaks = 0;
    fc.assert(
      fc.property(anyInterruption, interruption => {
        for (const selection of SELECTIONS) {
          breaks += check(selection, interruption);
        }
      }),
      { numRuns: 12 }
    );
    expect(breaks).toBeGreaterThan(48);
  };

  it('counts each task once in Fine Metrics: as ended, or as running', () => {
    held(([filter, isOwn], interruption) => {
      const { before } = interruption;
      const { result, breaks } = interrupted(
        'fine-metrics',
        filter,
        interruption
      );
      const own = accountOf(before, isOwn);
      expect(result.attributedNanoseconds / 1e9).toEqual(close(own.seconds));
      expect(result.runningSeconds).toEqual(close(own.runningSeconds));
      const rows = [
        ...result.byFunction,
        ...(result.others ? [result.others] : [])
      ];
      expect(rows.reduce((sum, row) => sum + row.executions, 0)).toBe(
        own.tasks
      );
      const idle = result.idle.reduce((sum, { seconds }) => sum + seconds, 0);
      const whole = own.seconds + own.runningSeconds + idle;
      if (filter.functions === undefined && filter.notFunctions === undefined) {
        expect(result.capacitySeconds).toEqual(close(whole));
      } else {
        expect(result.wholeSeconds).toEqual(close(whole));
      }
      const onWorkers = accountOf(
        before,
        ({ lane }) => filter.workers?.includes(lane >> 1) ?? true
      );
      expect(result.totalNanoseconds / 1e9).toEqual(close(onWorkers.seconds));
      expect(result.otherSpansSeconds).toEqual(
        close(onWorkers.seconds - own.seconds)
      );
      return breaks;
    });
  });

  it('counts each task once in the Task Stream, and none as hidden that has come since', () => {
    held(([filter, isOwn], interruption) => {
      const { before } = interruption;
      const { result, breaks } = interrupted(
        'task-stream',
        filter,
        interruption
      );
      const own = accountOf(before, isOwn);
      const all = accountOf(before, () => true);
      expect(result).toMatchObject({
        tasks: own.tasks,
        executions: own.tasks,
        hidden: all.tasks - own.tasks,
        othersRunning: all.running - own.running
      });
      expect(result.running).toHaveLength(own.running);
      expect(
        result.functions.flatMap(({ name, isFirst }) => (isFirst ? [name] : []))
      ).toEqual(firstOf(before, isOwn));
      const sum = (figures: readonly number[]): number =>
        figures.reduce((total, each) => total + each, 0);
      expect(sum(result.workers.map(({ busy }) => busy))).toEqual(
        close(own.seconds)
      );
      expect(sum(result.functions.map(({ seconds }) => seconds))).toEqual(
        close(own.seconds)
      );
      expect(sum(result.strip.compute) + sum(result.strip.other)).toEqual(
        close(own.seconds)
      );
      return breaks;
    });
  });

  it('counts each task once in the spans and their sums', () => {
    held((_, interruption) => {
      const { before } = interruption;
      const own = accountOf(before, () => true);
      const { result, breaks } = interrupted('summary', {}, interruption);
      expect(result.executeSeconds).toEqual(
        close(own.seconds + own.runningSeconds)
      );
      expect(result.totalNanoseconds / 1e9).toEqual(close(own.seconds));
      expect(result.unattributedNanoseconds).toBe(0);
      expect(result.capacitySeconds).toEqual(
        close(result.executeSeconds + result.idleSeconds)
      );
      const [row] = result.spans;
      expect(row).toMatchObject({ tasks: own.tasks, running: own.running });
      expect(row!.threadSeconds).toEqual(close(own.seconds));
      expect(row!.runningSeconds ?? 0).toEqual(close(own.runningSeconds));
      expect(row!.idleSeconds).toEqual(close(result.idleSeconds));
      const spans = interrupted('spans', {}, interruption);
      expect(spans.result).toMatchObject({
        rows: result.spans,
        totalThreadSeconds: close(own.seconds),
        totalTasks: own.tasks
      });
      return breaks;
    });
  });

  it('lists each task once in the table', () => {
    held(([filter, isOwn], interruption) => {
      const { before } = interruption;
      const { result, breaks } = interrupted('tasks', filter, interruption);
      expect(result.total).toBe(accountOf(before, isOwn).tasks);
      return breaks;
    });
  });
});
