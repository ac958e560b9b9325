import { grownColumn, nextCapacity } from '../base/growable-columns';
import type { Dictionary } from '../records/dictionary';
import { NONE_U32 } from '../records/enumerations';

/** Set in ids that a worker has coined. */
const COINED = 0x80000000;

/**
 * Translates the name ids of one connection into those of the log.
 *
 * A client's ids are its own: 0, 1, 2 …. A worker uses the log's ids as it was given them, and coins its own as `0x80000000 | index`.
 */
export class NamesOf {
  private _logIds = new Uint32Array(16);
  private _size = 0;

  /** @param _coinsOnly - a worker: ids without the highest bit are the log's already. */
  constructor(
    private readonly _names: Dictionary,
    private readonly _coinsOnly: boolean
  ) {}

  /** How many have been announced. */
  get size(): number {
    return this._size;
  }

  /**
   * Takes in an announcement: `names[i]` is `firstName + i`. An announcement that leaves a gap is ignored: each side counts its names from
   * 0.
   */
  announce(firstName: number, names: readonly string[]): void {
    const first = (this._coinsOnly ? firstName & ~COINED : firstName) >>> 0;
    if (first > this._size) {
      return;
    }
    const extent = first + names.length;
    if (extent > this._logIds.length) {
      this._logIds = grownColumn(
        this._logIds,
        nextCapacity(this._logIds.length, extent)
      );
    }
    for (let i = 0; i < names.length; i++) {
      this._logIds[first + i] = this._names.id(names[i]!);
    }
    this._size = Math.max(this._size, extent);
  }

  /** The log's id of a name; an id that was never announced stands for the empty text. A worker's "none" is the log's. */
  logId(id: number): number {
    if (this._coinsOnly) {
      if (id < COINED || id === NONE_U32) {
        return id;
      }
      id = (id & ~COINED) >>> 0;
    }
    return id < this._size ? this._logIds[id]! : this._names.id('');
  }
}
