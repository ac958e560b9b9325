/**
 * The one WebSocket of a page: opens it, decodes what comes, encodes what goes, and opens it again with growing pauses when it breaks.
 * Knows nothing of watches. Runs in the browser.
 */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from './disposing';
import type { Trans } from '../base/trans';
import { FrameDecoder, FrameEncoder } from '../wire/frame';
import type { FieldsInput, Message, TypeOf } from '../wire/schema';
import type { LinkStatus } from './feed-types';

/** The part of a WebSocket that is used; tests pass a fake. */
export interface ISocket {
  binaryType: BinaryType;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(): void;
}

export type ObserverFrame = Message<'panel', 'down'>;

/** 0.2, 0.4, 0.8 … 10 s, and as much as half of it more or less by chance, so that a hundred pages do not come back at once. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** Until an observer is there, look for one at least this often: a cluster started in a kernel should show soon. */
const OBSERVER_PAUSE_MS = 2_000;
/**
 * A socket that neither opens nor fails, or opens and says nothing (a proxy that swallows it), is given up after this. A server says nothing
 * while it starts an observer, which may take 40 s: of sockets that open each is waited for twice as long as the one before, up to 2 min.
 */
const SILENT_LIMIT_MS = 15_000;
/** A page that never was connected says what may be wrong after so many sockets in vain, and so long: a server that starts may take some. */
const SOCKETS_IN_VAIN = 3;
const IN_VAIN_MS = 10_000;

export class PageLink extends Disposing {
  private _status: LinkStatus = { kind: 'connecting' };
  private _socket: ISocket | null = null;
  private _isOpen = false;
  private _attempt = 0;
  /** When the first socket was asked for, wall clock milliseconds. */
  private _firstTry: number | undefined;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private readonly _encoder = new FrameEncoder('panel', 'up');
  private readonly _decoder = new FrameDecoder('panel', 'down');
  private readonly _statusChanged = new Signal<this, LinkStatus>(this);
  private readonly _received = new Signal<this, ObserverFrame>(this);
  private readonly _opened = new Signal<this, void>(this);

  constructor(private readonly _options: PageLink.IOptions) {
    super();
  }

  get status(): LinkStatus {
    return this._status;
  }

  get statusChanged(): ISignal<this, LinkStatus> {
    return this._statusChanged;
  }

  /** A message of the observer, or of the relay in its place. `state` messages have become the status already. */
  get received(): ISignal<this, ObserverFrame> {
    return this._received;
  }

  /** A new socket is open; the other end knows none of the earlier questions. */
  get opened(): ISignal<this, void> {
    return this._opened;
  }

  get isOpen(): boolean {
    return this._isOpen;
  }

  /** Open the socket now, also when a pause is running; nothing happens while one is open or being opened. */
  connect(): void {
    if (this.isDisposed || this._socket !== null) {
      return;
    }
    clearTimeout(this._timer);
    this._firstTry ??= Date.now();
    let socket: ISocket;
    try {
      socket = this._options.open();
    } catch (error) {
      // A bad address or a policy of the page; shown as a state, since trying again cannot help.
      this._setStatus({ kind: 'refused', sentence: sentenceOf(error) });
      return;
    }
    this._socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      // Longer each time: where all is slow it comes late, and yet it comes.
      this._waitForWord(2 ** Math.min(this._attempt, 3));
      this._isOpen = true;
      this._opened.emit();
    };
    socket.onmessage = event => this._onMessage(event.data);
    socket.onclose = () => this._onClose();
    this._waitForWord();
  }

  /** The socket is given up unless it opens in time, and then says something in time. */
  private _waitForWord(times = 1): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._onClose(), times * SILENT_LIMIT_MS);
  }

  /** Send a message; dropped while the link is down, since everything is asked again when it opens. */
  send<T extends TypeOf<'panel', 'up'>>(
    type: T,
    fields: FieldsInput<'panel', 'up', T>
  ): void {
    if (this._isOpen && this._socket !== null) {
      this._socket.send(this._encoder.encodeBody(type, fields));
    }
  }

  protected override end(): void {
    clearTimeout(this._timer);
    this._drop();
  }

  private _onMessage(data: unknown): void {
    if (!(data instanceof ArrayBuffer)) {
      return;
    }
    clearTimeout(this._timer);
    let message: ObserverFrame;
    try {
      message = this._decoder.decode(new Uint8Array(data));
    } catch (error) {
      this._setStatus({
        kind: 'version',
        sentence: this._options.trans.__(
          'Reload the page: the server sent what this page cannot read (%1).',
          sentenceOf(error)
        )
      });
      this._drop();
      return;
    }
    if (message.type === 'state') {
      const { state, sentence } = message.fields;
      this._setStatus({ kind: state, sentence });
      return;
    }
    if (message.type === 'refused') {
      const { code, sentence } = message.fields;
      this._setStatus({
        kind: code === 'protocol' ? 'version' : 'refused',
        sentence
      });
      return;
    }
    this._attempt = 0;
    this._setStatus({ kind: 'open' });
    this._received.emit(message);
  }

  private _onClose(): void {
    this._drop();
    if (this._status.kind === 'version') {
      return;
    }
    if (this._status.kind === 'open') {
      this._setStatus({ kind: 'reconnecting', since: Date.now() });
    }
    const limit =
      this._status.kind === 'no-observer'
        ? OBSERVER_PAUSE_MS
        : LONGEST_PAUSE_MS;
    const pause = Math.min(limit, FIRST_PAUSE_MS * 2 ** this._attempt);
    this._attempt += 1;
    if (this._attempt === 3 && this._status.kind === 'connecting') {
      void this._explain();
    }
    this._sayUnreachable();
    const chance = 0.5 + (this._options.random ?? Math.random)();
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this.connect(), pause * chance);
  }

  /** The socket never opened, and a browser does not say why: ask by a plain request. */
  private async _explain(): Promise<void> {
    const why = await this._options.explain?.();
    const { kind } = this._status;
    if (
      why &&
      !this.isDisposed &&
      (kind === 'connecting' || kind === 'unreachable')
    ) {
      this._setStatus(why);
    }
  }

  /** Nothing else is known of it: a proxy may refuse each socket, or accept it and close it, or keep it, before a message has come. */
  private _sayUnreachable(): void {
    if (
      this._status.kind !== 'connecting' ||
      this._attempt < SOCKETS_IN_VAIN ||
      Date.now() - (this._firstTry ?? Date.now()) < IN_VAIN_MS
    ) {
      return;
    }
    this._setStatus({
      kind: 'unreachable',
      sentence: this._options.trans.__(
        'The WebSocket between this page and the Jupyter server does not open, is closed at once, or stays silent. Perhaps a proxy between them lets no WebSockets through, or the server has ended. Run “%1” where JupyterLab runs; if it finds no fault, ask the administrator to let WebSockets through. The page goes on trying.',
        'spanwise doctor'
      )
    });
  }

  /** Drops the socket and ignores its further events. */
  private _drop(): void {
    const socket = this._socket;
    this._socket = null;
    this._isOpen = false;
    if (socket !== null) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  private _setStatus(status: LinkStatus): void {
    const had = this._status;
    if (
      had.kind === status.kind &&
      ('sentence' in had ? had.sentence : '') ===
        ('sentence' in status ? status.sentence : '')
    ) {
      return;
    }
    this._status = status;
    this._statusChanged.emit(status);
  }
}

export namespace PageLink {
  export interface IOptions {
    /** Translates the page's own sentences about its link. */
    readonly trans: Trans;
    /** Starts a new socket to the relay. */
    readonly open: () => ISocket;
    /** Why a socket does not open, as far as a plain request can tell; null if it cannot. */
    readonly explain?: () => Promise<LinkStatus | null>;
    /** 0 … 1, for the pauses. */
    readonly random?: () => number;
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
