import type { Nanoseconds, Seconds } from '../../base/brand';
import type { SpanId } from '../../records/ids';
import { PartKind, RunStatus } from '../../records/enumerations';
import {
  type ActivityCells,
  ACTIVITY_OF_PART,
  BLOCKED,
  CANCELLED,
  COMPUTE,
  CORE,
  FAILED,
  LOST,
  OTHER,
  THREAD_CPU,
  THREAD_NONCPU
} from './activity-cells';

/** Whether it ran on a thread. A task that could not begin has a row, which takes no time on any lane. */
export function hasBegun(duration: number, waitThread: number): boolean {
  return duration > 0 || !Number.isNaN(waitThread);
}

type RunFigures = {
  readonly span: SpanId;
  readonly function: number;
  readonly start: Seconds;
  readonly duration: Seconds;
  /** NaN: not known. */
  readonly cpu: Seconds;
  readonly status: number;
};
export type PartFigures = {
  readonly kind: number;
  readonly held: boolean;
  readonly function: number;
  readonly span: SpanId;
  readonly offset: Seconds;
  readonly duration: Seconds;
  readonly cpu: Seconds;
  /** Seconds in the run queue; NaN: not known. */
  readonly coreWait: Seconds;
};
/**
 * The executions of a run that its parts do not count: 1 for a run that is not divided. If it has compute parts, as fused tasks have, each
 * of these is an execution of the part's function, and this is 0; so it is for a run that was given back, which never ran.
 */
export function undividedExecutions(
  status: number,
  parts: readonly PartFigures[]
): 0 | 1 {
  return status !== RunStatus.Missing && !parts.some(isExecution) ? 1 : 0;
}

export function isExecution(part: {
  readonly kind: number;
  readonly held: boolean;
}): boolean {
  return part.held && part.kind === PartKind.Compute;
}

export type Clip = { readonly from: Seconds; readonly to: Seconds };
/** Takes whole nanoseconds of one activity (index in ACTIVITIES) of one (span, function). */
export type NanosecondSink = (
  span: SpanId,
  fn: number,
  activity: number,
  ns: Nanoseconds
) => void;

export function nanoseconds(seconds: Seconds): Nanoseconds {
  return Math.round(seconds * 1e9);
}

/**
 * What all seconds of a run are that came to nothing, and those of its parts, by its status. Of runs that were given back only those have
 * any that asked to be run anew.
 */
const LUMP_OF_STATUS: Readonly<Partial<Record<number, number>>> = {
  [RunStatus.Failed]: FAILED,
  [RunStatus.Missing]: CANCELLED,
  [RunStatus.Cancelled]: CANCELLED
};

/**
 * Divides the time that a run held its thread among activities, in whole nanoseconds whose sum is the run's duration exactly.
 *
 *     run        ├──────────────── 10 ms ────────────────┤
 *     held parts ├ deserialize 1 ┤ compute 7, CPU 5 ┤ serialize 1.5 ┤
 *     booked     deserialize 1 · thread-cpu 5 · core and blocked, or thread-noncpu: 2 · serialize 1.5 · other 0.5 (what no part explains)
 *
 * Parts are booked to their own span and function, the rest to the run's. Parts that ran behind other work (held = 0) took nobody's thread
 * and are not booked here. Durations are float32: where the parts are some hundred nanoseconds longer than their run, the last of them
 * lacks these, and nothing is below 0.
 *
 * @param clip - book only what lies in this range; CPU time is then shared in proportion.
 * @param sign - −1 takes an earlier booking back.
 */
export function bookRun(
  run: RunFigures,
  parts: readonly PartFigures[],
  clip: Clip | null,
  sign: 1 | -1,
  sink: NanosecondSink
): void {
  const whole = clippedNanoseconds(run.start, run.duration, clip);
  const lump = LUMP_OF_STATUS[run.status];
  if (run.status === RunStatus.Lost) {
    sink(run.span, run.function, LOST, sign * whole);
    return;
  }
  let rest = whole;
  let anyHeld = false;
  for (const part of parts) {
    if (!part.held) {
      continue;
    }
    anyHeld = true;
    const start = run.start + part.offset;
    const ns = Math.min(rest, clippedNanoseconds(start, part.duration, clip));
    rest -= ns;
    if (lump !== undefined) {
      sink(part.span, part.function, lump, sign * ns);
    } else if (part.kind === PartKind.Compute) {
      bookCompute(part, part.coreWait, part.duration, ns, sign, sink);
    } else {
      const activity = ACTIVITY_OF_PART[part.kind] ?? OTHER;
      sink(part.span, part.function, activity, sign * ns);
    }
  }
  if (anyHeld || lump !== undefined) {
    sink(run.span, run.function, lump ?? OTHER, sign * rest);
  } else {
    bookCompute(run, NaN, run.duration, whole, sign, sink);
  }
}

/** What {@link bookRun} books of a run that has no parts and whose result was wanted. */
export function bookUndivided(
  cells: ActivityCells,
  cell: number,
  duration: Seconds,
  cpu: Seconds
): void {
  const whole = nanoseconds(duration);
  if (Number.isNaN(cpu)) {
    cells.addNanoseconds(cell, COMPUTE, whole);
    return;
  }
  const onCore = within(nanoseconds(cpu), whole);
  cells.addNanoseconds(cell, THREAD_CPU, onCore);
  cells.addNanoseconds(cell, THREAD_NONCPU, whole - onCore);
}

/**
 * CPU time is cut to the part's time, and waiting for a core to what CPU time leaves of it; where CPU time is unknown, the whole is
 * `compute`.
 */
function bookCompute(
  row: {
    readonly span: SpanId;
    readonly function: number;
    readonly cpu: Seconds;
  },
  coreWait: number,
  duration: number,
  ns: number,
  sign: 1 | -1,
  sink: NanosecondSink
): void {
  if (Number.isNaN(row.cpu)) {
    sink(row.span, row.function, COMPUTE, sign * ns);
    return;
  }
  const full = nanoseconds(duration);
  const inClip = (all: number): number =>
    ns === full ? all : Math.round((all * ns) / full);
  const cpu = inClip(within(nanoseconds(row.cpu), full));
  sink(row.span, row.function, THREAD_CPU, sign * cpu);
  if (Number.isNaN(coreWait)) {
    sink(row.span, row.function, THREAD_NONCPU, sign * (ns - cpu));
    return;
  }
  const core = within(inClip(within(nanoseconds(coreWait), full)), ns - cpu);
  sink(row.span, row.function, CORE, sign * core);
  sink(row.span, row.function, BLOCKED, sign * (ns - cpu - core));
}

function within(value: number, most: number): number {
  return Math.min(Math.max(value, 0), most);
}

/** Whole nanoseconds of [start, start + duration) that lie in the clip. */
export function clippedNanoseconds(
  start: Seconds,
  duration: Seconds,
  clip: Clip | null
): Nanoseconds {
  if (clip === null || (start >= clip.from && start + duration <= clip.to)) {
    return nanoseconds(duration);
  }
  const from = Math.max(start, clip.from);
  const to = Math.min(start + duration, clip.to);
  return to > from ? nanoseconds(to - from) : 0;
}
