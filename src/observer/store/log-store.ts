import type { IndexedBy } from '../../base/typed-arrays';
import type { LaneId, LaneIndex } from '../../records/ids';
import { OpenIntervals } from './open-intervals';
import { BoundedMap } from '../../base/bounded-map';
import { NumberSet } from '../../base/number-set';
import { NONE_U32 } from '../../records/enumerations';
import { IntervalUnion } from './interval-union';
import { ActivityCells } from './activity-cells';
import { ClusterClients } from './cluster-clients';
import { ClusterShape } from './cluster-shape';
import { CHUNK_MASK, CHUNK_ROWS, ColumnTable } from './column-table';
import { DurationClasses, ZonedRows } from './duration-classes';
import { FineSums } from './fine-sums';
import { FunctionSeconds } from './function-seconds';
import { GivenUpTimes } from './given-up-times';
import { IdIndex } from './id-index';
import { InferredTime } from './inferred-time';
import { type MeterFigure, MeterSums } from './meter-sums';
import { NameSketch } from './name-sketch';
import { RetiredCells } from './retired-cells';
import type { PartFigures } from './run-book';
import { SpanFigures } from './span-figures';
import { SpanSlots } from './span-slots';
import { ToldProgress } from './told-progress';
import { SpanTree } from './span-tree';
import type { StoreBounds } from './store-bounds';
import { FileSlots } from '../file-slots';
import { FunctionSlots } from '../function-slots';
import { type BesideLane, OVERLAPPING_FROM } from '../../records/beside-lanes';
import type { Row } from '../../records/block';
import { TABLES, type TableName } from '../../records/tables';

/** status column of a run that a later row of the same run replaced; never in a log. */
export const STATUS_REPLACED = 255;
/** In seconds: without any task for so long, work has paused, and what comes next is looked at by itself. As in Dask's live stream. */
export const LONG_PAUSE = 5;
/** 1 MiB, of eight million tasks in a row: if one fails again that was forgotten, it counts as two. */
const MOST_FAILED_PAGES = 8192;

type GapRow = {
  readonly table: number;
  from: number;
  to: number;
  rows: number;
  readonly why: string;
};
/** A Dask scheduler that its viewer cannot reach, or that answers nothing of use. */
export type Outage = {
  /** When it did last. */
  readonly since: number;
  /** Half a sentence. */
  readonly because: string;
  /** How long it is asked. */
  readonly until: number;
  readonly hasAnswered: boolean;
};
export type MemoryRunRow = {
  readonly run: number;
  readonly measure: string;
  readonly interval: number;
  readonly start: number;
  /** NaN while it runs. */
  readonly stopped: number;
  readonly label: string;
};

/**
 * Everything the observer knows of one log: the tables, and what is kept up to date row by row because every question needs it (indices,
 * exact totals, the extent in time). Filled by {@link ingestBlock}; read by the folds. Holds no clock: `now` is the newest time that any row
 * told.
 */
export class LogStore {
  readonly nodes: ColumnTable<'nodes'>;
  readonly edges: ColumnTable<'edges'>;
  readonly runs: ColumnTable<'runs'>;
  /** previous: 1 + the row of the run's part before this one (0: none). runRow: 1 + the row of the run (0: it is not here yet). */
  readonly parts: ColumnTable<'parts', { previous: 'u32'; runRow: 'u32' }>;
  readonly fine: ColumnTable<'fine'>;
  /** previous: 1 + the row before this one of the same run (0: none). */
  readonly meters: ColumnTable<'meters', { previous: 'u32' }>;
  readonly totals: ColumnTable<'totals'>;
  readonly stacks: ColumnTable<'stacks'>;
  readonly frames: ColumnTable<'frames'>;
  readonly samples: ColumnTable<'samples'>;
  readonly memory: ColumnTable<'memory'>;
  readonly stored: ColumnTable<'stored'>;
  readonly memorySamples: ColumnTable<'memorySamples'>;
  readonly transfers: ColumnTable<'transfers'>;
  readonly system: ColumnTable<'system'>;
  readonly events: ColumnTable<'events'>;

  readonly names = new Map<number, string>();
  /** Names of groups: the only kind of name that every graph adds to. */
  readonly groupNames = new Set<number>();
  /** Grows when a name comes or goes. */
  namesVersion = 0;
  /** How many runs there were when all names were last found to be in use; −1: never. */
  namesSpared = -1;
  /** The store's own numbers of spans: what its columns, figures and filters hold. */
  readonly spanSlots = new SpanSlots();
  readonly spans = new SpanTree(number => this.spanSlots.find(number));
  /** So many spans have rows of their own; beyond, finished ones are folded. */
  readonly mostSpans: number;
  /** At so many, folding is tried. */
  foldSpansAt: number;
  /** How often some were folded: a question that counts rows before and after it mixes two divisions. */
  spanFolds = 0;
  readonly clients = new ClusterClients();
  /** Worker → the newest of what it adds to its clock. */
  readonly clocks = new Map<number, Row<'clocks'>>();
  readonly shape = new ClusterShape();
  readonly givenUp = new GivenUpTimes();
  readonly memoryRuns = new BoundedMap<number, MemoryRunRow>(
    TABLES.memoryRuns.bound.rows
  );
  readonly gaps: GapRow[] = [];
  header: Readonly<Record<string, unknown>> = {};

  readonly nodeRows: IdIndex;
  readonly runRows: IdIndex;
  /** Run id → its newest part row. */
  readonly lastParts: IdIndex;
  /** Run id → its newest row of `meters`. */
  readonly lastMeters: IdIndex;
  /** Runs of fused tasks, by their last part that computes: those that consist of several executions. */
  readonly fusedRuns: IdIndex;
  /** Run id → the row of `events` that says how it failed. */
  readonly failureRows: IdIndex;
  /** Workers that were lost and did not leave in order. The rows of `events` that say so are dropped first. */
  readonly lostWorkers = new Set<number>();
  /** Those of which a run has failed. */
  readonly failedNodes = new NumberSet(MOST_FAILED_PAGES);
  /** Worker → the row of `events` that says why it paused last. */
  readonly pauseRows = new Map<number, number>();
  readonly stackRows: IdIndex;
  readonly frameRows: IdIndex;

  /** Colours of functions, and of the files of profile frames. */
  readonly slots: FunctionSlots;
  readonly functionSeconds: FunctionSeconds;
  readonly fileSlots = new FileSlots();
  /** Of the names of functions that ran. */
  readonly functionSketch = new NameSketch();
  readonly figures = new SpanFigures();
  /** Of clusters that assign spans themselves (`hasGivenSpans`). */
  readonly inferredTime = new InferredTime();
  /** Time that held threads; never forgets a run, so totals stay exact when rows are dropped. */
  readonly held = new ActivityCells((_span, fn) => {
    const name = this.name(fn);
    this.slots.meet(name);
    if (fn !== NONE_U32) {
      this.functionSketch.add(name);
    }
  });
  /** Time of parts behind other work. */
  readonly background = new ActivityCells();
  /** What rows of `fine` add up to; never forgets a row either. */
  readonly fineSums = new FineSums();
  /** The same of `meters`. */
  readonly meterSums = new MeterSums();
  /** Σ of all runs' durations in whole nanoseconds, added up apart from `held`. */
  totalNanoseconds = 0;
  /** Σ of the seconds of tasks that the cluster itself tells (`hasTaskSums`). */
  toldSeconds = 0;
  /** Of that, what lies before {@link wholeFrom}. */
  earlyNanoseconds = 0;
  runCount = 0;

  readonly runZones = new ZonedRows();
  readonly runClasses = new DurationClasses();
  /** Parts that are drawn. A compute part of the run's own function and span is left out: the run's box shows it. */
  readonly partClasses = new DurationClasses();
  /** What the task stream still shows of dropped runs. */
  readonly retired = new RetiredCells();
  /** When some task was submitted and not finished. */
  readonly active: IntervalUnion;
  /** When some task ran, each time with the {@link LONG_PAUSE} after it: between two stretches of work is a pause as long as that, or longer. */
  readonly stretches: IntervalUnion;
  /** How far tasks are, as the source tells. */
  readonly progress = new ToldProgress();
  /** When some task had its inputs and waited for a thread. */
  readonly waiting: IntervalUnion;
  /** When some task had its inputs and no worker was there that may run it. */
  readonly unplaced: OpenIntervals;
  /** Per lane index: where its newest run stopped, and whether runs came out of order or overlap. */
  readonly laneStops: IndexedBy<LaneIndex, number[]> = [];
  readonly laneDisorder: IndexedBy<LaneIndex, boolean[]> = [];
  /** 1: a lane of what has seceded; and the rows of the runs there. */
  readonly besideLanes: IndexedBy<LaneId, Uint8Array> = new Uint8Array(65536);
  besideRows: number[] = [];

  /** Blocks taken in, by table: tells whether the rows that a view looks at have changed. */
  readonly blocks = new Map<TableName, number>();
  /** Newest block that is in. */
  seq = 0;
  /** Newest time that any row told. */
  now = 0;
  firstStart = Infinity;
  lastStop = -Infinity;
  firstSubmitted = Infinity;
  /** Runs dropped, and the time before which they lie. */
  droppedRuns = 0;
  droppedBefore = -Infinity;
  /** Runs that the source could no longer send, and the time before which rows are missing; −∞: none are. */
  lostRuns = 0;
  lostBefore = -Infinity;
  /** Nobody watched in stretches of this range: what ran there is not known. */
  unwatched: { from: number; to: number } | null = null;
  /** Changes of sums that the viewer of a Dask cluster had no room for, and since when. */
  lostSums: { rows: number; from: number } | null = null;
  /** Null: it answers, or there is none. */
  outage: Outage | null = null;
  /** Counts rows that arrived for a stretch of time after it was declared settled. */
  lateRows = 0;
  /** The block that brought the newest such row: tiles made before it may lack rows. */
  lateSeq = 0;
  private _settledBefore = -Infinity;

  constructor(
    readonly logId: string,
    bounds: StoreBounds = {},
    slotsBefore: FunctionSlots | null = null
  ) {
    this.slots = new FunctionSlots(slotsBefore);
    this.functionSeconds = new FunctionSeconds(this.slots);
    const table = <T extends keyof StoreBounds & TableName>(
      name: T,
      changing: readonly string[] = []
    ): ColumnTable<T> => new ColumnTable(name, {}, bounds[name], changing);
    this.mostSpans = bounds.spans ?? TABLES.spans.bound.rows;
    this.foldSpansAt = this.mostSpans;
    this.nodes = table('nodes');
    this.edges = table('edges');
    // (a run that a later row replaces)
    this.runs = table('runs', ['status']);
    this.parts = new ColumnTable(
      'parts',
      { previous: 'u32', runRow: 'u32' },
      bounds.parts
    );
    this.fine = table('fine');
    this.meters = new ColumnTable('meters', { previous: 'u32' }, bounds.meters);
    this.totals = table('totals');
    this.stacks = table('stacks');
    this.frames = table('frames');
    this.samples = table('samples');
    this.memory = table('memory');
    this.stored = table('stored');
    this.memorySamples = table('memorySamples');
    this.transfers = table('transfers');
    this.system = table('system');
    this.events = table('events');
    // Each run has one at most: once there are more, idle time is approximate, for the oldest runs are gone.
    const intervals = this.runs.bound + CHUNK_ROWS;
    this.active = new IntervalUnion(intervals);
    this.stretches = new IntervalUnion(intervals);
    this.waiting = new IntervalUnion(intervals);
    this.unplaced = new OpenIntervals(TABLES.unplaced.bound.rows);
    const index = (): IdIndex => new IdIndex(bounds.pages);
    this.nodeRows = index();
    this.runRows = index();
    this.lastParts = index();
    this.lastMeters = index();
    this.fusedRuns = index();
    this.failureRows = index();
    this.stackRows = index();
    this.frameRows = index();
  }

  /** The first whole second that was watched: of what was before, a source may tell samples and not the runs that they are of. */
  get wholeFrom(): number {
    const { attached } = this.header;
    return typeof attached === 'number' && attached > 0
      ? Math.ceil(attached)
      : 0;
  }

  /** The cluster itself tells what it adds up of its tasks: rows of `fine` have all that the runs would be added up to. */
  get hasTaskSums(): boolean {
    return this._capabilities?.['taskSums'] === true;
  }

  /** Tasks are in the spans that Dask gave them, which may be others than those that they were written in. */
  get hasGivenSpans(): boolean {
    return this.header['kind'] === 'dask';
  }

  /** The tables whose rows are of spans. */
  get tablesBySpan(): readonly { foldSpans(by: Uint16Array): void }[] {
    return [
      this.nodes,
      this.runs,
      this.parts,
      this.fine,
      this.meters,
      this.totals,
      this.samples,
      this.stored,
      this.transfers,
      this.events
    ];
  }

  /** A Dask scheduler may not tell in which spans its tasks are. */
  get knowsSpans(): boolean {
    return this._capabilities?.['spans'] !== false;
  }

  /**
   * Of a lane that is of no thread: what it is, and its place. Our own workers number lanes of tasks that have seceded after their threads. Of a
   * Dask cluster which lanes these are is not known: a worker there starts another thread in place of one that was given away.
   */
  besideOf({
    worker,
    thread
  }: {
    readonly worker: number;
    readonly thread: number;
  }): BesideLane | undefined {
    if (this.header['kind'] === 'embedded') {
      const threads = this.shape.workers.get(worker)?.threads ?? Infinity;
      return thread < threads ? undefined : ['seceded', thread - threads + 1];
    }
    const overlaps =
      this._capabilities?.['overlapping'] === true &&
      thread >= OVERLAPPING_FROM;
    return overlaps
      ? ['overlapping', thread - OVERLAPPING_FROM + 1]
      : undefined;
  }

  private get _capabilities():
    | Readonly<Record<string, unknown>>
    | null
    | undefined {
    return this.header['capabilities'] as
      | Readonly<Record<string, unknown>>
      | null
      | undefined;
  }

  name(id: number): string {
    const isOther =
      id === NONE_U32 || this.names.size >= TABLES.names.bound.rows;
    return this.names.get(id) ?? (isOther ? 'other' : `#${id}`);
  }

  /** Key text of a node. */
  key(node: number): string {
    const row = this.nodeRows.get(node);
    const chunk = row < 0 ? undefined : this.nodes.chunkOf(row);
    return chunk === undefined
      ? `#${node}`
      : this.name(chunk.columns.group[row & CHUNK_MASK]!) +
          this.nodes.text('suffix', row);
  }

  /** Part rows of a run, oldest first; those before `end`. */
  partRows(run: number, end = Infinity): number[] {
    const rows: number[] = [];
    let row = this.lastParts.get(run);
    while (row >= 0) {
      const chunk = this.parts.chunkOf(row);
      if (chunk === undefined) {
        break;
      }
      if (row < end) {
        rows.push(row);
      }
      row = chunk.columns.previous[row & CHUNK_MASK]! - 1;
    }
    return rows.reverse();
  }

  part(row: number): PartFigures {
    const columns = this.parts.chunkOf(row)!.columns;
    const i = row & CHUNK_MASK;
    return {
      kind: columns.kind[i]!,
      held: columns.held[i] === 1,
      function: columns.function[i]!,
      span: columns.span[i]!,
      offset: columns.offset[i]!,
      duration: columns.duration[i]!,
      cpu: columns.cpu[i]!,
      coreWait: columns.coreWait[i]!
    };
  }

  /** What a run has measured itself, the newest first; the rows before `end`. */
  *metersOf(run: number, end = Infinity): Generator<MeterFigure> {
    for (let row = this.lastMeters.get(run); this.meters.has(row);) {
      const { columns } = this.meters.chunkOf(row)!;
      const i = row & CHUNK_MASK;
      if (row < end) {
        yield {
          label: columns.label[i]!,
          unit: columns.unit[i]!,
          span: columns.span[i]!,
          function: columns.function[i]!,
          value: columns.value[i]!,
          cpu: columns.cpu[i]!
        };
      }
      row = columns.previous[i]! - 1;
    }
  }

  addGap(gap: GapRow): void {
    const last = this.gaps[this.gaps.length - 1];
    if (
      last !== undefined &&
      last.table === gap.table &&
      last.why === gap.why
    ) {
      last.from = Math.min(last.from, gap.from);
      last.to = Math.max(last.to, gap.to);
      last.rows += gap.rows;
    } else if (this.gaps.length < 10_000) {
      this.gaps.push(gap);
    } else {
      last!.rows += gap.rows;
    }
  }

  /**
   * Rows that were dropped at a table's bound: one gap per table and reason, however often it happens.
   *
   * @param to - no row that was dropped is newer.
   */
  noteDropped(name: TableName, rows: number, to: number, why: string): void {
    const table = TABLES[name].number;
    const gap = this.gaps.find(gap => gap.table === table && gap.why === why);
    if (gap === undefined) {
      this.addGap({ table, from: 0, to, rows, why });
    } else {
      gap.to = to;
      gap.rows += rows;
    }
  }

  /**
   * Nothing before this time will change: all workers that could still report a run there have reported.
   *
   * A running task will report from its start on; a task that started and ended since the newest reports is at most `slackSeconds` old
   * (workers report every 50 to 100 ms, and say what runs at least once a second). A row that comes later all the same counts in
   * `lateRows` and moves the mark back.
   */
  settledBefore(ended: boolean, slackSeconds = 2): number {
    if (ended) {
      this._settledBefore = Infinity;
      return Infinity;
    }
    let before = this.now - slackSeconds;
    for (const running of this.shape.running.values()) {
      before = Math.min(before, running.started);
    }
    this._settledBefore = Math.max(this._settledBefore, before);
    return this._settledBefore;
  }

  /** The log seemed to have ended and goes on: tiles that its end settled are not settled any more. */
  reopen(): void {
    if (this._settledBefore === Infinity) {
      this._settledBefore = -Infinity;
      this.lateRows++;
      this.lateSeq = this.seq + 1;
    }
  }

  /** Called for every run that comes in. */
  noteTime(start: number, stop: number): void {
    if (start < this.firstStart) {
      this.firstStart = start;
    }
    if (stop > this.lastStop) {
      this.lastStop = stop;
    }
    if (stop > this.now) {
      this.now = stop;
    }
    if (start < this._settledBefore) {
      this.lateRows++;
      this.lateSeq = this.seq;
      this._settledBefore = start;
    }
  }

  /** Bytes of the tables and of what is kept of dropped runs, for the budget of the whole observer. */
  get nbytes(): number {
    return [
      this.nodes,
      this.edges,
      this.runs,
      this.parts,
      this.fine,
      this.meters,
      this.totals,
      this.stacks,
      this.frames,
      this.samples,
      this.memory,
      this.stored,
      this.memorySamples,
      this.transfers,
      this.system,
      this.events
    ].reduce((sum, table) => sum + table.nbytes, this.retired.nbytes);
  }
}
