/**
 * A stream socket that carries bodies: reads are cut into frames as they come, writes wait for the end of the turn and leave together, in
 * their order. Knows nothing of messages; `link.ts` stands on it once the handshake is over.
 */
import type { Socket } from 'node:net';
import type { EncodedFrame } from '../wire/frame';
import { FrameSplitter } from './frame-splitter';

/** How long the last bytes may take to leave. */
const FAREWELL_MS = 5000;
/** What is not urgent waits at most so long for something else to leave with: to wake the other side costs more than the frame itself. */
const PATIENCE_MS = 5;
/** Chunks that are no longer together leave as one: to copy them takes a microsecond or two, and a gathered write of several six more. */
const COPIED_BYTES = 16 * 1024;

type FramedSocketHandlers = {
  /** Bytes came: pull bodies with `next()` until it gives null. Called once per read of the socket. */
  arrived(): void;
  /** The socket takes more again, after `queuedBytes` was high. */
  drained(): void;
  /** Called once, whichever side closed; `why` is for a log or a sentence. */
  closed(why: string): void;
};

export class FramedSocket {
  handlers: FramedSocketHandlers | null = null;

  private readonly _splitter: FrameSplitter;
  private _outgoing: Uint8Array[] = [];
  private _outgoingBytes = 0;
  /** The end of the turn, at which what waits is written; undefined: nothing of it is urgent. */
  private _turnEnd: NodeJS.Immediate | undefined;
  /** When that which is not urgent is written by itself. */
  private _patienceEnd: NodeJS.Timeout | undefined;
  /** This side has asked to close: nothing more is read or written. */
  private _ended = false;
  private _closed = false;
  private _why = 'The other side closed the connection.';

  constructor(
    private readonly _socket: Socket,
    limit: number
  ) {
    this._splitter = new FrameSplitter(limit);
    _socket.on('data', (chunk: Buffer) => {
      if (this._ended) {
        return;
      }
      this._splitter.push(chunk);
      this.handlers?.arrived();
    });
    _socket.on('drain', () => this.handlers?.drained());
    _socket.on('error', error => {
      this._why = error.message;
    });
    _socket.on('close', () => {
      this._closed = true;
      this._outgoing = [];
      clearTimeout(this._patienceEnd);
      const handlers = this.handlers;
      this.handlers = null;
      handlers?.closed(this._why);
    });
  }

  get closed(): boolean {
    return this._closed || this._socket.destroyed;
  }

  get limit(): number {
    return this._splitter.limit;
  }

  set limit(bytes: number) {
    this._splitter.limit = bytes;
  }

  /** The next complete body. Throws BrokenFrame. */
  next(): Uint8Array | null {
    return this._ended ? null : this._splitter.next();
  }

  /** Bytes that were written and that the system has not taken yet. */
  get queuedBytes(): number {
    return this._outgoingBytes + this._socket.writableLength;
  }

  /** Write at the end of this turn of the event loop, together with what else comes until then. */
  write(frame: EncodedFrame): void {
    if (this.closed || this._ended) {
      return;
    }
    this._turnEnd ??= setImmediate(() => this.flush());
    this._keep(frame);
  }

  /** Write with what is written next, or by itself after some milliseconds. */
  writeLater(frame: EncodedFrame): void {
    if (this.closed || this._ended) {
      return;
    }
    this._patienceEnd ??= setTimeout(() => this._writeAll(), PATIENCE_MS);
    this._keep(frame);
  }

  private _keep(frame: EncodedFrame): void {
    // One by one: a call takes no more than some 120,000 arguments.
    for (const chunk of frame.chunks) {
      this._outgoing.push(chunk);
    }
    this._outgoingBytes += frame.bodyLength + 4;
  }

  /** Write now what waits for the end of the turn, and what came before it. */
  flush(): void {
    if (this._turnEnd !== undefined) {
      this._writeAll();
    }
  }

  private _writeAll(): void {
    const chunks = this._outgoing;
    const nbytes = this._outgoingBytes;
    // Else the event loop would go round once more for nothing.
    clearImmediate(this._turnEnd);
    this._turnEnd = undefined;
    clearTimeout(this._patienceEnd);
    this._patienceEnd = undefined;
    if (chunks.length === 0) {
      return;
    }
    this._outgoing = [];
    this._outgoingBytes = 0;
    if (this.closed || this._ended) {
      return;
    }
    if (chunks.length === 1) {
      this._socket.write(chunks[0]!);
      return;
    }
    if (nbytes <= COPIED_BYTES) {
      this._socket.write(Buffer.concat(chunks));
      return;
    }
    // Corked, all chunks leave in one gathered system call.
    this._socket.cork();
    for (const chunk of chunks) {
      this._socket.write(chunk);
    }
    this._socket.uncork();
  }

  /** Stop reading, so that the other side has to wait. */
  pause(): void {
    this._socket.pause();
  }

  resume(): void {
    this._socket.resume();
  }

  /** Flush, then close; what the other side still sends is not read. */
  end(why: string): void {
    if (this.closed || this._ended) {
      return;
    }
    this._why = why;
    this._writeAll();
    this._ended = true;
    this._socket.end(() => this._socket.destroy());
    // A peer that does not read must not keep the socket for ever.
    setTimeout(() => this._socket.destroy(), FAREWELL_MS).unref();
  }

  /** Close at once. */
  destroy(why: string): void {
    if (!this._closed) {
      this._why = this._ended ? this._why : why;
      this._ended = true;
      this._socket.destroy();
    }
  }

  /** Let the process end although this socket is open. */
  unref(): void {
    this._socket.unref();
  }
}
