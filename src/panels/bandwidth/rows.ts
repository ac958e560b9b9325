/** What workers fetched of each other, as a square of pairs and a list of types. */
import type { Trans } from '../../base/trans';
import type { TransfersResult } from '../../wire/panel-link';
import {
  cellOf,
  formatBytes,
  formatExactCount,
  type TableCell,
  type TableData,
  workerLabel
} from '../format';

export const SHOWS = ['speed', 'bytes'] as const;
/** Bytes a second of large transfers, or bytes of all. */
export type Show = (typeof SHOWS)[number];

type Moved = {
  readonly count: number;
  readonly bytes: number;
  /** Bytes a second; null: nothing large enough was fetched to say. */
  readonly speed: number | null;
};

export type Pair = Moved & {
  /** Places among the workers. */
  readonly from: number;
  readonly to: number;
};

type TypeRow = Moved & { readonly type: string };

type Sums = Pick<
  TransfersResult['total'],
  'count' | 'bytes' | 'largeBytes' | 'largeSeconds'
>;

/** The sum of the bytes by that of the seconds: a mean of speeds would count the fast ones twice. */
function movedOf(sums: Sums): Moved {
  const { count, bytes, largeBytes, largeSeconds } = sums;
  return {
    count,
    bytes,
    speed: largeSeconds > 0 ? largeBytes / largeSeconds : null
  };
}

function sumAt(
  columns: {
    readonly count: readonly number[];
    readonly bytes: readonly number[];
    readonly largeBytes: readonly number[];
    readonly largeSeconds: readonly number[];
  },
  i: number
): Moved {
  return movedOf({
    count: columns.count[i] ?? 0,
    bytes: columns.bytes[i] ?? 0,
    largeBytes: columns.largeBytes[i] ?? 0,
    largeSeconds: columns.largeSeconds[i] ?? 0
  });
}

export function workerNames(result: TransfersResult, trans: Trans): string[] {
  return result.workers.map(({ name }) => workerLabel(name, trans));
}

export function pairsOf({ workers, pairs }: TransfersResult): Pair[] {
  const places = new Map(workers.map(({ worker }, place) => [worker, place]));
  return pairs.from.map((from, i) => ({
    from: places.get(from) ?? 0,
    to: places.get(pairs.to[i] ?? from) ?? 0,
    ...sumAt(pairs, i)
  }));
}

export function typesOf({ types }: TransfersResult): TypeRow[] {
  return types.type.map((type, i) => ({ type, ...sumAt(types, i) }));
}

export function valueOf(moved: Moved, show: Show): number | null {
  return show === 'speed' ? moved.speed : moved.bytes;
}

/** "1.20 GiB/s" */
export function formatSpeed(bytesPerSecond: number | null, trans: Trans) {
  const bytes = formatBytes(bytesPerSecond);
  return bytesPerSecond === null ? bytes : trans.__('%1/s', bytes);
}

export function formatValue(
  value: number | null,
  show: Show,
  trans: Trans
): string {
  return show === 'speed' ? formatSpeed(value, trans) : formatBytes(value);
}

/** "DataFrame": the last of a class's names, which is enough beside others. */
export function shortType(type: string): string {
  return /[^.:]*$/.exec(type)?.[0] || type;
}

/** "80.0 MiB in 12 transfers" */
export function amountOf({ bytes, count }: Moved, trans: Trans): string {
  return trans._n(
    '%2 in %3 transfer',
    '%2 in %3 transfers',
    count,
    formatBytes(bytes),
    formatExactCount(count)
  );
}

/** "From worker to worker: 80.0 MiB in 12 transfers, large ones at 1.20 GiB/s" */
export function titleOf(result: TransfersResult, trans: Trans): string {
  const total = movedOf(result.total);
  const amount = amountOf(total, trans);
  return total.speed === null
    ? trans.__('From worker to worker: %1', amount)
    : trans.__(
        'From worker to worker: %1, large ones at %2',
        amount,
        formatSpeed(total.speed, trans)
      );
}

/** The pairs, then the types. */
export function tableOf(result: TransfersResult, trans: Trans): TableData {
  const { text, bytes } = cellOf;
  const names = workerNames(result, trans);
  const cells = (moved: Moved): TableCell[] => [
    {
      text: formatSpeed(moved.speed, trans),
      value: moved.speed,
      unit: 'bytes_per_second'
    },
    bytes(moved.bytes),
    { text: formatExactCount(moved.count), value: moved.count }
  ];
  return {
    columns: [
      { name: trans.__('From') },
      { name: trans.__('To') },
      { name: trans.__('Type') },
      { name: trans.__('Speed'), numeric: true, unit: 'bytes_per_second' },
      { name: trans.__('Bytes'), numeric: true, unit: 'bytes' },
      { name: trans.__('Transfers'), numeric: true }
    ],
    rows: [
      ...pairsOf(result).map(pair => [
        text(names[pair.from] ?? ''),
        text(names[pair.to] ?? ''),
        text(trans.__('all')),
        ...cells(pair)
      ]),
      ...typesOf(result).map(row => [
        text(trans.__('all')),
        text(trans.__('all')),
        text(row.type),
        ...cells(row)
      ])
    ],
    ...(result.dropped > 0 ? { note: leftOut(result.dropped, trans) } : {})
  };
}

export function leftOut(dropped: number, trans: Trans): string {
  return trans._n(
    '%1 pair or type with the fewest bytes is left out.',
    '%1 pairs and types with the fewest bytes are left out.',
    dropped
  );
}
