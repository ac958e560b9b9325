/**
 * Panel link (role `panel`): what a viewer (a browser page through the relay, or the Python client) and the observer say to each other;
 * limits in docs/contracts.md §7. camelCase throughout. A viewer's requests are checked field by field (the observer must stand anything),
 * an observer's answers only where the browser routes them: what their maps hold is typed here, and believed.
 *
 * The viewer keeps the selection; the observer is stateless but for caches. A hidden panel has no watch.
 */
import * as v from 'valibot';
import { u16Of } from '../base/typed-arrays';
import type { BesideLane } from '../records/beside-lanes';
import type { Row } from '../records/block';
import {
  FILTERED_STATUSES,
  LARGEST_U16,
  type RunStatus,
  type SpanOrigin,
  type TaskOrigin,
  type WaitReason,
  type WordOf
} from '../records/enumerations';
import type { LaneIndex } from '../records/ids';
import {
  type ArraysOf,
  count,
  flag,
  map,
  message,
  type ReadOnly,
  seconds,
  text,
  u16,
  u32
} from './describe';

/**
 * A span is named by its path of tags from the root, so that a filter survives reloads, reruns and other clusters. `tag` matches a tag at any
 * depth.
 */
const path = v.array(text);
/** Whose: the path of a notebook, or the name of another program; left out: anybody's. With it the path may be empty: all that is its. */
const client = v.optional(text);
/** Only the span of this id: what `with span(…) as id` gave a program, or the `id` of a row. Ids are of one log. */
const id = v.optional(text);
/**
 * The viewer's number for what a watch asks now: larger with each change. Answers carry the number of the question that they answer, for one
 * may be on its way when the question changes. 0: a viewer that does not number its questions.
 */
const question = v.optional(u32, 0);
/** Left out by an observer of before: then nothing tells which question it is. */
const answered = v.optional(u32);
/** What panels call the span of that id among those of its path, as "[7] · 14:03:12". The observer makes nothing of it. */
const pass = v.optional(text);
const term = v.union([
  v.object({ path, client, id, pass }),
  v.object({ tag: text, client })
]);
const terms = v.optional(v.array(term));

const filter = v.object({
  /** any: in at least one of these subtrees; all: in every one; not: in none. */
  spans: v.optional(v.object({ any: terms, all: terms, not: terms })),
  functions: v.optional(v.array(text)),
  notFunctions: v.optional(v.array(text)),
  workers: v.optional(v.array(v.number())),
  status: v.optional(v.array(v.picklist(FILTERED_STATUSES)))
});
/** Seconds since the cluster's start. */
const time = v.union([
  v.literal('all'),
  v.object({ from: seconds, to: seconds }),
  v.object({ last: seconds })
]);
const view = v.picklist([
  'spans',
  'task-stream',
  'tasks',
  'records',
  'fine-metrics',
  'profile',
  'memory',
  'summary',
  'transfers',
  'system',
  'progress'
  // Names that are promised: own-profile, logs.
]);

/** A map whose content the receiver does not check. */
const mapOf = <T extends object>() =>
  map as unknown as v.GenericSchema<Readonly<Record<string, unknown>>, T>;

/** Watches of one viewer. A page shows a dozen panels; one that asks for more watches is told so. */
export const MOST_WATCHES = 256;

export const PANEL_LINK = {
  up: {
    /**
     * A watch is kept until `unwatch`, whatever its answer is, and answered again when its cluster comes or begins a new history. A query
     * is kept until its one answer. Watches beyond MOST_WATCHES are not kept.
     */
    watch: message({
      id: u32,
      question,
      cluster: text,
      view,
      filter: v.optional(filter, {}),
      time: v.optional(time, 'all'),
      params: v.optional(map, {}),
      /** The most answers a second; 4 if left out; 0: answer once (a query). */
      maxHz: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(60))),
      /** The viewer was told of the cluster: the watch waits up to 10 s for one that the observer does not know. Its source may be about to reconnect. */
      expected: v.optional(flag, false),
      /**
       * As long as the watch is kept, `clusters` tell of each how many functions it has in common with the watch's, whatever the view is: who
       * does not compare runs is not sent it.
       */
      sharedFunctions: v.optional(flag, false),
      /** With a query: answer only after the blocks up to this seq of the log are in (10 s limit, then `failure`). */
      afterSeq: v.optional(count)
    }),
    /**
     * New time or params for a watch; answered by a snapshot, unless the question and its number are the same as before. Fields that are left
     * out stay as they are. A question that is too long, at first or after a change, is answered by `failure`, and by nothing more until the next
     * change, which is answered in any case.
     */
    change: message({
      id: u32,
      question,
      time: v.optional(time),
      params: v.optional(map)
    }),
    /**
     * Map tiles of the task stream for watch `id` (its filter applies). Level L: cells of 2^L microseconds, 512 cells per tile; tile i covers
     * [i, i+1) * 512 * 2^L µs since the cluster's start. Lanes are those of the last task-stream snapshot (`lanes` index order). None is made
     * while the watch's cluster is not here, or its first question is too long: ask again after the snapshot.
     */
    tiles: message({
      id: u32,
      level: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60)),
      first: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(Number.MIN_SAFE_INTEGER),
        v.maxValue(Number.MAX_SAFE_INTEGER)
      ),
      count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(64)),
      /**
       * Workers in the order of their numbers, so many in a group; 0: they are not grouped. `group`: the tile has its lanes alone; −1: it has a
       * row for each group, `laneIndex` is the group's number, and `cover` the share of its threads.
       */
      groupSize: v.optional(u16, 0),
      group: v.optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(-1),
          v.maxValue(LARGEST_U16)
        ),
        -1
      )
    }),
    /** One run with all details: answered by `detail`. */
    detail: message({ request: u32, cluster: text, run: u32 }),
    ack: message({ id: u32, seq: count }),
    unwatch: message({ id: u32 })
  },
  down: {
    /** Pushed at once after welcome and on every change (≤ 2 Hz). */
    clusters: message({ clusters: v.array(mapOf<ClusterInfo>()) }),
    /** The whole answer of a view; `seq` counts the answers of this watch, `logSeq` is the newest block folded in. Answered by `ack`. */
    snapshot: message({
      id: u32,
      question: answered,
      seq: count,
      logId: text,
      logSeq: count,
      honoured: mapOf<Honoured>(),
      result: mapOf<ViewResult>()
    }),
    /**
     * `settled`: nothing in this tile will change any more, unless rows come late (`lateSeq` of the task stream). One row a box, in drawing
     * order; neighbouring cells of one colour and nearly one cover are one box. Under a filter by span or function, a fused task is not
     * drawn: its matching compute parts are, tasks = 1 each. Failed and lost runs of less than a cell are in it once more, last: cells have the
     * colour of what took most.
     */
    tile: message(
      {
        id: u32,
        level: v.number(),
        index: v.number(),
        settled: flag,
        logSeq: count,
        groupSize: v.optional(u16, 0),
        group: v.optional(v.number(), -1),
        functions: v.optional(v.array(text), [])
      },
      {
        boxes: {
          /** Into the lanes of the last `task-stream` snapshot. */
          laneIndex: u16Of<LaneIndex>(),
          /** In cells of 2^level µs since the tile's left border, 0…512; both may lie outside. */
          from: 'f32',
          to: 'f32',
          /** Into the header's `functions`; none: no one function (an aggregate of a kind other than compute, failed runs of several). */
          function: 'u16',
          /** `BoxKind` */
          kind: 'u8',
          /** 1: behind other work, drawn in the lane's lower 26 %. */
          strip: 'u8',
          /** 255: one exact box, or with `tasks` > 1 as many failed runs, which begin in these cells; less: the share of the cells that the tasks of an aggregate cover. */
          cover: 'u8',
          /** none: an aggregate, several failed runs, or one of which only a count is left */
          run: 'u32',
          /** 0: a part, which lies over (or, with `strip`, behind) the box of its run. */
          tasks: 'u32'
        }
      }
    ),
    detail: message({ request: u32, run: v.nullable(mapOf<RunDetail>()) }),
    /** Why a question has no answer. `tiles`: some tiles have not been made; the watch itself is answered all the same. */
    failure: message({
      id: u32,
      /** Tiles are of no one question. */
      question: answered,
      sentence: text,
      tiles: v.optional(flag, false)
    }),
    /** Answered by the relay when there is no observer to pump to, and by the observer on refusal. */
    state: message({
      state: v.picklist(['no-observer', 'no-node', 'version', 'refused']),
      sentence: text
    })
  }
} as const;

type Read<S extends v.GenericSchema> = ReadOnly<v.InferOutput<S>>;
export type SpanPath = Read<typeof path>;
export type SpanTerm = Read<typeof term>;
export type Filter = Read<typeof filter>;
export type TimeRange = Read<typeof time>;
export type ViewName = Read<typeof view>;
type TileMessage = (typeof PANEL_LINK)['down']['tile'];
/** What is said of a tile as a whole. */
export type TileHeader = Omit<
  Read<TileMessage['fields']>,
  'id' | 'groupSize' | 'group'
>;
/** A tile's boxes. */
export type TileColumns = ArraysOf<TileMessage['tables']['boxes']>;
/** The whole answer of a view. */
export type Snapshot = { readonly type: 'snapshot' } & Read<
  (typeof PANEL_LINK)['down']['snapshot']['fields']
>;

// ---------------------------------------------------------------- what the maps hold

export type ClusterState = 'starting' | 'running' | 'reconnecting' | 'ended';
/** The id that stands in for clusters that were turned away: a sentence, no cluster. */
export const REFUSED_CLUSTER = 'refused';
export type ClusterInfo = {
  readonly cluster: string;
  readonly name: string;
  readonly kind: 'embedded' | 'dask' | 'local' | 'recording';
  readonly logId: string;
  readonly state: ClusterState;
  /** When ended or reconnecting: a sentence, without the title. */
  readonly why?: string;
  /** Wall clock seconds of the observer's machine, as all here. */
  readonly startedAt: number;
  readonly endedAt?: number;
  /** When ended: only watching has, the cluster may go on. */
  readonly unwatched?: true;
  readonly notebook?: { readonly kernelId?: string; readonly path?: string };
  /** Of the default cluster of an environment, which the Jupyter server shares among notebooks: the folder of its packages. */
  readonly environment?: string;
  /** Who computes there, and who did: the newest client of each kernel or program. */
  readonly clients: readonly ClusterClient[];
  readonly workers: readonly {
    readonly worker: number;
    readonly name: string;
    readonly threads: number;
    readonly memoryLimit: number;
    readonly process: number;
    readonly state: string;
    /** What fills a paused worker's memory; absent: it is stopped, or not paused. */
    readonly why?: string;
    /** Wall clock seconds; absent: by an observer of before; `left` also: it is there, or was when the log ended. */
    readonly joined?: number;
    readonly left?: number;
  }[];
  readonly threads: number;
  readonly running: number;
  /** How many of them were cancelled, and go on because no thread can be stopped. Left out: none; or by an observer of before. */
  readonly runningCancelled?: number;
  /**
   * Tasks that are needed, and neither done nor running, by what they wait for. Left out: none waits; or it is not known, as of a cluster that has
   * ended or is away, of a source that does not tell, and by an observer of before.
   */
  readonly waiting?: readonly WaitingFor[];
  /** Submitted or run, whichever is more. */
  readonly tasks: number;
  /** Runs that have ended. Left out by an observer of before. */
  readonly runs?: number;
  /**
   * With each cluster of which a watch of this page asks it: how many functions ran here and there, which is a guess where more than 512 did.
   * Left out: none asks; or of one of the two none ran; or by an observer of before.
   */
  readonly sharedFunctions?: readonly {
    readonly cluster: string;
    readonly count: number;
  }[];
  readonly capabilities: Readonly<Record<string, boolean>>;
  /** e.g. "1.25 M task runs before 4.10 s are kept only as totals." */
  readonly dropped?: string;
  /** A sentence, if the log's clock is another one. */
  readonly clock?: string;
};

export type WaitingFor = {
  readonly reason: WordOf<typeof WaitReason>;
  readonly tasks: number;
  /** The notice that users have for it, with what to do. Left out: none, for the wait may end by itself. */
  readonly told?: string;
  /** What they need of which there is none, or none free, as "GPU=1, MEM=2; TPU=1". Left out: nothing is told of that. */
  readonly need?: string;
  /** What does what the notice says, to be pasted into a terminal or a notebook. Left out: nothing does, or it would be another one elsewhere. */
  readonly command?: string;
};

export type ClusterClient = {
  readonly client: number;
  readonly name: string;
  readonly notebook?: { readonly kernelId?: string; readonly path?: string };
  /** Wall clock seconds; `left` is absent while it is connected. */
  readonly joined: number;
  readonly left?: number;
};

/** How the filter was honoured. */
type Honoured = {
  readonly how: 'exact' | 'approximate' | 'not filtered' | 'not known';
  readonly why?: string;
};

// ---------------------------------------------------------------- results of the views (seconds, bytes, counts; null = unknown)

export type ViewResult =
  | SpansResult
  | TaskStreamResult
  | TasksResult
  | RecordsResult
  | FineMetricsResult
  | ProfileResult
  | MemoryResult
  | SummaryResult
  | TransfersResult
  | SystemResult
  | ProgressResult;

/**
 * view `spans`: every span of the cluster with its own and its subtree's figures; rows in order of first appearance, parents before children.
 * Ignores filters. Of more than 1,500 the largest are given, and the figures of the others are in those of one beside them that is called the
 * same, else in their parents' own.
 *
 * params: { all: true, after, numbers }. With `all` no span is left out, and rows have the fields of {@link FullSpanRow}; the next page is asked for
 * with `after: next`. With `numbers` there are no rows, but `countedIn`.
 */
export type SpansResult = {
  readonly view: 'spans';
  /** With `all`: where the next page begins; null after the last one. */
  readonly next?: number | null;
  /** With `all`: from t on, the cluster has had so many threads. */
  readonly threads?: readonly (readonly [t: number, threads: number])[];
  readonly rows: readonly SpanRow[];
  readonly totalThreadSeconds: number;
  /** Of all running tasks. Left out: none runs. */
  readonly runningSeconds?: number;
  readonly totalTasks: number;
  /** Spans without a row of their own, without `all`: finished ones of the same path, and those that are smaller than the largest 1,500. Left out: none. */
  readonly folded?: number;
  /** Of the time of all tasks: in spans that are inferred, on a cluster that gives spans itself. Left out: none is, or nobody opened any span. */
  readonly inferredShare?: number;
  /** The scheduler does not tell in which spans its tasks are: what is in none may be in any. */
  readonly areNotTold?: true;
  /** The rows (by `span`) in which spans of these numbers are counted. */
  readonly countedIn?: readonly (readonly [number: number, span: number])[];
  /** What the clients of the rows are called; one may have had several numbers. */
  readonly clients: readonly string[];
};
export type SpanRow = {
  readonly span: number;
  /** Into `clients`; null: nobody's. */
  readonly client: number | null;
  readonly parent: number | null;
  readonly path: SpanPath;
  readonly tag: string;
  readonly origin: WordOf<typeof SpanOrigin>;
  /** Subtree totals: tasks done, tasks running, seconds on threads. */
  readonly tasks: number;
  readonly running: number;
  /** How many of them were cancelled, as of {@link ClusterInfo}. */
  readonly runningCancelled?: number;
  /** Tasks of the subtree that are needed, and neither done nor begun. Left out: none waits, or it is not known. */
  readonly waiting?: number;
  /** Runs that failed, and tasks that failed without such a run. */
  readonly failed: number;
  /** Of how many tasks the runs are. Left out: none failed; or by an observer of before. */
  readonly failedTasks?: number;
  /** How many of `failed` are tasks without such a run; one that was tried again may have had one before. Left out: none; or by an observer of before. */
  readonly failedUnrun?: number;
  readonly threadSeconds: number;
  /** Of the subtree's running tasks, since each has started: they are not in `threadSeconds`. Left out: none runs. */
  readonly runningSeconds?: number;
  readonly cpuSeconds: number | null;
  readonly transferSeconds: number;
  readonly idleSeconds: number | null;
  /** Own rows only (not the children's). Sum over all spans = total, exactly. */
  readonly ownTasks: number;
  readonly ownNanoseconds: number;
  /** How often functions ran in the subtree: runs that are not divided, and parts of fused tasks, which may run under another span's name. */
  readonly executions: number;
  readonly exact: number;
  readonly inferred: number;
  readonly opened: number;
  readonly closed: number | null;
  readonly firstStart: number | null;
  readonly lastStop: number | null;
  /**
   * Tasks of the subtree were submitted before it had closed, and others after that: code elsewhere computes what was written in it, perhaps once
   * more. Left out: not so, or by an observer of before.
   */
  readonly isComputedLater?: true;
  /** Results that were asked for in the subtree, and had been computed, or submitted, before. Left out: none, or by an observer of before. */
  readonly reused?: number;
  /** Of the pass: a filter by it has this pass alone. Left out: nobody opened the span by name, or an older program did. */
  readonly id?: string;
  /** How many other passes of its path are counted in the row, because there are many, without `all`. Left out: none. */
  readonly others?: number;
  /** Of a cell: the number that Jupyter showed beside it as it ran. Left out: it is not known, or the row has several. */
  readonly execution?: number;
  /** Of a cell: its id in the notebook, which it keeps when it is edited. Left out: it is not known. */
  readonly cell?: string;
};
/** Figures of the subtree, unless they begin with `own`. */
export type FullSpanRow = SpanRow & {
  readonly id: string;
  /** When the first task was submitted; null: none was. */
  readonly enqueued: number | null;
  /** Tasks as they were submitted; fused ones count once, where they end. */
  readonly submitted: number;
  /** Bytes of all results. */
  readonly nbytes: number;
  /** Thread seconds by action: compute, transfer, disk-read, … */
  readonly seconds: Readonly<Record<string, number>>;
  /** Stacks of callers that submitted in it, outermost first, as JSON; of a program that has them kept. */
  readonly code: readonly string[];
  /** Results that were asked for in the span itself, and had been computed, or submitted, before. */
  readonly ownReused: number;
  /** Finished spans of the same path, or of below it, that are folded into this one, because there are many. */
  readonly joined: number;
};

/** view `task-stream`: all but the boxes, which come as tiles. */
export type TaskStreamResult = {
  readonly view: 'task-stream';
  /** Extent of the run and the scheduler's time now (a live right edge); seconds. */
  readonly from: number;
  readonly to: number;
  /**
   * Where the newest work begins: after the last pause before the selection's newest task. In a pause no task of the cluster runs for 5 s or
   * more. Left out, by an observer of before: as `from`.
   */
  readonly newestFrom?: number;
  /** From the first start to the last stop of the selection's tasks, to now while one runs. Left out: it has none; or by an observer of before. */
  readonly selected?: { readonly from: number; readonly to: number };
  readonly now: number;
  readonly live: boolean;
  /** Tiles wholly before this time are settled. */
  readonly settledBefore: number;
  /** Rows came late with this block: tiles of a smaller `logSeq` are not settled, whatever they say. 0 or left out: none came late. */
  readonly lateSeq?: number;
  /** In order of first appearance: a lane's index never changes, new lanes come at the end, so that tiles stay valid. */
  readonly lanes: readonly {
    readonly laneIndex: LaneIndex;
    readonly worker: number;
    readonly thread: number;
    /** Absent: it is a thread's, or that is not known. */
    readonly beside?: BesideLane;
  }[];
  readonly workers: readonly {
    readonly worker: number;
    readonly name: string;
    readonly threads: number;
    /** Seconds that its threads ran tasks of the selection. */
    readonly busy: number;
    /** Seconds of its threads while it was there and some task was unfinished. */
    readonly capacity: number;
    readonly process: number;
    readonly memoryLimit: number;
    /** Left out by an observer of before. */
    readonly joined?: number;
    readonly left: number | null;
    /** By how many seconds its times may be wrong; absent: its clock is the scheduler's. */
    readonly within?: number;
  }[];
  /** Legend, by time descending in the range, at the end those of which the selection has no run there, or none that has ended; slot 0…11, second and third dozen by `round`; slot -1 = other. */
  readonly functions: readonly FunctionSlot[];
  /** Of the selection's other functions, for of more than 200 those are named that run, those with a slot, and those with the most time. Left out: there are none; or by an observer of before. */
  readonly otherFunctions?: {
    readonly functions: number;
    readonly seconds: number;
    readonly executions: number;
  };
  readonly running: readonly {
    readonly laneIndex: LaneIndex;
    readonly key: string;
    readonly function: string;
    readonly span: number;
    readonly started: number;
    /** When it was cancelled: nobody wants its result, and it goes on because no thread can be stopped. Left out: it was not, or that is not told. */
    readonly cancelled?: number;
    /** Whose it is, by a name as short as tells clients apart; absent: all is one client's. */
    readonly client?: string;
    /** Of one that has seceded: when it held which threads, the newest eight of these stretches (`strip` and `busy` have those before); to null: it does. Left out: that is not known, for it held one until it seceded. */
    readonly held?: readonly {
      readonly laneIndex: LaneIndex;
      readonly from: number;
      readonly to: number | null;
    }[];
  }[];
  /** How many more running tasks the filter hides. A filter by status hides all: their status is not known before they end. */
  readonly othersRunning: number;
  /**
   * Whole-run strip: 240 equal bins over from…to; thread seconds per bin of compute, transfer, disk, other, of a run that has seceded those for
   * which it held a thread (by an observer of before all); failed: how many failed or lost;
   * threads: the most that there were at a time, left out by an observer of before.
   */
  readonly strip: {
    readonly threads?: number;
    readonly compute: readonly number[];
    readonly transfer: readonly number[];
    readonly disk: readonly number[];
    readonly other: readonly number[];
    readonly failed: readonly number[];
  };
  /**
   * Spans in which anything of the selection ran or runs, and those around them, each from its first start to its last stop; parents before
   * children. Those of an observer of before are of all tasks.
   */
  readonly bands: readonly {
    readonly span: number;
    readonly tag: string;
    readonly depth: number;
    readonly from: number;
    readonly to: number;
    /** As of `running`. */
    readonly client?: string;
  }[];
  /** How many spans more there are: those outside the range of time, and of the rest the shortest. Left out: none; or by an observer of before. */
  readonly bandsLeftOut?: number;
  /** Whole tasks of which anything passes, tasks of which nothing does, and executions that pass (see `FunctionSlot`). */
  readonly tasks: number;
  readonly hidden: number;
  readonly executions: number;
  /** In the range, how many parts; failed, lost: how many runs. lost: they ended with their worker. */
  readonly kinds: Readonly<
    Record<
      'transfer' | 'disk' | 'import' | 'serialize' | 'failed' | 'lost',
      number
    >
  > & {
    /** Of how many tasks the failed runs are. Left out: none failed; or by an observer of before. */
    readonly failedTasks?: number;
    /** Stretches for which runs held threads that have seceded, and are drawn beside these. Left out: none; or by an observer of before. */
    readonly seceded?: number;
    /** Runs whose result nobody wanted any more when they ended. Left out: none; or by an observer of before. */
    readonly cancelled?: number;
    /** Runs that were given back, and ran again, after they had held a thread. Left out: none; or by an observer of before. */
    readonly missing?: number;
  };
};
export type FunctionSlot = {
  readonly name: string;
  readonly slot: number;
  readonly round: number;
  readonly seconds: number;
  /** How often it ran: runs that are not divided, and parts of fused tasks. */
  readonly executions: number;
  /** It runs for the first time in the whole log, whatever is selected; absent: it does not. */
  readonly isFirst?: true;
};

/** view `tasks`: the table twin. params: { sort: column, descending: boolean, offset, limit ≤ 500, search?, lanes?, nextTo?, from? } */
export type TasksResult = {
  readonly view: 'tasks';
  readonly total: number;
  readonly rows: readonly RunDetail[];
};
type RunRow = Row<'runs'>;
type PartRow = Row<'parts'>;
/** Figures of which NaN says in the log that they are not known. */
type OrUnknown<R> = { readonly [C in keyof R]: R[C] | null };
/** The log's numbers as they are; ids as what they stand for. */
export type RunDetail = Pick<
  RunRow,
  // attempt: which of the task's runs, from 1.
  'run' | 'attempt' | 'start' | 'duration'
> &
  OrUnknown<
    Pick<RunRow, 'cpu' | 'waitReady' | 'waitInputs' | 'waitThread' | 'nbytes'>
  > & {
    readonly key: string;
    /** Of a fused task that which computed longest in it. */
    readonly function: string;
    /** What functions computed in a fused task, eight at most, the longest first; absent: one alone did, or an observer of before. */
    readonly fused?: readonly {
      readonly function: string;
      readonly seconds: number;
    }[];
    readonly span: SpanPath;
    /** The cell in which it was written, and the number beside it at that time; absent: none, or not told. */
    readonly cell?: { readonly title: string; readonly execution?: number };
    /** Whose it is, by a name as short as tells clients apart; absent: all is one client's. */
    readonly client?: string;
    readonly origin: WordOf<typeof TaskOrigin>;
    readonly worker: string;
    readonly thread: number;
    /** As of the lanes of `task-stream`. */
    readonly beside?: BesideLane;
    /** Among those; absent in pages of view `records`, and by an observer of before. */
    readonly laneIndex?: LaneIndex;
    readonly status: WordOf<typeof RunStatus> | 'running';
    /** Of a cancelled run: since when nobody wanted its result; absent: that is not known. */
    readonly cancelled?: number;
    readonly error?: string;
    /** Of a lost run in answers for one run: how its worker ended; absent: that is not known. */
    readonly lost?: LostWorker;
    /** The longest, if there are many. */
    readonly parts: readonly PartDetail[];
    /** How many parts there are beside those; absent: none, or by an observer of before. */
    readonly partsLeftOut?: number;
    /** What the run measured itself, added up by label and unit, in the order in which they were first told; absent: nothing, or not told. */
    readonly measured?: readonly {
      readonly label: string;
      readonly unit: string;
      readonly value: number;
    }[];
  };
export type PartDetail = Pick<PartRow, 'offset' | 'duration'> &
  OrUnknown<Pick<PartRow, 'cpu' | 'bytes'>> & {
    readonly kind: string;
    readonly held: boolean;
    readonly function: string;
    readonly span: SpanPath;
  };

/**
 * view `records`: runs with all their parts, in the order in which the scheduler heard of their ends; for programs, page by page.
 * params: { limit, newest: boolean (of those in the range the newest `limit`, else the oldest), after, end, detailed }. `time` is a range of
 * ends: a run is in it when its last part ends at `from` or later, and before `to`; with `detailed` see {@link RecordsDetails}.
 *
 * One row a run in run … nbytes; `parts` of the rows of part… are its own. Functions, statuses, types of results, kinds and the workers that
 * a part's bytes came from (by address) are indices into `names`, spans into `spans`, and lanes, which say where a run was, into `lanes`.
 * `errors` has the tracebacks of failed runs, each with the run's row here. `marks` has what ended without a run of which a worker told, after
 * the last run and unless there is a `limit`: when, the key, at which worker (by address) or none, and why. The next page is asked for with `after: next` and the same
 * `end`; a run with too many parts for one page goes on, under the same number, as the first row of the next.
 */
export type RecordsResult = {
  readonly view: 'records';
  readonly next: readonly [row: number, part: number] | null;
  readonly end: number;
  /**
   * How many runs were dropped since the answer before this one, which had not told of them, whatever the selection. Absent: none. One whose parts go on in
   * this answer is among them.
   */
  readonly lost?: number;
  readonly names: readonly string[];
  readonly spans: readonly SpanPath[];
  readonly lanes: readonly {
    readonly worker: string;
    /** Of the worker; empty: it has none. */
    readonly address: string;
    /** Why the worker left; empty: it lives. */
    readonly why: string;
    readonly thread: number;
    /** As of `task-stream`. */
    readonly beside?: BesideLane;
    /** The operating system's number of that thread; null: not known. */
    readonly ident: number | null;
  }[];
  readonly errors: readonly (readonly [row: number, text: string])[];
  readonly marks: readonly (readonly [
    t: number,
    key: string,
    worker: number | null,
    span: number,
    why: string
  ])[];
  /** Of `events`: where the next mark will be. */
  readonly marksEnd: number;
  readonly key: readonly string[];
  readonly lane: readonly number[];
  readonly nbytes: readonly (number | null)[];
  /** Null: there is no result, or it is not known. */
  readonly type: readonly (number | null)[];
  readonly parts: readonly number[];
  /** Null: from nowhere. */
  readonly partFrom: readonly (number | null)[];
} & ListOfEach<Pick<RunRow, 'run' | 'attempt' | 'start' | 'duration'>> & {
    readonly [
      C in IndexOf<RunRow, 'function' | 'span' | 'status'>
    ]: readonly number[];
  } & Partial<RecordsDetails> & {
    readonly [
      C in
        | IndexOf<PartRow, 'kind' | 'function' | 'span'>
        | keyof Pick<
            PartRow,
            'offset' | 'duration' | 'held'
          > as `part${Capitalize<C>}`
    ]: readonly number[];
  };
/**
 * With `detailed`, and then of the runs of which anything lies in the range of time: what `RunDetail` has beside. Cells are indices into
 * `cells`, clients and origins into `names`. Left out by an observer of before.
 */
export type RecordsDetails = {
  readonly cells: readonly NonNullable<RunDetail['cell']>[];
  readonly cell: readonly (number | null)[];
  /** Null: all is one client's. */
  readonly client: readonly (number | null)[];
  readonly origin: readonly number[];
  readonly partBytes: readonly (number | null)[];
} & ListOfEach<
  Pick<RunDetail, 'cpu' | 'waitReady' | 'waitInputs' | 'waitThread'>
>;
/** Columns of the log whose ids are indices here. */
type IndexOf<R, C extends keyof R> = C;
type ListOfEach<R> = { readonly [C in keyof R]: readonly R[C][] };

/**
 * view `transfers`: what workers fetched of each other. largeBytes and largeSeconds are of transfers of more than 1,000,000 bytes: one by
 * the other is how many bytes came a second.
 */
export type TransfersResult = {
  readonly view: 'transfers';
  /** Those of the pairs. */
  readonly workers: readonly {
    readonly worker: number;
    readonly name: string;
    readonly address: string;
  }[];
  readonly total: TransferSum;
  /** from: the worker that held the result; to: the one that fetched it. In the order of both. */
  readonly pairs: ListOfEach<TransferSum> & {
    readonly from: readonly number[];
    readonly to: readonly number[];
  };
  /** `module:qualified name` of a class; only of large transfers all of whose values are of one. Most bytes first. */
  readonly types: ListOfEach<TransferSum> & {
    readonly type: readonly string[];
  };
  /** Pairs and types that were left out, with the fewest bytes. */
  readonly dropped: number;
  /** Transfers that filter and range leave out. Left out by an observer that does not count them. */
  readonly hidden?: number;
};
type TransferSum = {
  readonly count: number;
  readonly bytes: number;
  readonly largeBytes: number;
  readonly largeSeconds: number;
};

/**
 * view `system`: what the system counts for each process, as the log's table has it; the scheduler's first. A point stands for the seconds
 * before `t`; where there are fewer points than rows, rates are means and `memory` and `fds` the highest of neighbours. null: not known.
 */
export type SystemResult = {
  readonly view: 'system';
  readonly lines: readonly SystemLine[];
  /** Processes that were left out. */
  readonly dropped: number;
};
export type SystemLine = {
  /** null: the scheduler. */
  readonly worker: number | null;
  readonly name: string;
  readonly address: string;
  /** Of what all on it do, each of its processes says the same; empty: not known, as of a scheduler that is beside its own workers. */
  readonly host: string;
  /** The log's, of which the points are made. */
  readonly rows: number;
  readonly t: readonly number[];
  readonly seconds: readonly number[];
  /** Mean seconds between the turns of its event loop. Left out: never known, as of processes that run no tasks beside one. */
  readonly loopInterval?: readonly (number | null)[];
} & Readonly<Record<SystemFigure, readonly (number | null)[]>>;
/** cpu: per cent of one core; memory: bytes; fds: how many; all others: bytes a second. */
type SystemFigure =
  | 'cpu'
  | 'memory'
  | 'fds'
  | 'netRead'
  | 'netWrite'
  | 'diskRead'
  | 'diskWrite'
  | 'hostDiskRead'
  | 'hostDiskWrite';

export type ActivitySeconds = Readonly<Record<string, number>>;
/**
 * view `fine-metrics`. params: { unit: 'seconds' | 'bytes' | 'count', top: 12 }. Activities in drawing order:
 * thread-cpu, core (waiting for one), gil (waiting for the interpreter lock; estimated), blocked, thread-noncpu (which of the three is not
 * known), compute (its CPU share is not known), transfer, disk-read, disk-write, import, deserialize, serialize, other, lost (runs
 * that ended with their worker), idle:<cause>.
 */
export type FineMetricsResult = {
  readonly view: 'fine-metrics';
  /**
   * `told`: the cluster itself adds up what its tasks took, and tells the sums. They have times only by when they were told, and idle time,
   * which is by start and stop of tasks, is no rest of them. Left out: runs were added up.
   */
  readonly account?: 'told';
  /** Why there are no figures of tasks under this filter. */
  readonly notKnown?: string;
  readonly unit: string;
  readonly units: readonly string[];
  /** Extent considered, and threads integrated over it: wall × threads = capacitySeconds. */
  readonly wallSeconds: number;
  readonly threads: number;
  readonly capacitySeconds: number;
  /**
   * By activity, of the selection. `share`, here and of functions, is what it was before there was `wholeSeconds`: of seconds a share of the
   * capacity, of told ones of all that was told, of other units of their own sum. Panels make theirs from `wholeSeconds`.
   */
  readonly byActivity: readonly {
    readonly activity: string;
    readonly value: number;
    readonly share: number | null;
  }[];
  readonly byFunction: readonly {
    readonly function: string;
    readonly slot: number;
    readonly round: number;
    /** How often it ran; see `FunctionSlot`. */
    readonly executions: number;
    readonly total: number;
    readonly share: number | null;
    readonly activities: ActivitySeconds;
    readonly beside?: ActivitySeconds;
  }[];
  /** Functions beyond `top`, added up. */
  readonly others: {
    readonly functions: number;
    readonly executions: number;
    readonly total: number;
    readonly activities: ActivitySeconds;
    readonly beside?: ActivitySeconds;
  } | null;
  /**
   * Of the seconds by activity, here and of each function, those for which others had the threads of the tasks: they are beside the
   * capacity. Waits for the interpreter lock are with what is blocked. Left out: there are none, or the observer is of before.
   */
  readonly beside?: ActivitySeconds;
  /** cause: nothing-runnable, inputs-in-flight, held-elsewhere, no-worker (no worker is there that may run what waits), paused (for memory), stopped, scheduler (not yet answered), unknown (the source gives no waits). */
  readonly idle: readonly {
    readonly cause: string;
    readonly seconds: number;
  }[];
  /**
   * Of the time of `nothing-runnable`: during which run most of it passed. `isLeast`: of very many stretches the longest were looked at, it
   * may be more. Left out: no run has a tenth of it, it is below 1 % of the
   * capacity, the filter chooses tasks, or the observer is of before.
   */
  readonly waitedFor?: {
    readonly function: string;
    readonly seconds: number;
    readonly isLeast: boolean;
  };
  /** Behind other work, not part of the bar: activity → seconds and bytes. */
  readonly background: readonly {
    readonly activity: string;
    /** null: not measured. */
    readonly seconds: number | null;
    readonly bytes: number | null;
    readonly count: number | null;
  }[];
  /** What workers did outside tasks, as writing results to disk, is of no span, function or status, so that the filter leaves it out. */
  readonly outsideHidden?: true;
  /**
   * What panels' shares of seconds are of. The capacity; under a filter by span, function or status the selection's time on threads (less what
   * is `beside`), that of tasks which still run included, and its idle time; where sums were told, the selection's. Left out by an observer of before.
   */
  readonly wholeSeconds?: number;
  /**
   * Time on threads of the selection's tasks that still run; what they did with it is known when they end. 0 once the run is over: what has
   * not ended by then is not accounted for. Left out by an observer of before.
   */
  readonly runningSeconds?: number;
  /** Time on threads of what the filter hides, as far as it has ended. */
  readonly otherSpansSeconds: number;
  /** Where sums were told, all seconds that filter and range leave out, those of any time. Left out by an observer of before. */
  readonly hiddenSeconds?: number;
  /**
   * Idle time that is not the selection's share; selection (`runningSeconds` included) + idle + otherSpansSeconds + what the others' tasks
   * still run + otherIdleSeconds = capacitySeconds + what is `beside` without a filter by tasks, unless sums were told.
   */
  readonly otherIdleSeconds: number;
  /** `gil` may be wrong by so many seconds, which are `blocked` ones then, or the other way round. */
  readonly gilErrorSeconds: number;
  readonly attributedNanoseconds: number;
  readonly totalNanoseconds: number;
  /** Exact entries for `client.fine_metrics`: [context, function, activity, unit, value]; only when params.entries is true. */
  readonly entries?: readonly (readonly [
    string,
    string,
    string,
    string,
    number
  ])[];
  /** What is missing in them, each a sentence. */
  readonly notes?: readonly string[];
};

/**
 * view `profile`. params: { groupBy: 'all' | 'function' | 'worker' | 'address' | 'span', order: 'left-heavy' | 'time', maxNodes ≤ 5000,
 * addresses: of these workers alone }. Nodes in depth-first order.
 *
 * params { after: 0 }: all nodes, in pages; the next page is asked for with `after: page.next, end: page.end`.
 */
export type ProfileResult = {
  readonly view: 'profile';
  readonly samples: number;
  /** Samples that filter and range leave out. Left out by an observer of before. */
  readonly hidden?: number;
  /** Samples in a second of a thread, by the interval that is set; of Dask's, by the time that was worked. Null: not known. */
  readonly rateHz: number | null;
  readonly nodes: {
    readonly parent: readonly number[];
    readonly name: readonly string[];
    readonly file: readonly string[];
    readonly line: readonly number[];
    readonly n: readonly number[];
    readonly onCore: readonly number[];
    readonly waiting: readonly number[];
    /** Estimated, in hundredths of a sample, and not in `blocked`. */
    readonly gil: readonly number[];
    readonly blocked: readonly number[];
    readonly slot: readonly number[];
  };
  readonly dropped: number;
  /** Only of a question with params.after. `nodes` are those from there on; their parents are counted from the tree's first node. */
  readonly page?: {
    /** Where the next page begins; null: this is the last. */
    readonly next: number | null;
    /** The rows of samples that were added up. Pages of one tree have the same. */
    readonly first: number;
    readonly end: number;
    /** The thread time that one sample stands for, as it was set; 0: sampling is switched off. */
    readonly sampleSeconds: number;
  };
  /**
   * Samples by second; of long work, by the first of so many seconds as `seconds` are apart. Of Dask's, as many as `rateHz` has for the time
   * that threads worked in the second, once the rate is known.
   */
  readonly activity: {
    readonly seconds: readonly number[];
    readonly onCore: readonly number[];
    readonly waiting: readonly number[];
    readonly gil: readonly number[];
    readonly blocked: readonly number[];
    /** Samples of which the source does not tell the state. Left out: there are none. */
    readonly unknown?: readonly number[];
  };
};

/**
 * What a line stands for where it has too many samples to draw each: bins of time, the lowest, the highest and the mean sample of each. A
 * bin without samples is left out. The line's own points are the lowest and the highest of each bin.
 */
export type LineBins = {
  readonly seconds: number;
  readonly from: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly mean: readonly number[];
};

/** why: English words about its end, of whoever told of it; empty if nobody knows. process: of its newest sample; null: there is none. memoryLimit 0: it had none. */
export type LostWorker = {
  readonly worker: number;
  readonly name: string;
  readonly t: number;
  readonly why: string;
  readonly process: number | null;
  readonly memoryLimit: number;
  /** It was told to go; absent: nobody told it to. */
  readonly inOrder?: true;
};

/** Tasks, each counted once, however often it ran. */
export type TaskCounts = {
  readonly done: number;
  /** Workers have begun them, as far as they have said. */
  readonly running: number;
  /** Needed, and neither done nor begun. Null: not known. */
  readonly waiting: number | null;
  readonly failed: number;
  /** Neither done nor failed when nobody needed them any more: cancelled, or what needed them was. */
  readonly dropped: number;
  /** Of those done, how many results are kept. Null: not known. */
  readonly memory: number | null;
};

/** view `progress`: how far the tasks of each function are, and those of all. In the order of first appearance. */
export type ProgressResult = {
  readonly view: 'progress';
  readonly functions: readonly (TaskCounts & {
    readonly function: string;
    readonly slot: number;
    readonly round: number;
  })[];
  /** Of the functions that have no row of their own, for there are more than 1,000. Left out: all have one. */
  readonly others?: TaskCounts & { readonly functions: number };
  readonly total: TaskCounts;
  /** How many tasks the filter hides. */
  readonly hidden: number;
  /** When the counts were told, in seconds since the cluster's start; null: they are of runs that have ended and go on, each time that a task ran. */
  readonly toldAt: number | null;
};

/** Bytes from a time on, in seconds since the cluster's start. */
export type LimitStep = { readonly from: number; readonly memoryLimit: number };

/**
 * view `memory`. params: { measure: MemoryMeasure, show: 'cluster' | 'workers', from?, to?: what of the range is drawn }. A point of a series
 * holds until the next one; null: from there on nothing is known.
 */
export type MemoryResult = {
  readonly view: 'memory';
  readonly measure: string;
  readonly series: readonly {
    readonly name: string;
    readonly worker: number | null;
    readonly t: readonly number[];
    readonly bytes: readonly (number | null)[];
    readonly bins?: LineBins;
    /** Of all samples in the range, also where a part of it is drawn; null: there are none. Left out: not known. */
    readonly first?: number | null;
    readonly last?: number | null;
    readonly peak?: number | null;
    readonly peakAt?: number | null;
    readonly mean?: number | null;
  }[];
  readonly limits: {
    readonly memoryLimit: number;
    readonly target: number;
    readonly spill: number;
    readonly pause: number;
    /** What `memoryLimit` was from each time on, in the order of time, as workers came and left; before the first there was none. Left out: always the same. */
    readonly steps?: readonly LimitStep[];
  } | null;
  /** Workers of the filter that were lost in the range, in the order of time, the newest 100. Left out: none was. */
  readonly lost?: readonly LostWorker[];
  /** How many more were lost before these. Left out: none. */
  readonly lostLeftOut?: number;
  readonly runs: readonly {
    readonly run: number;
    /** No two runs have the same: those that were given one label are numbered, "fit", "fit (2)". */
    readonly label: string;
    readonly measure: string;
    readonly intervalSeconds: number;
    readonly start: number;
    readonly stopped: number | null;
    readonly t: readonly number[];
    readonly bytes: readonly (number | null)[];
    readonly bins?: LineBins;
    /** Of all samples, also where fewer are drawn; null: there are none yet. Area in byte seconds. */
    readonly samples: number;
    readonly first: number | null;
    readonly last: number | null;
    readonly peak: number;
    readonly peakAt: number | null;
    readonly mean: number | null;
    readonly area: number;
  }[];
  readonly now: {
    readonly process: number;
    readonly managed: number;
    readonly spilled: number;
    readonly unmanagedOld: number;
  } | null;
};

/** view `summary`: what `scripts/run --headless` prints and `client.spans()` returns: SpanRow plus the totals they must add up to. */
export type SummaryResult = {
  readonly view: 'summary';
  readonly spans: readonly SpanRow[];
  readonly wallSeconds: number;
  readonly capacitySeconds: number;
  readonly executeSeconds: number;
  readonly idleSeconds: number;
  readonly unattributedNanoseconds: number;
  readonly totalNanoseconds: number;
};
