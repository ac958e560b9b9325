import type { LaneId, SpanId } from '../../records/ids';
import { SampleState } from '../../records/enumerations';
import type { ProfileResult } from '../../wire/panel-link';
import { allStatuses, passesFunction, type CompiledFilter } from '../filter';
import { GIL } from '../store/activity-cells';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import { framesOf } from '../store/stack-frames';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
import { fineCells } from './fine-cells';
import { fineSums } from './fine-rows';
import { honouredBy } from './honoured';
import { LockWaits } from './lock-waits';
import { looksByClock } from './looks-by-clock';
import { workerName } from './run-detail';
import type { ParamsOf } from '../../wire/question';

const MOST_NODES = 5000;
/** Characters of names and files in one answer: it must fit in one message of the panel link. */
const MOST_TEXT = 600_000;
/** The same of a page, whose names are not left out if they are long: whatever their letters are, three bytes each. */
const MOST_PAGE_TEXT = 200_000;
/** Of the activity over time; that of longer work is told in steps of several seconds. */
const MOST_SECONDS = 5000;
/** Waiting for the GIL: no state that samples have, but a share of the blocked ones. */
const LOCK = SampleState.Unknown + 1;
/** The thread time that one sample stands for, unless the log says otherwise. */
const SAMPLE_SECONDS = 0.01;

/** A frame in the merged tree. Own figures are the subtree's: a frame's samples include those of the frames that it called. */
type Node = {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  n: number;
  onCore: number;
  waiting: number;
  /** Estimated, so no whole number. */
  gil: number;
  blocked: number;
  readonly children: Map<number | string, Node>;
};

/**
 * Samples as a tree of frames.
 *
 *     stacks  main>load>read ×3  main>load ×1  main>fit ×2          main 6
 *                                                                   ├ load 4 ── read 3
 *                                                                   └ fit 2
 *
 * groupBy puts one node per function, worker or span above the frames. left-heavy: the child with most samples first; time: the child that
 * was seen first. Beyond maxNodes the frames with fewest samples are left out, with everything below them; `dropped` says how many.
 * A question with `after` is answered by a page of the whole tree.
 */
export function* foldProfile(
  asked: FoldContext,
  params: ParamsOf<'profile'>
): Slices<{ readonly result: ProfileResult; readonly honoured: Honoured }> {
  const context =
    params.addresses === undefined ? asked : onWorkers(asked, params.addresses);
  const { log, moment } = context;
  const { wholeFrom } = log;
  const { firstRow } = log.samples;
  const end = Math.min(params.end ?? Infinity, moment.rows.samples);
  const root = newNode('all', '', 0);
  const tree = new StackTree(log, root, groupOf(log, params.groupBy ?? 'all'));
  const counted = new Map<number, number[]>();
  /** In the range, of all. */
  const looks = new Map<number, number>();
  const chunks = log.samples.rowsBefore(end);
  const lockShares = yield* lockSharesOf(context, chunks);
  let taken = 0;
  let hidden = 0;
  let seen = 0;
  for (const { columns: c, rows } of chunks) {
    for (let i = 0; i < rows; i++) {
      const n = c.n[i]!;
      const second = c.second[i]!;
      taken += second >= wholeFrom ? n : 0;
      const isInTime = timePasses(context, second);
      if (isInTime) {
        looks.set(second, (looks.get(second) ?? 0) + n);
      }
      if (!isInTime || !samplePasses(context, c, i)) {
        hidden += n;
        continue;
      }
      const state = c.state[i]!;
      const fn = c.function[i]!;
      const span = c.span[i]!;
      const gil =
        state === SampleState.Blocked
          ? n * (lockShares.get(cellKey(span, fn)) ?? 0)
          : 0;
      tree.add(c.stack[i]!, fn, c.lane[i]!, span, state, n, gil);
      const counts = counted.get(second) ?? [0, 0, 0, 0, 0];
      counts[Math.min(SampleState.Unknown, state)]! += n;
      counts[SampleState.Blocked]! -= gil;
      counts[LOCK]! += gil;
      counted.set(second, counts);
    }
    seen += rows;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  const order = params.order ?? 'left-heavy';
  const { nodes, dropped, page } =
    params.after === undefined
      ? largestNodes(log, root, order, params.maxNodes)
      : pageOfNodes(
          log,
          root,
          order,
          Math.max(0, Math.floor(params.after)),
          firstRow,
          end
        );
  const rateHz = rateOf(context, taken);
  const bySecond = inSteps(
    isOfDask(log) && rateHz !== null
      ? yield* looksByClock(context, counted, looks, rateHz)
      : counted
  );
  const seconds = [...bySecond.keys()].sort((a, b) => a - b);
  const unknown = seconds.map(second =>
    hundredths(bySecond.get(second)![SampleState.Unknown]!)
  );
  return {
    result: {
      view: 'profile',
      samples: root.n,
      hidden,
      rateHz,
      nodes,
      dropped,
      ...(page === undefined ? {} : { page }),
      activity: {
        seconds,
        onCore: seconds.map(
          second => bySecond.get(second)![SampleState.OnCore]!
        ),
        waiting: seconds.map(
          second => bySecond.get(second)![SampleState.Waiting]!
        ),
        gil: seconds.map(second => hundredths(bySecond.get(second)![LOCK]!)),
        blocked: seconds.map(second =>
          hundredths(bySecond.get(second)![SampleState.Blocked]!)
        ),
        ...(unknown.some(count => count > 0) ? { unknown } : {})
      }
    },
    honoured: honouredBy(
      'profile',
      isWhole(context) ? { ...context, time: 'all' } : context,
      isOfDask(log) && context.filter.bySpan ? ['samplesOfDask'] : []
    )
  };
}

/** Counts by second, or by the first of 2, 4, 8, … seconds. */
function inSteps(
  activity: ReadonlyMap<number, readonly number[]>
): ReadonlyMap<number, readonly number[]> {
  let shown = activity;
  for (let step = 2; shown.size > MOST_SECONDS; step *= 2) {
    const longer = new Map<number, number[]>();
    for (const [second, counts] of shown) {
      const first = second - (second % step);
      const sums = longer.get(first) ?? counts.map(() => 0);
      counts.forEach((count, state) => (sums[state]! += count));
      longer.set(first, sums);
    }
    shown = longer;
  }
  return shown;
}

/** By whole seconds a range is exact. */
function isWhole({ time }: FoldContext): boolean {
  return (
    time !== 'all' &&
    'from' in time &&
    Number.isInteger(time.from) &&
    Number.isInteger(time.to)
  );
}

/** What of `context` lies on the workers at these addresses. */
function onWorkers(
  context: FoldContext,
  addresses: readonly string[]
): FoldContext {
  const { log, filter } = context;
  const wanted = new Set(addresses);
  const workers = new Uint8Array(filter.workers.length);
  for (const worker of log.shape.workers.keys()) {
    workers[worker] = wanted.has(addressOf(log, worker))
      ? filter.workers[worker]!
      : 0;
  }
  const lanes: CompiledFilter['lanes'] = new Uint8Array(filter.lanes.length);
  for (const { lane, worker } of log.shape.lanes) {
    lanes[lane] = workers[worker] === 1 ? filter.lanes[lane]! : 0;
  }
  return { ...context, filter: { ...filter, workers, lanes, byWorker: true } };
}

/** Its name where it has no address, as a thread pool that is observed. */
function addressOf(log: LogStore, worker: number): string {
  const address = log.shape.workers.get(worker)?.address ?? '';
  return address === '' ? workerName(log, worker) : address;
}

/** As the source has written in the log's header; 0: it takes no samples. */
function sampleSecondsOf(log: LogStore): number {
  const given = log.header['sampleSeconds'];
  return typeof given === 'number' && given >= 0 ? given : SAMPLE_SECONDS;
}

const cellKey = (span: SpanId, fn: number): number => span * 0x100000000 + fn;
const hundredths = (value: number): number => Math.round(value * 100) / 100;

/**
 * What share of the samples off a core were for the interpreter lock, by span and function. The sampler cannot tell them from blocked ones;
 * how long it was in all is estimated once, for Fine Metrics, and taken from there:
 *
 *     samples of a cell    on core 50 │ waiting 10 │ blocked 40        Fine Metrics: gil 0.3 s = 30 samples
 *     shown                on core 50 │ waiting 10 │ gil 30 │ blocked 10
 */
function* lockSharesOf(
  context: FoldContext,
  chunks: ReturnType<LogStore['samples']['rowsBefore']>
): Slices<ReadonlyMap<number, number>> {
  const { log } = context;
  const shares = new Map<number, number>();
  // Neither samples nor estimates have a status.
  const filter: CompiledFilter = {
    ...context.filter,
    statuses: allStatuses(),
    byStatus: false
  };
  const blind = { ...context, filter };
  const waits = new LockWaits(log, yield* fineSums(blind));
  if (waits.isEmpty) {
    return shares;
  }
  const { held } = yield* fineCells(blind);
  const sampleSeconds = sampleSecondsOf(log) || SAMPLE_SECONDS;
  // (before the next break: the sums of the whole log go on)
  const waited = new Map<number, number>();
  for (let cell = 0; cell < held.length; cell++) {
    const ns = waits.nanoseconds(held, cell, GIL);
    if (ns > 0) {
      waited.set(cellKey(held.span(cell), held.function(cell)), ns);
    }
  }
  const blocked = new Map<number, number>();
  for (const { columns: c, rows } of chunks) {
    for (let i = 0; i < rows; i++) {
      if (
        c.state[i] === SampleState.Blocked &&
        timePasses(context, c.second[i]!) &&
        samplePasses(context, c, i)
      ) {
        const key = cellKey(c.span[i]!, c.function[i]!);
        blocked.set(key, (blocked.get(key) ?? 0) + c.n[i]!);
      }
    }
    yield;
  }
  for (const [key, ns] of waited) {
    const samples = blocked.get(key) ?? 0;
    if (samples > 0) {
      shares.set(key, Math.min(1, ns / 1e9 / sampleSeconds / samples));
    }
  }
  return shares;
}

type SampleColumns = LogStore['samples']['chunks'][number]['columns'];

function timePasses(context: FoldContext, second: number): boolean {
  if (context.time === 'all') {
    return true;
  }
  const { from, to } = resolveRange(context);
  return second + 1 > from && second < to;
}

/** Whatever its second is. */
function samplePasses(
  { filter }: FoldContext,
  c: SampleColumns,
  i: number
): boolean {
  return (
    filter.spans[c.span[i]!] === 1 &&
    filter.lanes[c.lane[i]!] === 1 &&
    passesFunction(filter, c.function[i]!)
  );
}

/**
 * How many samples are a second of a thread; null: that is not known.
 *
 * Workers weigh their samples: each stands for the interval that is set, however rare looks are. By what the threads worked in all it must
 * not be reckoned: runs have time in which no task has the thread, as while inputs come, and tasks that have none would get a part of it.
 * Of Dask's samples, which are looks, and fewer than are due where an event loop is busy, nothing else is known than how many there are in
 * the time that was worked.
 */
function rateOf(context: FoldContext, taken: number): number | null {
  if (!isOfDask(context.log)) {
    const sampleSeconds = sampleSecondsOf(context.log);
    return sampleSeconds > 0 ? 1 / sampleSeconds : null;
  }
  const workSeconds = workSecondsOf(context);
  return workSeconds >= 1 && taken > 0 ? taken / workSeconds : null;
}

function isOfDask(log: LogStore): boolean {
  return log.header['kind'] === 'dask';
}

/** How long threads worked while they were watched. Of less than a second it says little. */
function workSecondsOf({ log, now, moment }: FoldContext): number {
  let seconds = (log.totalNanoseconds - log.earlyNanoseconds) / 1e9;
  for (const running of moment.running.values()) {
    seconds += Math.max(0, now - Math.max(running.started, log.wholeFrom));
  }
  return seconds;
}

type Group = (fn: number, lane: LaneId, span: SpanId) => string | null;

function groupOf(log: LogStore, groupBy: string): Group {
  switch (groupBy) {
    case 'function':
      return fn => log.name(fn);
    case 'worker':
      return (_fn, lane) => {
        const row = log.shape.lanes[log.shape.laneIndex(lane)];
        return workerName(log, row?.worker ?? 0);
      };
    case 'address':
      return (_fn, lane) =>
        addressOf(log, log.shape.lanes[log.shape.laneIndex(lane)]?.worker ?? 0);
    case 'span':
      return (_fn, _lane, span) => log.spans.nameOf(span).join(' › ');
    default:
      return () => null;
  }
}

class StackTree {
  /** Frames from the outermost in, by stack id: many samples share few stacks. */
  private readonly _paths = new Map<number, readonly number[]>();
  /** Each worker numbers frames for itself: the same place in the code is one frame here, the first that was met. */
  private readonly _places = new Map<string, number>();

  constructor(
    private readonly _log: LogStore,
    private readonly _root: Node,
    private readonly _group: Group
  ) {}

  add(
    stack: number,
    fn: number,
    lane: LaneId,
    span: SpanId,
    state: number,
    n: number,
    gil: number
  ): void {
    let node = this._root;
    count(node, state, n, gil);
    const group = this._group(fn, lane, span);
    if (group !== null) {
      node = childOf(node, group, () => newNode(group, '', 0));
      count(node, state, n, gil);
    }
    for (const frame of this._path(stack)) {
      node = childOf(node, frame, () => frameNode(this._log, frame));
      count(node, state, n, gil);
    }
  }

  private _path(stack: number): readonly number[] {
    const known = this._paths.get(stack);
    if (known !== undefined) {
      return known;
    }
    const path = framesOf(this._log, stack)
      .map(frame => this._place(frame))
      .reverse();
    this._paths.set(stack, path);
    return path;
  }

  private _place(frame: number): number {
    const row = this._log.frameRows.get(frame);
    const columns = this._log.frames.chunkOf(row)?.columns;
    if (row < 0 || columns === undefined) {
      return frame;
    }
    const i = row & CHUNK_MASK;
    const place = `${columns.function[i]!}/${columns.file[i]!}/${columns.line[i]!}`;
    const first = this._places.get(place);
    if (first === undefined) {
      this._places.set(place, frame);
      return frame;
    }
    return first;
  }
}

function newNode(name: string, file: string, line: number): Node {
  return {
    name,
    file,
    line,
    n: 0,
    onCore: 0,
    waiting: 0,
    gil: 0,
    blocked: 0,
    children: new Map()
  };
}

function frameNode(log: LogStore, frame: number): Node {
  const row = log.frameRows.get(frame);
  const columns = log.frames.chunkOf(row)?.columns;
  if (row < 0 || columns === undefined) {
    return newNode(`#${frame}`, '', 0);
  }
  const i = row & CHUNK_MASK;
  return newNode(
    log.name(columns.function[i]!),
    log.name(columns.file[i]!),
    columns.line[i]!
  );
}

function childOf(node: Node, key: number | string, make: () => Node): Node {
  let child = node.children.get(key);
  if (child === undefined) {
    child = make();
    node.children.set(key, child);
  }
  return child;
}

function count(node: Node, state: number, n: number, gil: number): void {
  node.n += n;
  if (state === SampleState.OnCore) {
    node.onCore += n;
  } else if (state === SampleState.Waiting) {
    node.waiting += n;
  } else if (state === SampleState.Blocked) {
    node.blocked += n - gil;
    node.gil += gil;
  }
}

type Listed = Pick<ProfileResult, 'nodes' | 'dropped' | 'page'>;

/** As many as are asked for and fit in one message. */
function largestNodes(
  log: LogStore,
  root: Node,
  order: string,
  maxNodes = MOST_NODES
): Listed {
  let most = Math.min(MOST_NODES, Math.max(1, maxNodes));
  let listed = listNodes(log, root, order, most);
  while (textLength(listed.nodes) > MOST_TEXT && most > 1) {
    most >>= 1;
    listed = listNodes(log, root, order, most);
  }
  return listed;
}

/** The nodes from `after` on that fit in one message, at least one. */
function pageOfNodes(
  log: LogStore,
  root: Node,
  order: string,
  after: number,
  first: number,
  end: number
): Listed {
  const { nodes, dropped } = listNodes(log, root, order, Infinity);
  const { length } = nodes.parent;
  let to = after;
  let text = 0;
  while (to < length && to < after + MOST_NODES && text < MOST_PAGE_TEXT) {
    text += nodes.name[to]!.length + nodes.file[to]!.length;
    to += 1;
  }
  const part = <T>(column: readonly T[]) => column.slice(after, to);
  return {
    nodes: {
      parent: part(nodes.parent),
      name: part(nodes.name),
      file: part(nodes.file),
      line: part(nodes.line),
      n: part(nodes.n),
      onCore: part(nodes.onCore),
      waiting: part(nodes.waiting),
      gil: part(nodes.gil),
      blocked: part(nodes.blocked),
      slot: part(nodes.slot)
    },
    dropped,
    page: {
      next: to < length ? to : null,
      first,
      end,
      sampleSeconds: sampleSecondsOf(log)
    }
  };
}

/** Depth first, parents before children; node 0 is the root. */
function listNodes(
  log: LogStore,
  root: Node,
  order: string,
  most: number
): Omit<Listed, 'page'> {
  const least = leastSamples(root, most);
  let { room } = least;
  const nodes = {
    parent: [] as number[],
    name: [] as string[],
    file: [] as string[],
    line: [] as number[],
    n: [] as number[],
    onCore: [] as number[],
    waiting: [] as number[],
    gil: [] as number[],
    blocked: [] as number[],
    slot: [] as number[]
  };
  let dropped = 0;
  const visit = (node: Node, parent: number): void => {
    const own = nodes.parent.length;
    const isLeast = node.n === least.samples;
    if (own > 0 && (node.n < least.samples || (isLeast && room === 0))) {
      dropped += 1;
      return;
    }
    room -= isLeast ? 1 : 0;
    nodes.parent.push(parent);
    nodes.name.push(node.name);
    nodes.file.push(node.file);
    nodes.line.push(node.line);
    nodes.n.push(node.n);
    nodes.onCore.push(node.onCore);
    nodes.waiting.push(node.waiting);
    nodes.gil.push(hundredths(node.gil));
    nodes.blocked.push(hundredths(node.blocked));
    nodes.slot.push(log.fileSlots.slotOf(node.file));
    const children = [...node.children.values()];
    if (order !== 'time') {
      children.sort((a, b) => b.n - a.n || (a.name < b.name ? -1 : 1));
    }
    for (const child of children) {
      visit(child, own);
    }
  };
  visit(root, -1);
  return { nodes, dropped };
}

function textLength(nodes: ProfileResult['nodes']): number {
  return [...nodes.name, ...nodes.file].reduce(
    (length, text) => length + text.length,
    0
  );
}

/**
 * How many samples a frame must have so that at most `most` frames do, and how many of those with just as many have room beside the larger
 * ones. A frame has at least as many as each of its children.
 */
function leastSamples(
  root: Node,
  most: number
): { readonly samples: number; readonly room: number } {
  const counts: number[] = [];
  const collect = (node: Node): void => {
    counts.push(node.n);
    for (const child of node.children.values()) {
      collect(child);
    }
  };
  collect(root);
  if (counts.length <= most) {
    return { samples: 0, room: Infinity };
  }
  counts.sort((a, b) => b - a);
  const samples = counts[most - 1]!;
  return { samples, room: most - counts.indexOf(samples) };
}
