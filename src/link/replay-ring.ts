/**
 * Blocks of a log, kept for observers that come later. `spanwise/source/replay_ring.py` is its twin; both replay one trace
 * (`replay-trace.json`).
 *
 * Names, spans, workers and lanes outlast the ring: without them a new observer could not tell what the remaining rows mean.
 *
 *     seq   1 … 40 000              40 001 … 50 000
 *           lasting: 1 2 17 …       ring: all
 *
 * Rows of the table `gaps` tell an observer what has left the ring. Their blocks are kept like all others: a new observer gets those that are
 * kept, and is told the rest.
 */
import { ByteRing, type RingEntry } from '../base/byte-ring';
import type { SealedBlock } from '../records/log-writer';
import { TABLES, type TableName } from '../records/tables';

const RING_BYTES = 64 * 2 ** 20;
/**
 * Tables of rows that other rows refer to, or that hold until a later row replaces them. They are small: a long run's names take some
 * hundred KB.
 */
const LASTING: readonly TableName[] = [
  'header',
  'names',
  'spans',
  'workers',
  'lanes',
  'capacity',
  'stacks',
  'frames',
  'memoryRuns',
  'clients',
  'gaps'
];
const LASTING_TABLES: ReadonlySet<number> = new Set<number>(
  LASTING.map(name => TABLES[name].number)
);
const LASTING_BYTES = 16 * 2 ** 20;
/** Bound for an observer that takes blocks for days and acknowledges none. */
const MOST_UNCERTAIN = 1000;

/** Rows of one table that an observer will not get. */
export type LogGap = {
  /** The table's number. */
  readonly table: number;
  readonly rows: number;
  /** When the first and the last of their blocks were sealed, in seconds since the log's start. */
  readonly from: number;
  readonly to: number;
};

type KeptBlock = {
  readonly bytes: Uint8Array;
  readonly at: number;
};
/** The rows that a lost block held. */
type Loss = { readonly seq: number; readonly gap: LogGap };

export class ReplayRing {
  private readonly _ring: ByteRing<KeptBlock>;
  private readonly _lasting: ByteRing<KeptBlock>;
  private _newest = 0;
  private _sent = 0;
  private _mostSent = 0;
  private _acknowledged = 0;
  /** All rows that left the ring, by table. */
  private readonly _dropped = new Map<number, LogGap>();
  /** Those of them that this observer lacks and has not been told about. */
  private _untold = new Map<number, LogGap>();
  /** Gaps that are rows of the log: a new observer is sent these rows while their block (one after `after`) is kept. */
  private _told: {
    readonly after: number;
    readonly gaps: readonly LogGap[];
  }[] = [];
  /**
   * Losses of blocks that left the ring after they were sent and before they were acknowledged: whether they arrived is known later. Oldest
   * first. When there are too many, those of one table become one: an observer that comes back with some of these blocks is told that it
   * lacks all.
   */
  private _uncertain: Loss[] = [];

  constructor(
    ringBytes = RING_BYTES,
    lastingBytes = LASTING_BYTES,
    private readonly _mostUncertain = MOST_UNCERTAIN
  ) {
    this._lasting = new ByteRing(lastingBytes, entry => this._gone(entry));
    this._ring = new ByteRing(ringBytes, entry => {
      if (LASTING_TABLES.has(tableOf(entry.value))) {
        this._lasting.push(entry.seq, entry.nbytes, entry.value);
      } else {
        this._gone(entry);
      }
    });
  }

  /** Number of the newest block, 0 before the first. */
  get newest(): number {
    return this._newest;
  }

  /** Number of the last block that was taken for the observer. */
  get sent(): number {
    return this._sent;
  }

  /** The newest block that was taken for any observer so far: none can have a later one. */
  get mostSent(): number {
    return this._mostSent;
  }

  /** The observer has every block up to this one. */
  get acknowledged(): number {
    return this._acknowledged;
  }

  /** @param at - seconds since the log's start. */
  push({ seq, bytes }: SealedBlock, at: number): void {
    this._newest = seq;
    this._ring.push(seq, bytes.length, { bytes, at });
  }

  /** The observer has every block up to this one. */
  acknowledge(seq: number): void {
    this._acknowledged = Math.max(this._acknowledged, seq);
    this._uncertain = this._uncertain.filter(
      lost => lost.seq > this._acknowledged
    );
  }

  /** An observer has come, or come back: it has the blocks up to this one, and no later one. */
  resume(haveSeq: number): void {
    const lost = this._uncertain.filter(({ seq }) => seq > haveSeq);
    this._uncertain = [];
    this._sent = haveSeq;
    this._acknowledged = haveSeq;
    if (haveSeq === 0) {
      // A new observer lacks all that is gone.
      this._untold = this._notInTheLog();
    } else {
      // An observer that comes back lacks the blocks that did not arrive, and those that it was not told of before, which may be older than
      // what it has.
      lost.forEach(({ gap }) => tally(this._untold, gap));
    }
  }

  /** The next blocks for the observer, oldest first, about so many bytes of them. */
  take(mostBytes: number): Uint8Array[] {
    // Blocks that left the ring are older than those in it.
    const entries = [
      ...this._lasting.after(this._sent),
      ...this._ring.after(this._sent)
    ];
    let nbytes = 0;
    const blobs: Uint8Array[] = [];
    for (const entry of entries) {
      if (nbytes > mostBytes) {
        break;
      }
      nbytes += entry.nbytes;
      blobs.push(entry.value.bytes);
      this._sent = entry.seq;
    }
    this._mostSent = Math.max(this._mostSent, this._sent);
    return blobs;
  }

  /**
   * The gaps that the observer has to be told of; the caller writes them into the log. Empty until all blocks were taken, since these rows
   * may push others out of the ring.
   */
  takeGaps(): readonly LogGap[] {
    if (this._sent < this._newest || this._untold.size === 0) {
      return [];
    }
    const gaps = [...this._untold.values()];
    this._untold = new Map();
    this._told.push({ after: this._newest, gaps });
    return gaps;
  }

  /** A block has left the ring for good. */
  private _gone({ seq, value }: RingEntry<KeptBlock>): void {
    let lacked: readonly LogGap[];
    if (tableOf(value) === TABLES.gaps.number) {
      // Observers that did not receive this block of `gaps` have to be told its gaps again.
      lacked = this._told
        .filter(({ after }) => after < seq)
        .flatMap(({ gaps }) => gaps);
      this._told = this._told.filter(({ after }) => after >= seq);
    } else {
      lacked = [gapOf(value)];
      tally(this._dropped, lacked[0]!);
    }
    for (const gap of lacked) {
      if (seq > this._sent) {
        tally(this._untold, gap);
      } else if (seq > this._acknowledged) {
        this._uncertain.push({ seq, gap });
      }
    }
    if (this._uncertain.length > this._mostUncertain) {
      this._uncertain = olderHalfByTable(this._uncertain);
    }
  }

  /** All gaps, less those that the log records already. */
  private _notInTheLog(): Map<number, LogGap> {
    const toldRows = new Map<number, number>();
    for (const { table, rows } of this._told.flatMap(({ gaps }) => gaps)) {
      toldRows.set(table, (toldRows.get(table) ?? 0) + rows);
    }
    const untold = new Map<number, LogGap>();
    for (const [table, gap] of this._dropped) {
      const rows = gap.rows - (toldRows.get(table) ?? 0);
      if (rows > 0) {
        untold.set(table, { ...gap, rows });
      }
    }
    return untold;
  }
}

/** Blocks say in their header of which table they are, and how many rows they hold (records/block.ts). */
function tableOf({ bytes }: KeptBlock): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint16(8, true);
}

function gapOf(block: KeptBlock): LogGap {
  const { bytes, at } = block;
  const rows = new DataView(bytes.buffer, bytes.byteOffset).getUint32(12, true);
  return { table: tableOf(block), rows, from: at, to: at };
}

/** Replaces the older half of the uncertain losses by one loss per table, which becomes certain with the newest of its blocks. */
function olderHalfByTable(losses: readonly Loss[]): Loss[] {
  const half = losses.length >> 1;
  const gaps = new Map<number, LogGap>();
  const newest = new Map<number, number>();
  for (const { seq, gap } of losses.slice(0, half)) {
    tally(gaps, gap);
    newest.set(gap.table, Math.max(seq, newest.get(gap.table) ?? 0));
  }
  return [
    ...[...gaps].map(([table, gap]) => ({ seq: newest.get(table)!, gap })),
    ...losses.slice(half)
  ];
}

/** Adds one gap to those of its table. */
function tally(gaps: Map<number, LogGap>, more: LogGap): void {
  const gap = gaps.get(more.table);
  gaps.set(
    more.table,
    gap === undefined
      ? more
      : {
          table: more.table,
          rows: gap.rows + more.rows,
          from: Math.min(gap.from, more.from),
          to: Math.max(gap.to, more.to)
        }
  );
}
