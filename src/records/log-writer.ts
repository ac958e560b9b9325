/**
 * Writes one log: open rows per table, sealed together into numbered blocks.
 *
 * All tables are sealed at the same time, in the order of their numbers, which is the order in which they refer to each other (names before
 * spans, nodes before edges before runs before parts): a reader who takes blocks by `seq` never meets an id that it does not know.
 */
import { BlockBuilder } from './block-builder';
import { TABLES, type TableName } from './tables';

/**
 * Rows at which a table is sealed: nine thousand runs. All that is open is sealed with it, and the observer woken: at an eighth of it, work of
 * short tasks was sealed fifty times a second, most blocks of a dozen rows, at a fifth of the observer's whole CPU …
 */
const SEAL_BYTES = 512 * 1024;
/** … and how long a row waits after a rest … */
export const SEAL_SECONDS = 0.05;
/**
 * … and at most: so far apart are seals that follow each other. Each wakes the observer, which costs more than the rows of short work, and no
 * panel is drawn more than four times a second.
 */
export const BUSY_SEAL_SECONDS = 0.2;
/**
 * So long a row waits while nobody looks, also after a rest, so that a short computation is one seal: what a process that is killed had not
 * sent yet is lost.
 */
export const UNSEEN_SEAL_SECONDS = 0.5;

export type SealedBlock = {
  readonly seq: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

export class LogWriter {
  /** Whether somebody may see the rows. Call {@link commit} after a change. */
  hasViewers = true;
  private readonly _builders: ReadonlyMap<
    TableName,
    Pick<BlockBuilder<TableName>, 'rows' | 'byteLength' | 'seal'>
  >;
  private readonly _inOrder: readonly Pick<
    BlockBuilder<TableName>,
    'rows' | 'byteLength' | 'seal'
  >[];
  private _seq = 0;
  private _openSince: number | null = null;
  /** When it was sealed last because it was time to, or because it was full. */
  private _sealedAt = -Infinity;

  /** @param _emit takes blocks; seq counts 1, 2, 3 … */
  constructor(private readonly _emit: (block: SealedBlock) => void) {
    this._builders = new Map(
      (Object.keys(TABLES) as TableName[])
        .sort((a, b) => TABLES[a].number - TABLES[b].number)
        .map(name => [name, new BlockBuilder(name)])
    );
    this._inOrder = [...this._builders.values()];
  }

  /** The number of the newest sealed block; 0 before the first. */
  get seq(): number {
    return this._seq;
  }

  /** The open rows of a table; call {@link commit} after adding some. */
  table<T extends TableName>(name: T): BlockBuilder<T> {
    const builder = this._builders.get(name);
    if (builder === undefined) {
      throw new TypeError(`No table "${name}".`);
    }
    return builder as unknown as BlockBuilder<T>;
  }

  /**
   * After adding rows: seal when a table is full or a row has waited long enough.
   *
   * @param now seconds, of any steady clock.
   * @returns when to call again at the latest, in seconds of that clock; null when nothing waits.
   */
  commit(now: number): number | null {
    let rows = 0;
    let fullest = 0;
    const inOrder = this._inOrder;
    // A loop by index: it runs in each turn of a scheduler, over all tables, and most of them have
    // no rows.
    for (let i = 0; i < inOrder.length; i++) {
      const builder = inOrder[i]!;
      if (builder.rows > 0) {
        rows += builder.rows;
        fullest = Math.max(fullest, builder.byteLength);
      }
    }
    if (rows === 0) {
      return null;
    }
    this._openSince ??= now;
    const due = this.hasViewers
      ? Math.max(
          this._openSince + SEAL_SECONDS,
          this._sealedAt + BUSY_SEAL_SECONDS
        )
      : this._openSince + UNSEEN_SEAL_SECONDS;
    if (fullest < SEAL_BYTES && now < due) {
      return due;
    }
    this._sealedAt = now;
    this.seal();
    return null;
  }

  /** Seal whatever is open. @returns the seq of the newest block. */
  seal(): number {
    for (const builder of this._inOrder) {
      if (builder.rows > 0) {
        this._seq++;
        this._emit({ seq: this._seq, bytes: builder.seal(this._seq) });
      }
    }
    this._openSince = null;
    return this._seq;
  }
}
