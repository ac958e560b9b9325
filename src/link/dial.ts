/** Connects to another process's door. Runs in the Node programs. */
import { connect } from 'node:net';
import { BODY_LIMIT, FrameDecoder, FrameEncoder } from '../wire/frame';
import {
  HANDSHAKE_SECONDS,
  HandshakeRefused,
  Initiator,
  type InitiatorAnswer,
  type Intro
} from '../wire/handshake';
import type { Role } from '../wire/handshake-messages';
import { connectOptions } from './addresses';
import { FramedSocket } from './framed-socket';
import { Link, refusal } from './link';
import { nodeCrypto } from './node-crypto';

type DialOptions<R extends Role> = {
  readonly address: string;
  readonly secret: Uint8Array;
  readonly role: R;
  readonly build: string;
  /** What this side says of itself, once the other side has proved that it holds the secret. */
  readonly intro?: Intro;
  /** For connecting and the whole handshake. */
  readonly timeoutSeconds?: number;
};

/**
 * @returns an open link, whose `intro` is the other side's welcome; call its `start`.
 * @throws HandshakeRefused with a sentence for people; Error when no answer comes in time.
 */
export function dial<R extends Role>(
  options: DialOptions<R>
): Promise<Link<R, 'up'>> {
  const { address, role } = options;
  const seconds = options.timeoutSeconds ?? HANDSHAKE_SECONDS;
  return new Promise((resolve, reject) => {
    const raw = connect(connectOptions(address));
    const socket = new FramedSocket(raw, BODY_LIMIT.unauthenticated);
    const initiator = new Initiator(nodeCrypto, options);
    const decoder = new FrameDecoder('doorbell', 'down');
    const encoder = new FrameEncoder('doorbell', 'up');
    const limit = setTimeout(
      () => fail(new Error(`${address} did not answer within ${seconds} s.`)),
      seconds * 1000
    );
    const fail = (error: Error): void => {
      clearTimeout(limit);
      socket.handlers = null;
      if (error instanceof HandshakeRefused) {
        socket.write(refusal(error.code, error.sentence));
        socket.end(error.sentence);
      } else {
        socket.destroy(error.message);
      }
      reject(error);
    };
    const send = (answer: InitiatorAnswer): void => {
      socket.write(
        answer.type === 'hello'
          ? encoder.encode('hello', answer.fields)
          : encoder.encode('proof', answer.fields)
      );
    };
    const step = (): void => {
      for (let body = socket.next(); body !== null; body = socket.next()) {
        const answer = initiator.receive(decoder.decode(body));
        if (answer !== null) {
          send(answer);
        } else if (initiator.welcome !== null) {
          clearTimeout(limit);
          socket.handlers = null;
          socket.pause();
          resolve(new Link(socket, role, 'up', initiator.welcome));
          return;
        }
      }
    };
    socket.handlers = {
      arrived: () => {
        try {
          step();
        } catch (error) {
          fail(error instanceof Error ? error : new Error(String(error)));
        }
      },
      drained: () => undefined,
      closed: why => fail(new Error(`Nobody answers at ${address}: ${why}`))
    };
    raw.once('connect', () => send(initiator.hello()));
  });
}
