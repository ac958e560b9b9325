/**
 * One open, authenticated link: messages in batches, one batch per read of the socket; writes leave together at the end of the turn.
 * Runs in the Node programs.
 */
import { BrokenFrame, WrongMessage } from '../wire/broken-frame';
import type { Direction } from '../wire/describe';
import {
  BODY_LIMIT,
  FrameDecoder,
  FrameEncoder,
  type EncodedFrame
} from '../wire/frame';
import type { Intro } from '../wire/handshake';
import type {
  FieldsInput,
  LinkName,
  Message,
  TablesInput,
  TypeOf
} from '../wire/schema';
import type { FramedSocket } from './framed-socket';

type Back<S extends Direction> = S extends 'up' ? 'down' : 'up';

type LinkHandlers<L extends LinkName, S extends Direction> = {
  /** Everything that one read of the socket completed, in order. */
  messages(batch: readonly Message<L, Back<S>>[]): void;
  /** Called once, whichever side closed. */
  closed(why: string): void;
  /** A whole frame with wrong fields came, behind what was delivered so far; false, or no handler: the link is refused for it. */
  wrong?(message: WrongMessage): boolean;
  /** The system takes more again, after {@link Link.queuedBytes} had grown. */
  drained?(): void;
};

/** One side turned the other away after the handshake. */
export type LinkRefusal = {
  readonly by: 'us' | 'them';
  readonly code: string;
  readonly sentence: string;
};

/**
 * @typeParam L the link's role.
 * @typeParam S what this side sends: `up` if it dialled.
 */
export class Link<L extends LinkName, S extends Direction> {
  private readonly _encoder: FrameEncoder<L, S>;
  private readonly _decoder: FrameDecoder<L, Back<S>>;
  private _refusal: LinkRefusal | null = null;

  /** @param intro what the other side said about itself: in `proof`, or in `welcome`. */
  constructor(
    private readonly _socket: FramedSocket,
    readonly role: L,
    readonly sends: S,
    readonly intro: Intro
  ) {
    const limit = role === 'panel' ? BODY_LIMIT.panel : BODY_LIMIT.link;
    const receives = (sends === 'up' ? 'down' : 'up') as Back<S>;
    this._encoder = new FrameEncoder(role, sends, limit);
    this._decoder = new FrameDecoder(role, receives);
    _socket.limit = limit;
  }

  /** Start to deliver; nothing that came before is lost. */
  start(handlers: LinkHandlers<L, S>): void {
    const socket = this._socket;
    // A link that broke since the handshake is reported like any other end, and not within this call.
    const hasClosed = socket.closed;
    socket.handlers = hasClosed
      ? null
      : {
          arrived: () => this._deliver(handlers),
          drained: () => handlers.drained?.(),
          closed: why => handlers.closed(why)
        };
    socket.resume();
    setImmediate(() => {
      this._deliver(handlers);
      if (hasClosed) {
        handlers.closed('The other side closed the connection.');
      }
    });
  }

  get closed(): boolean {
    return this._socket.closed;
  }

  /** Why the link ended, if one side refused the other. */
  get refusal(): LinkRefusal | null {
    return this._refusal;
  }

  /** Bytes sent that the system has not taken yet: producers look at this before they make more. */
  get queuedBytes(): number {
    return this._socket.queuedBytes;
  }

  /**
   * Encode now, so that columns may be reused at once (blobs may not), and write at the end of the turn.
   * On a closed link nothing happens: `closed` has told, or will.
   *
   * @throws FrameTooLong
   */
  send<T extends TypeOf<L, S>>(
    type: T,
    fields: FieldsInput<L, S, T>,
    tables?: TablesInput<L, S, T>,
    blobs?: readonly Uint8Array[]
  ): void {
    this._socket.write(this._encoder.encode(type, fields, tables, blobs));
  }

  /** As {@link Link.send}, of what nobody waits for: it leaves with what is sent next, or by itself after some milliseconds. */
  sendLater<T extends TypeOf<L, S>>(
    type: T,
    fields: FieldsInput<L, S, T>,
    tables?: TablesInput<L, S, T>,
    blobs?: readonly Uint8Array[]
  ): void {
    this._socket.writeLater(this._encoder.encode(type, fields, tables, blobs));
  }

  /** Write now instead of at the end of the turn; not if all that waits may wait longer. */
  flush(): void {
    this._socket.flush();
  }

  /** Stops and resumes reading: back-pressure on the other side. */
  pause(): void {
    this._socket.pause();
  }

  resume(): void {
    this._socket.resume();
  }

  /** Say why, then close. */
  refuse(code: string, sentence: string): void {
    this._refusal ??= { by: 'us', code, sentence };
    this._socket.write(refusal(code, sentence));
    this._socket.end(sentence);
  }

  /** Flush, then close. Twice is safe. */
  close(why = 'The link was closed here.'): void {
    this._socket.end(why);
  }

  /** Close without flushing. */
  destroy(why = 'The link was closed here.'): void {
    this._socket.destroy(why);
  }

  private _deliver(handlers: LinkHandlers<L, S>): void {
    let batch: Message<L, Back<S>>[] = [];
    let broken: BrokenFrame | null = null;
    for (let isMore = true; isMore;) {
      try {
        const body = this._socket.next();
        isMore = body !== null;
        if (body !== null) {
          batch.push(this._decoder.decode(body));
        }
      } catch (error) {
        if (!(error instanceof BrokenFrame)) {
          throw error;
        }
        isMore = false;
        broken = error;
        if (error instanceof WrongMessage && handlers.wrong !== undefined) {
          // In order: it may follow from what came before.
          if (batch.length > 0) {
            handlers.messages(batch);
            batch = [];
          }
          isMore = this.closed || handlers.wrong(error);
          broken = isMore ? null : error;
        }
      }
    }
    const last = batch.at(-1);
    const refused = last?.type === 'refused' ? last : null;
    if (refused !== null) {
      batch.pop();
    }
    if (batch.length > 0) {
      handlers.messages(batch);
    }
    if (broken !== null) {
      this.refuse('broken-frame', broken.message);
    } else if (refused !== null) {
      const { code, sentence } = refused.fields as Omit<LinkRefusal, 'by'>;
      this._refusal ??= { by: 'them', code, sentence };
      this._socket.destroy(sentence);
    }
  }
}

/** `refused` is the same on every link and in both directions. */
export function refusal(code: string, sentence: string): EncodedFrame {
  return new FrameEncoder('doorbell', 'down').encode('refused', {
    code,
    sentence
  });
}
