import { NONE_U32 } from '../../records/enumerations';
import type { TransfersResult } from '../../wire/panel-link';
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
import { honouredBy } from './honoured';
import { workerName } from './run-detail';

/** How fast smaller transfers are is the time that it takes to ask. */
const LARGE_BYTES = 1_000_000;
/** An answer must fit in one message of the panel link: numbers have nine bytes, names of types a thousand characters. */
const MOST_PAIRS = 8_000;
const MOST_TYPES = 100;

type Sum = {
  count: number;
  bytes: number;
  /** Of the large ones alone: these say how fast bytes come. */
  largeBytes: number;
  largeSeconds: number;
};
type Pair = Sum & { readonly from: number; readonly to: number };

/**
 * What workers fetched of each other, by pair and by type. A transfer is in a range in which it begins.
 *
 * ```
 *   0 → 1   8 MB in 4 ms   8 MB in 4 ms   9 bytes in 1 ms
 *           ╰── 16 MB in 8 ms: 2 GB/s ──╯ ╰ counted, not timed
 * ```
 *
 * A rate is the sum of the bytes by the sum of the seconds: the mean of the rates would count a fast one as much as a slow one of the same
 * size, which takes most of the time.
 */
export function* foldTransfers(
  context: FoldContext
): Slices<{ readonly result: TransfersResult; readonly honoured: Honoured }> {
  const { log, filter, time } = context;
  const range = time === 'all' ? null : resolveRange(context);
  const total = emptySum();
  const pairs = new Map<number, Pair>();
  const types = new Map<number, Sum>();
  let hidden = 0;
  for (const { columns: c, rows } of log.transfers.rowsBefore(Infinity)) {
    for (let i = 0; i < rows; i++) {
      const start = c.start[i]!;
      const from = c.from[i]!;
      const to = c.to[i]!;
      if (
        (range !== null && (start < range.from || start >= range.to)) ||
        (filter.workers[from] === 0 && filter.workers[to] === 0)
      ) {
        hidden++;
        continue;
      }
      const bytes = c.bytes[i]!;
      const seconds = c.duration[i]!;
      add(total, bytes, seconds);
      add(pairOf(pairs, from, to), bytes, seconds);
      if (c.type[i] !== NONE_U32) {
        add(sumOf(types, c.type[i]!), bytes, seconds);
      }
    }
    yield;
  }
  return {
    result: {
      ...resultOf(log, total, [...pairs.values()], types),
      hidden
    },
    honoured: honouredBy('transfers', context)
  };
}

function resultOf(
  log: LogStore,
  total: Sum,
  pairs: readonly Pair[],
  types: ReadonlyMap<number, Sum>
): TransfersResult {
  const shown = [...pairs]
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, MOST_PAIRS)
    .sort((a, b) => a.from - b.from || a.to - b.to);
  const named = [...types]
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .slice(0, MOST_TYPES);
  const ids = new Set(shown.flatMap(({ from, to }) => [from, to]));
  return {
    view: 'transfers',
    workers: [...ids]
      .sort((a, b) => a - b)
      .map(worker => ({
        worker,
        name: workerName(log, worker),
        address: log.shape.workers.get(worker)?.address ?? ''
      })),
    total,
    pairs: {
      from: shown.map(({ from }) => from),
      to: shown.map(({ to }) => to),
      ...columnsOf(shown)
    },
    types: {
      type: named.map(([type]) => log.name(type)),
      ...columnsOf(named.map(([, sum]) => sum))
    },
    dropped: pairs.length - shown.length + types.size - named.length
  };
}

function columnsOf(sums: readonly Sum[]): {
  readonly [C in keyof Sum]: readonly Sum[C][];
} {
  return {
    count: sums.map(({ count }) => count),
    bytes: sums.map(({ bytes }) => bytes),
    largeBytes: sums.map(({ largeBytes }) => largeBytes),
    largeSeconds: sums.map(({ largeSeconds }) => largeSeconds)
  };
}

function pairOf(pairs: Map<number, Pair>, from: number, to: number): Pair {
  const key = from * 0x10000 + to;
  let pair = pairs.get(key);
  if (pair === undefined) {
    pair = { from, to, ...emptySum() };
    pairs.set(key, pair);
  }
  return pair;
}

function sumOf(sums: Map<number, Sum>, key: number): Sum {
  let sum = sums.get(key);
  if (sum === undefined) {
    sum = emptySum();
    sums.set(key, sum);
  }
  return sum;
}

function emptySum(): Sum {
  return { count: 0, bytes: 0, largeBytes: 0, largeSeconds: 0 };
}

function add(sum: Sum, bytes: number, seconds: number): void {
  sum.count += 1;
  if (!Number.isNaN(bytes)) {
    sum.bytes += bytes;
  }
  // Written so that what is not known is not taken for large.
  if (bytes > LARGE_BYTES && seconds > 0) {
    sum.largeBytes += bytes;
    sum.largeSeconds += seconds;
  }
}
