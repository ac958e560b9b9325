import {
  type FilteredStatus,
  NONE_U32,
  RunStatus
} from '../records/enumerations';
import type { Filter, SpanPath, SpanTerm } from '../wire/panel-link';
import type { IndexedBy } from '../base/typed-arrays';
import { DEFAULT_SPAN, type LaneId, type SpanId } from '../records/ids';
import { STATUS_REPLACED, type LogStore } from './store/log-store';
import { DEFAULT_TAG, isRoot } from './store/span-tree';

/** Statuses by the word in a filter. A run that was given back for want of an input has none: its task runs again, and that run has one. */
const STATUS_OF: Readonly<Record<FilteredStatus, RunStatus>> = {
  ok: RunStatus.Ok,
  failed: RunStatus.Failed,
  lost: RunStatus.Lost,
  cancelled: RunStatus.Cancelled
};

/**
 * A filter compiled for one log: per row four look-ups in byte tables decide.
 *
 *     passes  =  spans[span] & functions[function] & lanes[lane] & statuses[status]
 */
export type CompiledFilter = {
  /** Equal for equal filters: names caches. */
  readonly key: string;
  /** True if it lets everything pass. */
  readonly isOpen: boolean;
  /** By span id, 65,536 bytes. */
  readonly spans: IndexedBy<SpanId, Uint8Array>;
  /** By function name id; `otherFunctions` holds for ids beyond its end. */
  readonly functions: Uint8Array;
  readonly otherFunctions: 0 | 1;
  /** Whether work outside tasks passes, which belongs to no span and no function. */
  readonly outsideTasks: 0 | 1;
  /** By worker, 65,536 bytes. */
  readonly workers: Uint8Array;
  /** By lane id, 65,536 bytes. */
  readonly lanes: IndexedBy<LaneId, Uint8Array>;
  /** By status, 256 bytes. Rows that were replaced never pass. */
  readonly statuses: Uint8Array;
  /** Of spans that it names by their ids: how many are counted in one row with others, which is chosen whole. */
  readonly spansInSharedRows: number;
  readonly bySpan: boolean;
  readonly byFunction: boolean;
  readonly byWorker: boolean;
  readonly byStatus: boolean;
};

/** Keys are kept, because each tile asks for the key of its filter, which may be 64 Ki characters long. */
const filterKeys = new WeakMap<Filter, string>();

export function filterKey(filter: Filter): string {
  let key = filterKeys.get(filter);
  if (key === undefined) {
    key = JSON.stringify([
      filter.spans?.any ?? [],
      filter.spans?.all ?? [],
      filter.spans?.not ?? [],
      filter.functions ?? [],
      filter.notFunctions ?? [],
      filter.workers ?? [],
      filter.status ?? []
    ]);
    filterKeys.set(filter, key);
  }
  return key;
}

/** Compiles a filter; good for as long as spans, names and lanes of the log do not change (`compiledFor`). */
export function compileFilter(filter: Filter, log: LogStore): CompiledFilter {
  const { any = [], all = [], not = [] } = filter.spans ?? {};
  const bySpan = any.length + all.length + not.length > 0;
  const names = filter.functions ?? [];
  const notNames = filter.notFunctions ?? [];
  const byFunction = names.length + notNames.length > 0;
  const byWorker = (filter.workers ?? []).length > 0;
  const byStatus = (filter.status ?? []).length > 0;
  const workers = new Uint8Array(65536).fill(byWorker ? 0 : 1);
  for (const worker of filter.workers ?? []) {
    workers[worker] = 1;
  }
  return {
    key: filterKey(filter),
    isOpen: !bySpan && !byFunction && !byWorker && !byStatus,
    spans: spanTable(log, any, all, not),
    functions: functionTable(log, names, notNames),
    otherFunctions: names.length > 0 ? 0 : 1,
    outsideTasks:
      any.length + all.length + names.length > 0 || byStatus ? 0 : 1,
    workers,
    lanes: laneTable(log, workers, byWorker),
    statuses: statusTable(filter.status ?? []),
    spansInSharedRows: [...any, ...all, ...not].filter(
      term =>
        'path' in term && term.id !== undefined && log.spans.sharesRow(term.id)
    ).length,
    bySpan,
    byFunction,
    byWorker,
    byStatus
  };
}

/** Changes whenever a compiled filter must be compiled again. */
export function compiledFor(log: LogStore): string {
  return `${log.spans.version}/${log.clients.version}/${log.namesVersion}/${log.shape.lanes.length}`;
}

export function passesFunction(filter: CompiledFilter, fn: number): boolean {
  return (
    (fn < filter.functions.length
      ? filter.functions[fn]
      : filter.otherFunctions) === 1
  );
}

/**
 * any: in at least one of these subtrees; all: in every one; not: in none.
 *
 *     spans   a ── b ── c        any [a,b]        b c
 *             └─ d               all [a] [tag c]  c
 *                                not [a,d]        a b c
 */
function spanTable(
  log: LogStore,
  any: readonly SpanTerm[],
  all: readonly SpanTerm[],
  not: readonly SpanTerm[]
): Uint8Array {
  const table = new Uint8Array(65536).fill(any.length > 0 ? 0 : 1);
  for (const term of any) {
    for (const span of matching(log, term)) {
      table[span] = 1;
    }
  }
  for (const term of all) {
    const inside = new Uint8Array(65536);
    for (const span of matching(log, term)) {
      inside[span] = 1;
    }
    for (let span = 0; span < 65536; span++) {
      table[span]! &= inside[span]!;
    }
  }
  for (const term of not) {
    for (const span of matching(log, term)) {
      table[span] = 0;
    }
  }
  return table;
}

/**
 * The spans in the subtrees that a term names; an id names one, whatever its path. An empty path: all spans of the client. The same path may
 * occur many times: one span per entry of a `with` block. A program's path may leave out the notebook and the cell; then what they have
 * alone is of the default.
 */
function matching(log: LogStore, term: SpanTerm): Set<number> {
  const found = new Set<number>();
  const path = 'path' in term ? term.path : [term.tag];
  const anyDepth = !('path' in term);
  const isDefault = !anyDepth && path.length === 1 && path[0] === DEFAULT_TAG;
  const { client } = term;
  const only =
    'path' in term && term.id !== undefined ? log.spans.byId(term.id) : null;
  if (only?.includes(DEFAULT_SPAN) === true) {
    found.add(DEFAULT_SPAN);
    addUndescribed(log, found);
  }
  for (const span of log.spans.all()) {
    if (client !== undefined && log.clients.labelOf(span.client) !== client) {
      continue;
    }
    if (only !== null && !only.includes(span.span)) {
      continue;
    }
    const isMeant = anyDepth
      ? span.tag === term.tag
      : startsWith(span.path, path) ||
        (path.length > 0 && startsWith(span.name, path));
    if (isDefault && isRoot(span.origin)) {
      // What was written in it, and in no span of the program.
      found.add(span.span);
    }
    if (isMeant) {
      log.spans.walk(span.span, below => found.add(below));
    }
  }
  if (client === undefined && path.length === 1 && path[0] === DEFAULT_TAG) {
    found.add(DEFAULT_SPAN);
    addUndescribed(log, found);
  }
  return found;
}

function startsWith(path: SpanPath, prefix: SpanPath): boolean {
  return (
    path.length >= prefix.length &&
    prefix.every((tag, depth) => path[depth] === tag)
  );
}

/** Span ids that rows use and no row describes are shown as the default. */
function addUndescribed(log: LogStore, found: Set<number>): void {
  for (let cell = 0; cell < log.held.length; cell++) {
    const span = log.held.span(cell);
    if (log.spans.get(span) === undefined) {
      found.add(span);
    }
  }
}

function functionTable(
  log: LogStore,
  names: readonly string[],
  notNames: readonly string[]
): Uint8Array {
  const wanted = new Set(names);
  const unwanted = new Set(notNames);
  let extent = 0;
  for (const id of log.names.keys()) {
    extent = Math.max(extent, id < 1 << 24 ? id + 1 : 0);
  }
  const table = new Uint8Array(extent).fill(names.length > 0 ? 0 : 1);
  for (const [id, name] of log.names) {
    if (wanted.has(name)) {
      table[id] = 1;
    }
    if (unwanted.has(name)) {
      table[id] = 0;
    }
  }
  return table;
}

function laneTable(
  log: LogStore,
  workers: Uint8Array,
  byWorker: boolean
): CompiledFilter['lanes'] {
  const table: CompiledFilter['lanes'] = new Uint8Array(65536).fill(
    byWorker ? 0 : 1
  );
  for (const lane of log.shape.lanes) {
    table[lane.lane] = workers[lane.worker]!;
  }
  return table;
}

function statusTable(statuses: readonly FilteredStatus[]): Uint8Array {
  if (statuses.length === 0) {
    return allStatuses();
  }
  const table = new Uint8Array(256);
  for (const status of statuses) {
    table[STATUS_OF[status]] = 1;
  }
  return table;
}

/** The table of a filter that does not choose among statuses. */
export function allStatuses(): Uint8Array {
  const table = new Uint8Array(256).fill(1);
  table[STATUS_REPLACED] = 0;
  return table;
}

/**
 * Whether a row of `fine` passes by span and function; its callers check worker and time. A row without a function is work outside tasks,
 * whatever its span says.
 */
export function passesFineRow(
  filter: CompiledFilter,
  row: { readonly span: SpanId; readonly function: number }
): boolean {
  return row.function === NONE_U32
    ? filter.outsideTasks === 1
    : filter.spans[row.span] === 1 && passesFunction(filter, row.function);
}

/** Whether a lane's capacity counts under the filter. */
export function passesWorker(filter: CompiledFilter, worker: number): boolean {
  return filter.workers[worker] === 1;
}
