/** Blocks of one log that nobody has asked about yet. In the observer process. */
import { Queue } from '../../base/queue';
import { checkBlock } from '../../records/block';

/**
 * So many bytes of a log wait at most, all columns counted whole: rows of 300,000 small tasks. In tables they take half as much again; to put
 * them there takes about as long as a first answer may.
 */
const MOST_BYTES = 32 * 2 ** 20;
/** No more than this is read in one go, which takes some 2 ms. */
export const AT_ONCE_BYTES = 128 * 1024;
/**
 * Shorter bodies lie in memory that Node shares among all of its links, 64 KiB a piece: one kept block would hold what came beside it, of
 * logs that are read at once, too.
 */
const SHARED_BELOW_BYTES = 32 * 1024;
/** What a block takes beside its bytes, as few as those may be: a cluster without work sends a handful each second, of some rows each. */
const BLOCK_BYTES = 512;

/**
 * Keeps blocks as they came. A program that nobody watches would else pay for tables that nobody reads: that was three quarters of the
 * observer's work.
 */
export class UnreadBlocks {
  private readonly _blocks = new Queue<UnreadBlock>();
  private _nbytes = 0;
  private _wholeBytes = 0;
  private _newest = 0;

  constructor(private readonly _mostBytes = MOST_BYTES) {}

  /** What they take of memory. */
  get nbytes(): number {
    return this._nbytes;
  }

  /** What is to be read: columns of one value take no memory until then, and the same time as others. */
  get wholeBytes(): number {
    return this._wholeBytes;
  }

  /** The newest block that waits, by their headers; 0: none. */
  get newest(): number {
    return this._newest;
  }

  /**
   * @returns whether they have to be read now: there are too many, or this is no block, which is to be told at once. Its header, its
   * lengths and where its texts end are looked at, which takes a hundredth of what reading takes; looking at its numbers would take six.
   */
  add(blob: Uint8Array): boolean {
    let isBroken = false;
    let wholeBytes = blob.length;
    try {
      const { seq, wholeBytes: whole } = checkBlock(blob);
      this._newest = Math.max(this._newest, seq);
      wholeBytes = whole;
    } catch {
      // (its reader says why)
      isBroken = true;
    }
    this._blocks.push({ blob: ownMemory(blob), wholeBytes });
    this._nbytes += blob.length + BLOCK_BYTES;
    this._wholeBytes += wholeBytes + BLOCK_BYTES;
    return isBroken || this._wholeBytes > this._mostBytes;
  }

  /** The one that came first of those that wait. */
  take(): Uint8Array | undefined {
    const block = this._blocks.shift();
    if (block !== undefined) {
      this._nbytes -= block.blob.length + BLOCK_BYTES;
      this._wholeBytes -= block.wholeBytes + BLOCK_BYTES;
    }
    if (this._blocks.length === 0) {
      // (from now on their reader knows: what is broken may have any number)
      this._newest = 0;
    }
    return block?.blob;
  }
}

type UnreadBlock = {
  readonly blob: Uint8Array;
  /** See {@link UnreadBlocks.wholeBytes}. */
  readonly wholeBytes: number;
};

/** The block in memory that nothing else lies in, if it is short. */
function ownMemory(blob: Uint8Array): Uint8Array {
  const isShared =
    blob.length < SHARED_BELOW_BYTES && blob.buffer.byteLength > blob.length;
  return isShared ? new Uint8Array(blob) : blob;
}
