/**
 * The mutual challenge-response that opens every link (docs/contracts.md §2). Pure: a message goes in, the answer comes out;
 * sockets, time limits and the cryptography are the caller's.
 *
 *     initiator                      acceptor
 *     hello()             ─────▶     receive() ─▶ challenge
 *     receive() ─▶ proof  ─────▶     receive() ─▶ known: role and intro are true
 *     receive() ─▶ open   ◀─────     welcome()
 */
import type { Message } from './schema';
import { PROTOCOL, ROLES, type Role } from './handshake-messages';

/** What the handshake needs of the platform. */
export interface IHandshakeCrypto {
  /** Unpredictable bytes. */
  random(byteLength: number): Uint8Array;
  /** HMAC-SHA256. */
  hmac(secret: Uint8Array, data: Uint8Array): Uint8Array;
  /** Whether two byte strings are equal, in a time that does not tell where they differ. */
  equal(a: Uint8Array, b: Uint8Array): boolean;
}

/** A caller was turned away, with a sentence for people. */
export class HandshakeRefused extends Error {
  override readonly name = 'HandshakeRefused';

  /** @param caller - what the refused caller said of itself, if that is the reason; unproved. */
  constructor(
    readonly code: string,
    readonly sentence: string,
    readonly caller?: { readonly role: string; readonly protocol: number }
  ) {
    super(sentence);
  }
}

const NONCE_BYTES = 16;
/** Seconds that a handshake may take. */
export const HANDSHAKE_SECONDS = 10;
/** Callers that may be within their handshakes at one door; beyond that the oldest is turned away. */
export const MOST_STRANGERS = 64;
/** Told to a caller that is turned away and has done nothing wrong. */
export const CROWD_SENTENCE = `More than ${MOST_STRANGERS} connections were waiting for their handshake; this one, the oldest, was closed. Try again.`;

/** The calling and the answering side of each role, in words. */
const SIDES: Readonly<Record<Role, readonly [string, string]>> = {
  client: ['client', 'scheduler'],
  worker: ['worker', 'scheduler'],
  peer: ['caller', 'worker'],
  source: ['cluster', 'observer'],
  panel: ['Jupyter server', 'observer'],
  doorbell: ['kernel', 'Jupyter server']
};

type Party = { readonly protocol: number; readonly build: string };
export type Intro = Readonly<Record<string, unknown>>;

const isRole = (text: string): text is Role =>
  (ROLES as readonly string[]).includes(text);

/** Why these two cannot talk, and which one to upgrade. */
export function protocolSentence(
  role: string,
  initiator: Party,
  acceptor: Party
): string {
  const [dials, answers] = isRole(role)
    ? SIDES[role]
    : (['caller', 'other side'] as const);
  const older = initiator.protocol < acceptor.protocol ? dials : answers;
  return (
    `The ${dials} has Spanwise ${initiator.build} (protocol ${initiator.protocol}), ` +
    `the ${answers} Spanwise ${acceptor.build} (protocol ${acceptor.protocol}): they cannot talk. ` +
    `Run "pip install --upgrade spanwise" in the environment of the ${older} and restart it.`
  );
}

/** The proof that only a holder of the secret can compute; `side` keeps the two sides' proofs apart. */
function proofOf(
  crypto: IHandshakeCrypto,
  side: 'acceptor' | 'initiator',
  secret: Uint8Array,
  role: string,
  nonces: readonly [initiator: Uint8Array, acceptor: Uint8Array]
): Uint8Array {
  const text = new TextEncoder().encode(`${side}:${role}`);
  const data = new Uint8Array(
    text.length + nonces[0].length + nonces[1].length
  );
  data.set(text);
  data.set(nonces[0], text.length);
  data.set(nonces[1], text.length + nonces[0].length);
  return crypto.hmac(secret, data);
}

type InitiatorOptions = {
  readonly secret: Uint8Array;
  readonly role: Role;
  readonly build: string;
  readonly intro?: Intro;
};

/** A message of the handshake to be sent. */
export type InitiatorAnswer =
  | {
      readonly type: 'hello';
      readonly fields: Party & {
        readonly role: string;
        readonly nonce: Uint8Array;
      };
    }
  | {
      readonly type: 'proof';
      readonly fields: { readonly proof: Uint8Array; readonly intro: Intro };
    };

// The handshake's messages are the same on every link, so the link with the fewest messages stands for all.
type FromInitiator = Message<'doorbell', 'up'>;
type FromAcceptor = Message<'doorbell', 'down'>;

/** The side that dialled. */
export class Initiator {
  /** What the other side said about itself; null until the link is open. */
  welcome: Intro | null = null;

  private readonly _nonce: Uint8Array;
  private _proved = false;

  constructor(
    private readonly _crypto: IHandshakeCrypto,
    private readonly _options: InitiatorOptions
  ) {
    this._nonce = _crypto.random(NONCE_BYTES);
  }

  hello(): InitiatorAnswer {
    const { role, build } = this._options;
    return {
      type: 'hello',
      fields: { protocol: PROTOCOL, build, role, nonce: this._nonce }
    };
  }

  /**
   * @returns the answer, or null: the link is open.
   * @throws HandshakeRefused by the other side, or because it does not hold the secret.
   */
  receive(message: FromAcceptor): InitiatorAnswer | null {
    const { secret, role, build, intro } = this._options;
    if (message.type === 'refused') {
      throw new HandshakeRefused(message.fields.code, message.fields.sentence);
    }
    if (message.type === 'challenge' && !this._proved) {
      const theirs = message.fields;
      if (theirs.protocol !== PROTOCOL) {
        throw new HandshakeRefused(
          'protocol',
          protocolSentence(role, { protocol: PROTOCOL, build }, theirs)
        );
      }
      const nonces = [this._nonce, theirs.nonce] as const;
      const expected = proofOf(this._crypto, 'acceptor', secret, role, nonces);
      if (!this._crypto.equal(expected, theirs.proof)) {
        throw new HandshakeRefused(
          'secret',
          'The process at this address does not hold its secret.'
        );
      }
      this._proved = true;
      return {
        type: 'proof',
        fields: {
          proof: proofOf(this._crypto, 'initiator', secret, role, nonces),
          intro: intro ?? {}
        }
      };
    }
    if (message.type === 'welcome' && this._proved) {
      this.welcome = message.fields.intro;
      return null;
    }
    throw outOfOrder(message.type);
  }
}

type AcceptorOptions = {
  readonly secret: Uint8Array;
  /** Roles that are let in. */
  readonly roles: readonly Role[];
  readonly build: string;
};

type Challenge = {
  readonly type: 'challenge';
  readonly fields: Party & {
    readonly nonce: Uint8Array;
    readonly proof: Uint8Array;
  };
};

/** The side that was dialled. It sends `welcome` itself once {@link known} is there. */
export class Acceptor {
  /** The caller; null until it has proved that it holds the secret. */
  known: { readonly role: Role; readonly intro: Intro } | null = null;

  private readonly _nonce: Uint8Array;
  private _hello: { readonly role: Role; readonly nonce: Uint8Array } | null =
    null;

  constructor(
    private readonly _crypto: IHandshakeCrypto,
    private readonly _options: AcceptorOptions
  ) {
    this._nonce = _crypto.random(NONCE_BYTES);
  }

  /**
   * @returns the answer, or null: the other side is {@link known} and waits for `welcome`.
   * @throws HandshakeRefused to be sent to the other side as `refused`.
   */
  receive(message: FromInitiator): Challenge | null {
    const { secret, roles, build } = this._options;
    if (message.type === 'refused') {
      throw new HandshakeRefused(message.fields.code, message.fields.sentence);
    }
    if (message.type === 'hello' && this._hello === null) {
      const { protocol, role, nonce } = message.fields;
      if (protocol !== PROTOCOL) {
        throw new HandshakeRefused(
          'protocol',
          protocolSentence(role, message.fields, { protocol: PROTOCOL, build }),
          { role, protocol }
        );
      }
      if (!isRole(role) || !roles.includes(role)) {
        throw new HandshakeRefused(
          'role',
          `This door is not for "${role.slice(0, 20)}".`
        );
      }
      if (nonce.length !== NONCE_BYTES) {
        throw new HandshakeRefused(
          'nonce',
          `A nonce has ${NONCE_BYTES} bytes.`
        );
      }
      this._hello = { role, nonce };
      return {
        type: 'challenge',
        fields: {
          protocol: PROTOCOL,
          build,
          nonce: this._nonce,
          proof: proofOf(this._crypto, 'acceptor', secret, role, [
            nonce,
            this._nonce
          ])
        }
      };
    }
    if (message.type === 'proof' && this._hello !== null && !this.known) {
      const { role, nonce } = this._hello;
      const expected = proofOf(this._crypto, 'initiator', secret, role, [
        nonce,
        this._nonce
      ]);
      if (!this._crypto.equal(expected, message.fields.proof)) {
        throw new HandshakeRefused(
          'secret',
          'The caller has the wrong secret.'
        );
      }
      this.known = { role, intro: message.fields.intro };
      return null;
    }
    throw outOfOrder(message.type);
  }
}

function outOfOrder(type: string): HandshakeRefused {
  return new HandshakeRefused('order', `"${type}" does not belong here.`);
}
