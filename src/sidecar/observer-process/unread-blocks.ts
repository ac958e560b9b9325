/** Blocks of one log that nobody has asked about yet. In the observer process. */
import { blockHeader } from '../../records/block';

/**
 * So many bytes of a log wait at most: rows of 300,000 small tasks. In tables they take half as much again; to put them there takes about as
 * long as a first answer may.
 */
const MOST_BYTES = 32 * 2 ** 20;
/** What a block takes beside its bytes, as few as those may be: a cluster without work sends a handful each second, of some rows each. */
const BLOCK_BYTES = 512;

/**
 * Keeps blocks as they came. A program that nobody watches would else pay for tables that nobody reads: that was three quarters of the
 * observer's work.
 */
export class UnreadBlocks {
  private _blobs: Uint8Array[] = [];
  private _nbytes = 0;
  private _newest = 0;

  constructor(private readonly _mostBytes = MOST_BYTES) {}

  get nbytes(): number {
    return this._nbytes;
  }

  /** The newest block that waits, by their headers; 0: none. */
  get newest(): number {
    return this._newest;
  }

  /** @returns whether they have to be read now: there are too many, or this is no block, which is to be told at once. */
  add(blob: Uint8Array): boolean {
    this._blobs.push(blob);
    this._nbytes += blob.length + BLOCK_BYTES;
    try {
      this._newest = Math.max(this._newest, blockHeader(blob).seq);
    } catch {
      // (its reader says why)
      return true;
    }
    return this._nbytes > this._mostBytes;
  }

  /** All of them, in the order in which they came. */
  takeAll(): readonly Uint8Array[] {
    const blobs = this._blobs;
    this._blobs = [];
    this._nbytes = 0;
    // (from now on their reader knows: what is broken may have any number)
    this._newest = 0;
    return blobs;
  }
}
