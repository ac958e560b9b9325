/** A door: a listening socket that lets in only callers that hold its secret. Runs in the Node programs. */
import { createServer, type Server, type Socket } from 'node:net';
import { BrokenFrame } from '../wire/broken-frame';
import { BODY_LIMIT, FrameDecoder, FrameEncoder } from '../wire/frame';
import {
  Acceptor,
  CROWD_SENTENCE,
  HANDSHAKE_SECONDS,
  HandshakeRefused,
  MOST_STRANGERS,
  type Intro
} from '../wire/handshake';
import type { Role } from '../wire/handshake-messages';
import { addressOf, listenOptions, type Transport } from './addresses';
import { FramedSocket } from './framed-socket';
import { Link, refusal } from './link';
import { nodeCrypto } from './node-crypto';

/** A link that came in; `role` tells which messages it carries. */
export type AcceptedLink<R extends Role = Role> = R extends Role
  ? Link<R, 'down'>
  : never;

export type DoorOptions<R extends Role> = {
  readonly transport: Transport;
  /** Where the socket lies if it is a unix socket: a folder of mode 0700, and the name without `.sock`. */
  readonly folder: string;
  readonly name: string;
  readonly secret: Uint8Array;
  readonly build: string;
  /** Roles that are let in. */
  readonly roles: readonly R[];
  /** Returns the `intro` of `welcome`; throws HandshakeRefused to turn the caller away. */
  welcome?(role: R, intro: Intro): Intro;
  /** Gets each open link and calls its `start`. */
  onLink(link: AcceptedLink<R>): void;
  /** Called when a caller did not get in; for the log. */
  onRefused?(sentence: string, caller?: HandshakeRefused['caller']): void;
  /** Of tcp; 0 or left out: a free one. */
  readonly port?: number;
  readonly handshakeSeconds?: number;
};

/** An open door; after `close` no caller gets in, while open links stay. */
export class Door<R extends Role> {
  /** Callers within their handshake, oldest first, and how to turn each away. */
  private readonly _entering = new Map<
    FramedSocket,
    (code: string, sentence: string) => void
  >();

  static async open<R extends Role>(options: DoorOptions<R>): Promise<Door<R>> {
    const where = await listenOptions(
      options.transport,
      options.folder,
      options.name,
      options.port
    );
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return new Door(options, server, await addressOf(server));
  }

  private constructor(
    private readonly _options: DoorOptions<R>,
    private readonly _server: Server,
    /** The address that others dial. */
    readonly address: string
  ) {
    _server.on('connection', socket => this._shakeHands(socket));
    // accept() failed (too many open files): that caller is lost, the door stays open.
    _server.on('error', error => _options.onRefused?.(error.message));
  }

  /** Stop listening; those within their handshake are dropped. */
  async close(): Promise<void> {
    for (const socket of this._entering.keys()) {
      socket.destroy('The door was closed.');
    }
    if (!this._server.listening) {
      return;
    }
    // Resolves only when all its sockets are closed; the links that are open are their owner's business.
    this._server.close();
  }

  private _shakeHands(raw: Socket): void {
    const { secret, roles, build } = this._options;
    const socket = new FramedSocket(raw, BODY_LIMIT.unauthenticated);
    const acceptor = new Acceptor(nodeCrypto, { secret, roles, build });
    const decoder = new FrameDecoder('doorbell', 'up');
    const encoder = new FrameEncoder('doorbell', 'down');
    const refuse = (
      code: string,
      sentence: string,
      caller?: HandshakeRefused['caller']
    ): void => {
      clearTimeout(limit);
      this._entering.delete(socket);
      socket.handlers = null;
      socket.write(refusal(code, sentence));
      socket.end(sentence);
      this._options.onRefused?.(sentence, caller);
    };
    const seconds = this._options.handshakeSeconds ?? HANDSHAKE_SECONDS;
    const limit = setTimeout(
      () => refuse('time', `The handshake took longer than ${seconds} s.`),
      seconds * 1000
    );
    this._entering.set(socket, refuse);
    if (this._entering.size > MOST_STRANGERS) {
      // A caller proves the secret within milliseconds, so the oldest is the least likely to hold it.
      const [oldest] = this._entering.values();
      oldest?.('crowd', CROWD_SENTENCE);
    }

    const step = (): void => {
      for (let body = socket.next(); body !== null; body = socket.next()) {
        const answer = acceptor.receive(decoder.decode(body));
        if (answer !== null) {
          socket.write(encoder.encode(answer.type, answer.fields));
          continue;
        }
        if (acceptor.known !== null) {
          const role = acceptor.known.role as R;
          const { intro } = acceptor.known;
          const welcome = this._options.welcome?.(role, intro) ?? {};
          socket.write(encoder.encode('welcome', { intro: welcome }));
          clearTimeout(limit);
          this._entering.delete(socket);
          socket.handlers = null;
          socket.pause();
          this._options.onLink(
            new Link(socket, role, 'down', intro) as AcceptedLink<R>
          );
          return;
        }
      }
    };
    socket.handlers = {
      arrived: () => {
        try {
          step();
        } catch (error) {
          if (error instanceof HandshakeRefused) {
            refuse(error.code, error.sentence, error.caller);
          } else if (error instanceof BrokenFrame) {
            refuse('broken-frame', error.message);
          } else {
            socket.destroy(String(error));
            throw error;
          }
        }
      },
      drained: () => undefined,
      closed: () => {
        clearTimeout(limit);
        this._entering.delete(socket);
      }
    };
  }
}
