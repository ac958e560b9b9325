import { DEFAULT_SPAN, type LaneIndex, type SpanId } from '../../records/ids';
import { NONE_U32, RunStatus } from '../../records/enumerations';
import type { TasksResult } from '../../wire/panel-link';
import { passesFunction } from '../filter';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Honoured,
  type Range,
  type Slices
} from './context';
import { honouredBy } from './honoured';
import { mainFunction } from './main-function';
import { ownersOf } from './owners';
import { errorOf, runDetail, workerName } from './run-detail';
import { PageCandidates } from './select-page';
import type { ParamsOf } from '../../wire/question';

const MOST_ROWS = 500;
const DEFAULT_ROWS = 100;

/**
 * The table twin of the task stream: the tasks that pass the filter, sorted by a column, one page of them. Only the page is put in order:
 * a million rows are gone through once (numbers to sort by), never sorted.
 */
export function* foldTasks(
  context: FoldContext,
  params: ParamsOf<'tasks'>
): Slices<{ readonly result: TasksResult; readonly honoured: Honoured }> {
  const { log } = context;
  const rank = rankOf(log, params.sort ?? 'start');
  const wanted = matcher(log, params.search ?? '');
  const { range, isThere } = placeOf(log, params);
  const offset = Math.max(0, Math.floor(params.offset ?? 0));
  const limit = Math.min(
    MOST_ROWS,
    Math.max(1, Math.floor(params.limit ?? DEFAULT_ROWS))
  );
  const candidates = new PageCandidates(
    params.descending === true,
    Math.min(offset, log.runs.length),
    limit
  );
  let seen = 0;
  for (const [zone, first, end] of passingZones(context, range)) {
    for (let i = first; i < end; i++) {
      const row = zone[i]!;
      if (
        isThere(row) &&
        counts(log, row) &&
        passes(context, row) &&
        wanted(row)
      ) {
        candidates.add(row, rank(row));
      }
    }
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  const page = candidates.page();
  const ownerOf = ownersOf(log);
  const details = [...page].map(row => runDetail(log, row, true, ownerOf));
  return {
    result: {
      view: 'tasks',
      total: candidates.total,
      rows: details.filter(detail => detail !== null)
    },
    honoured: honouredBy('tasks', context)
  };
}

function passingZones(
  context: FoldContext,
  place: Range
): Generator<[Uint32Array, number, number]> {
  const { log, moment, time } = context;
  const range =
    time === 'all' ? { from: -Infinity, to: Infinity } : resolveRange(context);
  return log.runZones.zones(
    Math.max(range.from, place.from),
    Math.min(range.to, place.to),
    moment.rows.runs
  );
}

/**
 * The runs of some lanes, from a time or a run on. Of those that begin at one time that is next whose row is: so each comes once, in both
 * directions.
 *
 *     lane   ▐a▐▐b▐▐▐c▐  d        nextTo b: c, d       descending: a
 */
function placeOf(
  log: LogStore,
  { lanes, nextTo, from, descending }: ParamsOf<'tasks'>
): { readonly range: Range; readonly isThere: (row: number) => boolean } {
  const own = nextTo === undefined ? -1 : log.runRows.get(nextTo);
  const columns = log.runs.chunkOf(own)?.columns;
  if (nextTo !== undefined && columns === undefined) {
    // It was dropped: nothing is next to it.
    return { range: { from: 0, to: 0 }, isThere: () => false };
  }
  const start = columns?.start[own & CHUNK_MASK] ?? from;
  if (start === undefined && lanes === undefined) {
    return { range: { from: -Infinity, to: Infinity }, isThere: () => true };
  }
  const ownLane = columns?.lane[own & CHUNK_MASK];
  const wanted = new Set<number>(
    lanes ?? (ownLane === undefined ? [] : [log.shape.laneIndex(ownLane)])
  );
  const isBack = descending === true;
  return {
    range: isBack
      ? { from: -Infinity, to: start ?? Infinity }
      : { from: start ?? -Infinity, to: Infinity },
    isThere: row => {
      const { lane, start: starts } = log.runs.chunkOf(row)!.columns;
      const i = row & CHUNK_MASK;
      if (wanted.size > 0 && !wanted.has(log.shape.laneIndex(lane[i]!))) {
        return false;
      }
      const far = starts[i]! - (start ?? starts[i]!);
      return far === 0
        ? columns === undefined || (isBack ? row < own : row > own)
        : isBack
          ? far < 0
          : far > 0;
    }
  };
}

/** A run that was given back for want of an input does not count, here as everywhere: it runs again. */
export function counts(log: LogStore, row: number): boolean {
  const status = log.runs.chunkOf(row)?.columns.status[row & CHUNK_MASK];
  return status !== RunStatus.Missing;
}

/** Whether a run is of the selection: in the range, and its own or a part's span and function pass the filter. */
export function passes(context: FoldContext, row: number): boolean {
  const { log, filter, time } = context;
  const columns = log.runs.chunkOf(row)?.columns;
  if (columns === undefined) {
    return false;
  }
  const i = row & CHUNK_MASK;
  if (time !== 'all') {
    const { from, to } = resolveRange(context);
    const start = columns.start[i]!;
    if (start >= to || start + Math.max(0, columns.duration[i]!) < from) {
      return false;
    }
  }
  return (
    filter.statuses[columns.status[i]!] === 1 &&
    filter.lanes[columns.lane[i]!] === 1 &&
    (passesOwn(context, columns.span[i]!, columns.function[i]!) ||
      somePartPasses(context, columns.run[i]!))
  );
}

function passesOwn(context: FoldContext, span: SpanId, fn: number): boolean {
  return context.filter.spans[span] === 1 && passesFunction(context.filter, fn);
}

/** A fused task is in the span of each of its parts. */
function somePartPasses(context: FoldContext, run: number): boolean {
  const { log, moment } = context;
  return (
    log.lastParts.get(run) >= 0 &&
    log.partRows(run, moment.rows.parts).some(row => {
      const part = log.part(row);
      return part.held && passesOwn(context, part.span, part.function);
    })
  );
}

const NUMBER_COLUMNS = [
  'run',
  'start',
  'duration',
  'cpu',
  'waitReady',
  'waitInputs',
  'waitThread',
  'attempt',
  'status',
  'thread'
] as const;

/** A number per row that sorts as the column does. Texts sort by their place among all texts of the kind. */
function rankOf(log: LogStore, sort: string): (row: number) => number {
  const column = (row: number, name: string): number =>
    (log.runs.chunkOf(row)!.columns as unknown as Record<string, Float64Array>)[
      name
    ]![row & CHUNK_MASK]!;
  // Unknown figures come last when the largest come first.
  const number = (value: number): number =>
    Number.isNaN(value) ? -Infinity : value;
  if (sort === 'thread') {
    return row => log.shape.lanes[laneIndexOf(row)]?.thread ?? 0;
  }
  if ((NUMBER_COLUMNS as readonly string[]).includes(sort)) {
    return row => number(column(row, sort));
  }
  if (sort === 'nbytes') {
    return row => number(column(row, 'nbytes'));
  }
  if (sort === 'waited') {
    return row => waitedSeconds(WAITS.map(name => column(row, name)));
  }
  if (sort === 'error') {
    const ranks = errorRanks(log);
    return row => ranks.get(column(row, 'run')) ?? -1;
  }
  if (sort === 'worker') {
    const ranks = textRanks(
      log.shape.lanes.map(l => workerName(log, l.worker))
    );
    return row => ranks[laneIndexOf(row)] ?? 0;
  }
  if (sort === 'span') {
    const spans = [
      DEFAULT_SPAN,
      ...[...log.spans.all()].map(({ span }) => span)
    ];
    const ownerOf = ownersOf(log);
    const texts = spans.map(span =>
      [ownerOf(span), ...log.spans.nameOf(span)].join('\0')
    );
    const ranks = textRanks(texts);
    const rankOfSpan = new Map(spans.map((span, i) => [span, ranks[i]!]));
    return row => rankOfSpan.get(column(row, 'span') as SpanId) ?? 0;
  }
  if (sort === 'function' || sort === 'key') {
    const ids = [...log.names.keys()];
    const ranks = textRanks(ids.map(id => log.name(id)));
    const rankOfName = new Map(ids.map((id, i) => [id, ranks[i]!]));
    if (sort === 'function') {
      return row => rankOfName.get(mainFunction(log, row)) ?? 0;
    }
    return row => keyRank(log, column(row, 'node'), rankOfName);
  }
  return row => column(row, 'start');

  function laneIndexOf(row: number): LaneIndex {
    const { lane } = log.runs.chunkOf(row)!.columns;
    return log.shape.laneIndex(lane[row & CHUNK_MASK]!);
  }
}

const WAITS = ['waitReady', 'waitInputs', 'waitThread'] as const;

/** The known waits of a run, added up. Runs without any come last when the longest come first. */
function waitedSeconds(waits: readonly number[]): number {
  const known = waits.filter(seconds => !Number.isNaN(seconds));
  return known.length === 0
    ? -Infinity
    : known.reduce((sum, seconds) => sum + seconds, 0);
}

/** By run: the place of its error's last line among all. */
function errorRanks(log: LogStore): ReadonlyMap<number, number> {
  const runs: number[] = [];
  const { events } = log;
  for (let row = events.firstRow; row < events.endRow; row++) {
    const run = events.chunkOf(row)?.columns.run[row & CHUNK_MASK] ?? NONE_U32;
    if (run !== NONE_U32 && log.failureRows.get(run) === row) {
      runs.push(run);
    }
  }
  const ranks = textRanks(runs.map(run => errorOf(log, run, true) ?? ''));
  return new Map(runs.map((run, i) => [run, ranks[i]!]));
}

/** Keys sort by their group's name, then by the order in which they were submitted, which is that of their numbers. */
function keyRank(
  log: LogStore,
  node: number,
  rankOfName: ReadonlyMap<number, number>
): number {
  const row = log.nodeRows.get(node);
  const group = log.nodes.chunkOf(row)?.columns.group[row & CHUNK_MASK];
  return (rankOfName.get(group ?? -1) ?? 0) * 2 ** 32 + Math.max(0, row);
}

function textRanks(texts: readonly string[]): number[] {
  const order = texts
    .map((_, i) => i)
    .sort((a, b) =>
      texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : 0
    );
  const ranks = new Array<number>(texts.length);
  order.forEach((index, rank) => {
    const before = order[rank - 1];
    ranks[index] =
      before !== undefined && texts[before] === texts[index]
        ? ranks[before]!
        : rank;
  });
  return ranks;
}

/** Keys that contain the text, upper and lower case alike. */
function matcher(log: LogStore, search: string): (row: number) => boolean {
  const needle = search.toLowerCase();
  if (needle === '') {
    return () => true;
  }
  return row => {
    const node = log.runs.chunkOf(row)!.columns.node[row & CHUNK_MASK]!;
    return log.key(node).toLowerCase().includes(needle);
  };
}
