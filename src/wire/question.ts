/**
 * What a viewer may ask of each view, in its normal form: equal for equal questions. The page sends it so, and the observer brings params that it
 * gets into this form; so both find the same questions equal. (A change that leaves the question the same has no answer: a page that took
 * it for another question would wait for one.)
 */
import type { TimeRange, ViewName } from './panel-link';

type Reader = (value: unknown) => unknown;

const READERS = {
  spans: {
    all: flagOf,
    after: numberOf,
    /** No rows, but which ones spans of these numbers are counted in. */
    numbers: placesOf
  },
  'task-stream': {},
  tasks: {
    sort: textOf,
    descending: flagOf,
    offset: numberOf,
    limit: numberOf,
    search: textOf,
    /** On these lanes alone, by their indices in `task-stream`. */
    lanes: placesOf,
    /** Only those that come after this run in the order of their beginnings (with `descending`: before it); without `lanes`, on its lane. */
    nextTo: numberOf,
    /** Only those that begin at this time or later (with `descending`: or earlier). */
    from: numberOf
  },
  records: {
    /** Where the answer before this one ended: its `next` and `end`. */
    after: pairOf,
    end: numberOf,
    /** At most this many runs … */
    limit: numberOf,
    /** … which are the newest in the range, not the oldest. Only for the first answer: the next ones begin where it ended. */
    newest: flagOf,
    /** With all runs: also tasks that ended without one, as far as their rows in `events` are this one or later. */
    marks: numberOf,
    /** For panels: more of each run, no marks, and the range of time as panels take it: runs of which anything lies in it. */
    detailed: flagOf
  },
  'fine-metrics': { unit: textOf, top: numberOf, entries: flagOf },
  profile: {
    groupBy: textOf,
    order: textOf,
    maxNodes: numberOf,
    /** Of the workers at these addresses alone. */
    addresses: textsOf,
    /** The whole tree, page by page: from this node on, of the rows before `end` (a page's own, for the pages after it). */
    after: numberOf,
    end: numberOf
  },
  memory: {
    measure: textOf,
    show: textOf,
    /** What of the range is drawn; left out: all of it. */
    from: numberOf,
    to: numberOf
  },
  summary: {},
  transfers: {},
  system: {},
  progress: {}
} as const satisfies Record<ViewName, Readonly<Record<string, Reader>>>;

export type ParamsOf<V extends ViewName> = {
  readonly [P in keyof (typeof READERS)[V]]?: (typeof READERS)[V][P] extends (
    value: unknown
  ) => infer T
    ? T
    : never;
};

/** The params that the answer depends on, in one order. Params that the view does not know, or not of this type, are left out. */
export function paramsOf<V extends ViewName>(
  view: V,
  given: Readonly<Record<string, unknown>>
): ParamsOf<V> {
  const readers: Readonly<Record<string, Reader>> = READERS[view];
  return Object.fromEntries(
    Object.entries(readers)
      .map(([name, read]) => [name, read(given[name])] as const)
      .filter(([, value]) => value !== undefined)
  ) as ParamsOf<V>;
}

/** The range with its ends in one order. */
export function timeOf(given: TimeRange): TimeRange {
  if (given === 'all') {
    return given;
  }
  return 'last' in given
    ? { last: given.last }
    : { from: given.from, to: given.to };
}

/** Half a surrogate pair does not survive the way as bytes, nor does a byte order mark at the begin of a long text. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string'
    ? value.replace(/^\ufeff+/, '').replace(/\p{Surrogate}/gu, '\ufffd')
    : undefined;
}

function textsOf(value: unknown): readonly string[] | undefined {
  const texts: readonly unknown[] | undefined = Array.isArray(value)
    ? value.map(textOf)
    : undefined;
  return texts?.every(text => typeof text === 'string') === true
    ? texts
    : undefined;
}

function flagOf(value: unknown): true | undefined {
  return value === true ? true : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value)
    ? value
    : undefined;
}

/** Two whole numbers from 0 on. */
function pairOf(value: unknown): readonly [number, number] | undefined {
  const [first, second]: readonly unknown[] = Array.isArray(value) ? value : [];
  return isPlace(first) && isPlace(second) ? [first, second] : undefined;
}

/** Whole numbers from 0 on. */
function placesOf(value: unknown): readonly number[] | undefined {
  const places: readonly unknown[] | undefined = Array.isArray(value)
    ? value
    : undefined;
  return places?.every(isPlace) === true ? places : undefined;
}

function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
