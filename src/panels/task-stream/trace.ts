/**
 * Tasks as a trace of Chrome's format, which Perfetto (ui.perfetto.dev), chrome://tracing and speedscope open: a process a worker, a track a
 * thread, a slice a task, and in it what held the thread. What went on behind other work overlaps it, and has tracks of its own, as spans have.
 *
 *     worker 0   thread 1      ▐ fit_fold                 ▌▐ score ▌
 *                               ▐ transfer ▌▐ fit_fold ▌
 *                transfer (in the background)  ▐▒▒▒▒▌
 *     spans      data load     ▐                          ▌
 *
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
import type { Trans } from '../../base/trans';
import type { RunDetail, TaskStreamResult } from '../../wire/panel-link';
import { partWord, workerLabel } from '../format';
import { cellText, laneText } from './rows';

type TraceEvent = Readonly<Record<string, unknown>>;

type TraceParts = {
  readonly runs: readonly RunDetail[];
  readonly bands: TaskStreamResult['bands'];
  /** What is said of the file as a whole. */
  readonly about: Readonly<Record<string, string>>;
};

/** Processes need numbers: workers have 1, 2, …. */
const SPANS_PROCESS = 0;

export function traceOf(parts: TraceParts, trans: Trans): string {
  const { runs, bands } = parts;
  const processes = new Map<string, number>();
  const lanes = new Set<string>();
  const places = placesOf(runs);
  const events: TraceEvent[] = [];
  let asyncId = 0;
  const addAsync = (
    pid: number,
    name: string,
    cat: string,
    from: number,
    to: number,
    args: TraceEvent
  ) => {
    asyncId += 1;
    const common = { name, cat, id: asyncId, pid, tid: 0 };
    events.push(
      { ...common, ph: 'b', ts: from, args },
      { ...common, ph: 'e', ts: Math.max(from, to) }
    );
  };
  for (const run of runs) {
    let pid = processes.get(run.worker);
    if (pid === undefined) {
      pid = processes.size + 1;
      processes.set(run.worker, pid);
      events.push(
        metadata('process_name', pid, 0, {
          name: workerLabel(run.worker, trans)
        }),
        metadata('process_sort_index', pid, 0, { sort_index: pid })
      );
    }
    const tid = run.thread + 1;
    if (!lanes.has(`${pid} ${tid}`)) {
      lanes.add(`${pid} ${tid}`);
      events.push(
        metadata('thread_name', pid, tid, {
          name: laneText(run, trans)
        }),
        metadata('thread_sort_index', pid, tid, { sort_index: tid })
      );
    }
    const { from: start, to: end } = places.get(run)!;
    const slice = (
      name: string,
      cat: string,
      from: number,
      to: number,
      args: TraceEvent
    ): TraceEvent => ({
      name,
      cat,
      ph: 'X',
      ts: from,
      dur: to - from,
      pid,
      tid,
      args
    });
    const held: TraceEvent[] = [];
    let before = start;
    let tooShort = 0;
    for (const part of partsOf(run)) {
      const from = microseconds(run.start + part.offset);
      const to = microseconds(run.start + part.offset + part.duration);
      const args = {
        ...(part.function !== '' && { function: part.function }),
        ...(part.bytes ? { bytes: part.bytes } : {})
      };
      if (!part.held) {
        const name = trans.__(
          '%1 (in the background)',
          partWord(part.kind, trans)
        );
        addAsync(pid, name, part.kind, from, to, args);
        continue;
      }
      // Slices of one track lie in each other or side by side.
      const begin = Math.min(end, Math.max(before, from));
      before = Math.min(end, Math.max(begin, to));
      if (before === begin) {
        tooShort += 1;
        continue;
      }
      const name =
        part.kind === 'compute' && part.function !== ''
          ? part.function
          : partWord(part.kind, trans);
      held.push(slice(name, part.kind, begin, before, args));
    }
    events.push(
      slice(run.function, 'task', start, end, argsOf(run, tooShort, trans)),
      ...held
    );
  }
  if (bands.length > 0) {
    events.push(
      metadata('process_name', SPANS_PROCESS, 0, { name: trans.__('spans') }),
      metadata('process_sort_index', SPANS_PROCESS, 0, { sort_index: 0 })
    );
    for (const { tag, from, to, client } of bands) {
      const args = client === undefined ? {} : { client };
      addAsync(
        SPANS_PROCESS,
        tag,
        'span',
        microseconds(from),
        microseconds(to),
        args
      );
    }
  }
  // An event a line: a file that can be searched, and cut.
  const lines = events.map(event => JSON.stringify(event)).join(',\n');
  return `{"displayTimeUnit":"ms","otherData":${JSON.stringify(parts.about)},"traceEvents":[\n${lines}\n]}\n`;
}

/** Of durations: a log keeps them in single precision, and clocks tell microseconds. */
const ROUNDING = 2 ** -23;
const CLOCK_SECONDS = 1e-6;

/** `inner`: up to where the last task in it goes. */
type Place = { readonly from: number; to: number; inner: number };

/**
 * From when to when each ran, in whole microseconds: readers add `ts` and `dur`, and sums of fractions miss each other by a last digit, so
 * that a slice would end within the next. One that ended when the next on its lane began, but for rounding, ends there; so does one that
 * went on around others. Each has a microsecond, or the next could be taken for its start.
 */
function placesOf(runs: readonly RunDetail[]): ReadonlyMap<RunDetail, Place> {
  const places = new Map<RunDetail, Place>();
  /** Of each lane those that go on, each in the one before it. */
  const openOf = new Map<string, RunDetail[]>();
  for (const run of [...runs].sort(byStart)) {
    const lane = `${run.thread} ${run.worker}`;
    const open = openOf.get(lane) ?? [];
    openOf.set(lane, open);
    let from = microseconds(run.start);
    for (
      let before = open.at(-1);
      before !== undefined && hasEnded(before, run.start);
      before = open.at(-1)
    ) {
      open.pop();
      const place = places.get(before)!;
      place.to = Math.max(
        place.from + 1,
        place.inner,
        Math.min(place.to, from)
      );
      from = Math.max(from, place.to);
      const around = open.at(-1);
      if (around !== undefined) {
        places.get(around)!.inner = place.to;
      }
    }
    const around = open.at(-1);
    from = Math.max(from, around === undefined ? 0 : places.get(around)!.inner);
    const to = Math.max(from + 1, microseconds(run.start + run.duration));
    for (const each of open) {
      const place = places.get(each)!;
      place.to = Math.max(place.to, to);
    }
    places.set(run, { from, to, inner: from });
    open.push(run);
  }
  return places;
}

function hasEnded({ start, duration }: RunDetail, seconds: number): boolean {
  return start + duration - seconds <= duration * ROUNDING + CLOCK_SECONDS;
}

/** Of those that began together the longest is around the others, unless these had ended by then. */
function byStart(a: RunDetail, b: RunDetail): number {
  const lasts = ({ duration }: RunDetail) => (duration > CLOCK_SECONDS ? 1 : 0);
  return (
    a.start - b.start ||
    lasts(a) - lasts(b) ||
    lasts(a) * (b.duration - a.duration)
  );
}

/**
 * In order of time. What computes of the function by which the task is called has no slice of its own: a sum by name would have its time
 * twice, and of some tasks alone, as it has none beside a whole task.
 */
function partsOf({ parts, ...run }: RunDetail): RunDetail['parts'] {
  const isTask = ({ held, kind, function: fn }: RunDetail['parts'][number]) =>
    held && kind === 'compute' && (fn === '' || fn === run.function);
  return parts
    .filter(part => !isTask(part))
    .sort((a, b) => a.offset - b.offset);
}

function metadata(
  name: string,
  pid: number,
  tid: number,
  args: TraceEvent
): TraceEvent {
  return { name, ph: 'M', pid, tid, args };
}

/**
 * What is known of a task beside its place; seconds and bytes.
 *
 * @param tooShort - parts that have no microsecond of their own.
 */
function argsOf(run: RunDetail, tooShort: number, trans: Trans): TraceEvent {
  const leftOut = (run.partsLeftOut ?? 0) + tooShort;
  const known: Record<string, unknown> = {
    key: run.key,
    span: run.span.join(' › '),
    cell: cellText(run, trans),
    client: run.client,
    status: run.status,
    attempt: run.attempt > 1 ? run.attempt : undefined,
    error: run.error,
    cpu_s: run.cpu,
    waited_ready_s: run.waitReady,
    waited_inputs_s: run.waitInputs,
    waited_thread_s: run.waitThread,
    nbytes: run.nbytes,
    // Of so many tasks that not all parts have room, and of parts that are too short.
    parts_left_out: leftOut > 0 ? leftOut : undefined
  };
  return Object.fromEntries(
    Object.entries(known).filter(
      ([, value]) => value !== undefined && value !== null && value !== ''
    )
  );
}

function microseconds(seconds: number): number {
  return Math.round(seconds * 1e6);
}
