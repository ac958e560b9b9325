/**
 * Tasks as a trace of Chrome's format, which Perfetto (ui.perfetto.dev), speedscope and chrome://tracing open: a process a worker, a track a
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
import { laneText } from './rows';

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
  const ends = endsOf(runs);
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
      { ...common, ph: 'b', ts: microseconds(from), args },
      { ...common, ph: 'e', ts: microseconds(Math.max(from, to)) }
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
    const end = ends.get(run)!;
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
      ts: microseconds(from),
      // (the difference of what is written, so that a slice ends within the one around it)
      dur: (nanoseconds(to) - nanoseconds(from)) / 1000,
      pid,
      tid,
      args
    });
    events.push(slice(run.function, 'task', run.start, end, argsOf(run)));
    let before = run.start;
    for (const part of partsOf(run)) {
      const from = run.start + part.offset;
      const args = {
        ...(part.function !== '' && { function: part.function }),
        ...(part.bytes ? { bytes: part.bytes } : {})
      };
      if (!part.held) {
        const name = trans.__(
          '%1 (in the background)',
          partWord(part.kind, trans)
        );
        addAsync(pid, name, part.kind, from, from + part.duration, args);
        continue;
      }
      // Slices of one track lie in each other or side by side.
      const begin = Math.min(end, Math.max(before, from));
      before = Math.min(end, Math.max(begin, from + part.duration));
      const name =
        part.kind === 'compute' && part.function !== ''
          ? part.function
          : partWord(part.kind, trans);
      events.push(slice(name, part.kind, begin, before, args));
    }
  }
  if (bands.length > 0) {
    events.push(
      metadata('process_name', SPANS_PROCESS, 0, { name: trans.__('spans') }),
      metadata('process_sort_index', SPANS_PROCESS, 0, { sort_index: 0 })
    );
    for (const { tag, from, to, client } of bands) {
      const args = client === undefined ? {} : { client };
      addAsync(SPANS_PROCESS, tag, 'span', from, to, args);
    }
  }
  // An event a line: a file that can be searched, and cut.
  const lines = events.map(event => JSON.stringify(event)).join(',\n');
  return `{"displayTimeUnit":"ms","otherData":${JSON.stringify(parts.about)},"traceEvents":[\n${lines}\n]}\n`;
}

/** Of durations: a log keeps them in single precision, and clocks tell microseconds. */
const ROUNDING = 2 ** -23;
const CLOCK_SECONDS = 1e-6;

/** When each ended: no later than the next on its lane began, if that is a matter of rounding. Viewers would draw that one in it. */
function endsOf(runs: readonly RunDetail[]): ReadonlyMap<RunDetail, number> {
  const ends = new Map<RunDetail, number>();
  const last = new Map<string, RunDetail>();
  for (const run of [...runs].sort((a, b) => a.start - b.start)) {
    const lane = `${run.thread} ${run.worker}`;
    const before = last.get(lane);
    const end = before === undefined ? -Infinity : ends.get(before)!;
    if (
      before !== undefined &&
      end > run.start &&
      end - run.start <= before.duration * ROUNDING + CLOCK_SECONDS
    ) {
      ends.set(before, run.start);
    }
    ends.set(run, run.start + Math.max(0, run.duration));
    last.set(lane, run);
  }
  return ends;
}

/** In order of time, without what is the task itself once more. */
function partsOf({ parts, ...run }: RunDetail): RunDetail['parts'] {
  const held = parts.filter(part => part.held);
  const [only] = held;
  const isWhole =
    held.length === 1 &&
    only?.kind === 'compute' &&
    (only.function === '' || only.function === run.function);
  return (isWhole ? parts.filter(part => !part.held) : [...parts]).sort(
    (a, b) => a.offset - b.offset
  );
}

function metadata(
  name: string,
  pid: number,
  tid: number,
  args: TraceEvent
): TraceEvent {
  return { name, ph: 'M', pid, tid, args };
}

/** What is known of a task beside its place; seconds and bytes. */
function argsOf(run: RunDetail): TraceEvent {
  const known: Record<string, unknown> = {
    key: run.key,
    span: run.span.join(' › '),
    client: run.client,
    status: run.status,
    attempt: run.attempt > 1 ? run.attempt : undefined,
    error: run.error,
    cpu_s: run.cpu,
    waited_ready_s: run.waitReady,
    waited_inputs_s: run.waitInputs,
    waited_thread_s: run.waitThread,
    nbytes: run.nbytes,
    // Of short ones a row has none.
    parts_left_out: run.partsLeftOut
  };
  return Object.fromEntries(
    Object.entries(known).filter(
      ([, value]) => value !== undefined && value !== null && value !== ''
    )
  );
}

function nanoseconds(seconds: number): number {
  return Math.round(seconds * 1e9);
}

function microseconds(seconds: number): number {
  return nanoseconds(seconds) / 1000;
}
