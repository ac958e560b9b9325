/**
 * Cuts a stream into bodies, each copied once: out of the chunk in which the socket gave it, into 8-aligned memory of its own.
 *
 * Bodies are pulled one at a time, because the one before may change the limit of the next (the welcome ends the 64 KiB of strangers).
 */
import { BrokenFrame } from '../wire/broken-frame';

const PREFIX_BYTES = 4;

/**
 * Node's pool gives short bodies out 8-aligned. Long ones are not zeroed: pages that the socket's bytes have not touched take no memory,
 * so a length alone claims none.
 */
function room(length: number): Buffer {
  try {
    return Buffer.allocUnsafe(length);
  } catch (error) {
    // Address space may be limited, and one sender's message must not end the process.
    throw new BrokenFrame(
      `There is no memory for a message of ${length} bytes: ${String(error)}`
    );
  }
}

export class FrameSplitter {
  private _chunks: Buffer[] = [];
  /** Read position in the first chunk. */
  private _at = 0;
  private _available = 0;
  private _body: Buffer | null = null;
  private _filled = 0;
  private readonly _prefix = Buffer.alloc(PREFIX_BYTES);

  /** @param limit longest body to accept, in bytes. */
  constructor(public limit: number) {}

  /** Add what the socket gave. */
  push(chunk: Buffer): void {
    this._chunks.push(chunk);
    this._available += chunk.length;
  }

  /**
   * @returns the next complete body, or null: more bytes are needed.
   * @throws BrokenFrame over the limit.
   */
  next(): Uint8Array | null {
    if (this._body === null) {
      if (this._available < PREFIX_BYTES) {
        return null;
      }
      const length = this._peekLength();
      if (length > this.limit) {
        throw new BrokenFrame(
          `A message of ${length} bytes is longer than the ${this.limit} allowed.`
        );
      }
      this._copy(this._prefix, 0, PREFIX_BYTES);
      this._body = room(length);
      this._filled = 0;
    }
    const wanted = Math.min(this._body.length - this._filled, this._available);
    this._copy(this._body, this._filled, wanted);
    this._filled += wanted;
    if (this._filled < this._body.length) {
      return null;
    }
    const body = this._body;
    this._body = null;
    return body;
  }

  private _peekLength(): number {
    const first = this._chunks[0];
    if (first !== undefined && first.length - this._at >= PREFIX_BYTES) {
      return first.readUInt32LE(this._at);
    }
    // The prefix lies across chunks, at most once per chunk.
    const rest = Buffer.concat(this._chunks).subarray(this._at);
    this._chunks = [rest];
    this._at = 0;
    return rest.readUInt32LE(0);
  }

  /** Move `count` available bytes to `target`. */
  private _copy(target: Buffer, start: number, count: number): void {
    let done = 0;
    while (done < count) {
      const chunk = this._chunks[0];
      if (chunk === undefined) {
        throw new Error('Fewer bytes than counted.');
      }
      const copied = Math.min(count - done, chunk.length - this._at);
      chunk.copy(target, start + done, this._at, this._at + copied);
      done += copied;
      this._at += copied;
      if (this._at === chunk.length) {
        this._chunks.shift();
        this._at = 0;
      }
    }
    this._available -= count;
  }
}
