import { NONE_U32 } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import type { ProgressResult, TaskCounts } from '../../wire/panel-link';
import type { CompiledFilter } from '../filter';
import type { FoldContext, Honoured, Slices } from './context';
import { type Exception, honouredBy } from './honoured';

/** An answer must fit in one message of the panel link; a user looks at some dozens. */
const MOST_FUNCTIONS = 1_000;
const OTHERS = '';

type Sums = { -readonly [C in keyof TaskCounts]: TaskCounts[C] };

/**
 * How far the tasks of each function are: as the source tells, or, of one that does not, from the runs that have ended and go on. A cluster that
 * has ended is as far as it came: nothing runs there, and what has not begun never will. Of a Dask cluster only the watching may have ended: what
 * was not over waits, as far as is known.
 */
export function* foldProgress(
  context: FoldContext
): Slices<{ readonly result: ProgressResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  const sums = new Map<string, Sums>();
  const total = none();
  let hidden = 0;
  const exceptions = new Set<Exception>();
  const { at } = log.progress;
  for (const { span, fn, ...counts } of at === null
    ? fromRuns(context)
    : told(context)) {
    if (!passes(filter, span, fn)) {
      hidden += sumOf(counts);
      continue;
    }
    if (fn === NONE_U32) {
      exceptions.add('progressOthers');
    }
    const name = fn === NONE_U32 ? OTHERS : log.name(fn);
    const sum = sums.get(name) ?? none();
    sums.set(name, sum);
    add(sum, counts);
    add(total, counts);
  }
  if (at === null) {
    exceptions.add('progressNotTold');
  }
  const rest = none();
  let functions = 0;
  const rows: ProgressResult['functions'][number][] = [];
  for (const [name, sum] of sums) {
    if (name === OTHERS || rows.length >= MOST_FUNCTIONS) {
      add(rest, sum);
      functions++;
    } else {
      rows.push({ function: name, ...log.slots.of(name), ...sum });
    }
  }
  yield;
  return {
    result: {
      view: 'progress',
      functions: rows,
      ...(functions > 0 && { others: { functions, ...rest } }),
      total,
      hidden,
      toldAt: at
    },
    honoured: honouredBy('progress', context, [...exceptions])
  };
}

type Counted = TaskCounts & { readonly span: SpanId; readonly fn: number };

function* told({ log, ended }: FoldContext): Iterable<Counted> {
  const isOver = ended && !isOfDask(log);
  for (const row of log.progress.rows()) {
    const { function: fn, within, done, memory, failed } = row;
    yield {
      span: log.spanSlots.find(within),
      fn,
      done,
      memory,
      failed,
      running: ended ? 0 : row.running,
      waiting: isOver ? 0 : row.waiting + (ended ? row.running : 0),
      dropped: row.dropped + (isOver ? row.running + row.waiting : 0)
    };
  }
}

function* fromRuns({ log, moment, ended }: FoldContext): Iterable<Counted> {
  // (a scheduler would have told at its end: it was killed, and tasks may have waited)
  const hasScheduler = isOfDask(log) || log.header['kind'] === 'embedded';
  const waiting = ended && !hasScheduler ? 0 : null;
  const others = { waiting, dropped: 0, memory: null };
  for (let cell = 0; cell < log.held.length; cell++) {
    const failed = log.held.failed(cell);
    const done = log.held.runs(cell) - failed;
    if (done + failed > 0) {
      const span = log.held.span(cell);
      const fn = log.held.function(cell);
      yield { span, fn, done, failed, running: 0, ...others };
    }
  }
  for (const { span, function: fn } of moment.running.values()) {
    yield { span, fn, done: 0, failed: 0, running: 1, ...others };
  }
}

function isOfDask({ header }: FoldContext['log']): boolean {
  return header['kind'] === 'dask';
}

/** What is counted for no function or span of its own passes unless these are asked for. */
function passes(filter: CompiledFilter, span: SpanId, fn: number): boolean {
  return (
    filter.spans[span] === 1 &&
    (filter.functions[fn] ?? filter.otherFunctions) === 1
  );
}

function none(): Sums {
  return { done: 0, running: 0, waiting: 0, failed: 0, dropped: 0, memory: 0 };
}

function add(sums: Sums, more: TaskCounts): void {
  sums.done += more.done;
  sums.running += more.running;
  sums.failed += more.failed;
  sums.dropped += more.dropped;
  sums.waiting = plus(sums.waiting, more.waiting);
  sums.memory = plus(sums.memory, more.memory);
}

function plus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

function sumOf({ done, running, waiting, failed, dropped }: TaskCounts) {
  return done + running + (waiting ?? 0) + failed + dropped;
}
