import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { FrameDecoder, FrameEncoder } from '../frame';
import {
  Acceptor,
  HandshakeRefused,
  type IHandshakeCrypto,
  Initiator
} from '../handshake';
import type { Role } from '../handshake-messages';
import type { Message } from '../schema';

const secret = new Uint8Array(32).fill(5);

/** Nonces that count up instead of chance. */
function counting(start: number): IHandshakeCrypto {
  return {
    random: length => Uint8Array.from({ length }, (_, i) => start + i),
    hmac: (key, data) => createHmac('sha256', key).update(data).digest(),
    equal: (a, b) => Buffer.compare(a, b) === 0
  };
}
const initiator = (role: Role = 'worker', key = secret): Initiator =>
  new Initiator(counting(0), {
    secret: key,
    role,
    build: '1.0.0',
    intro: { worker: 1 }
  });
const acceptor = (...roles: Role[]): Acceptor =>
  new Acceptor(counting(100), {
    secret,
    roles: roles.length > 0 ? roles : ['worker'],
    build: '2.0.0'
  });

type Up = Message<'doorbell', 'up'>;
type Down = Message<'doorbell', 'down'>;
/** A message as the other side receives it. */
const up = (answer: { type: string; fields: object } | null): Up =>
  new FrameDecoder('doorbell', 'up').decode(
    new FrameEncoder('doorbell', 'up').encodeBody(
      answer?.type as 'hello',
      answer?.fields as never
    )
  );
const down = (answer: { type: string; fields: object } | null): Down =>
  new FrameDecoder('doorbell', 'down').decode(
    new FrameEncoder('doorbell', 'down').encodeBody(
      answer?.type as 'challenge',
      answer?.fields as never
    )
  );

describe('the handshake', () => {
  it('makes both sides known to each other', () => {
    const a = initiator();
    const b = acceptor();
    const challenge = b.receive(up(a.hello()));
    expect(b.known).toBeNull();
    const proof = a.receive(down(challenge));
    expect(b.receive(up(proof))).toBeNull();
    expect(b.known).toEqual({ role: 'worker', intro: { worker: 1 } });
    expect(a.welcome).toBeNull();
    const welcome = down({ type: 'welcome', fields: { intro: { id: 3 } } });
    expect(a.receive(welcome)).toBeNull();
    expect(a.welcome).toEqual({ id: 3 });
  });

  it('proves the secret as the Python side does', () => {
    // The same values as in spanwise/tests/test_wire_handshake.py.
    const b = acceptor();
    const challenge = b.receive(up(initiator().hello()));
    expect(Buffer.from(challenge?.fields.proof ?? []).toString('hex')).toBe(
      'a4e475ca3d734c40ebf30d4a2d22a59bd9f4c3ff5bb42f8a2044190b89869bab'
    );
    const proof = initiator().receive(down(challenge));
    expect(
      proof?.type === 'proof' && Buffer.from(proof.fields.proof).toString('hex')
    ).toBe('be77610f569f3d1516c839bf6b949c8032a07740c69364fdc7486ee4cb4b0ae6');
  });

  it('has the caller check first, so that it tells an impostor nothing', () => {
    const challenge = acceptor().receive(up(initiator().hello()));
    const deceived = initiator('worker', new Uint8Array(32));
    expect(() => deceived.receive(down(challenge))).toThrow(
      'does not hold its secret'
    );
  });

  it('does not take one’s own proof for the other’s', () => {
    const b = acceptor();
    const challenge = b.receive(up(initiator().hello()));
    const reflected = {
      type: 'proof',
      fields: { proof: challenge?.fields.proof, intro: {} }
    };
    expect(() => b.receive(up(reflected))).toThrow("is not this door's");
  });

  it('is bound to the role and to this door', () => {
    expect(() => acceptor('source').receive(up(initiator().hello()))).toThrow(
      'This door is not for "worker".'
    );
    const challenge = acceptor('client').receive(
      up(initiator('client').hello())
    );
    expect(() => initiator('worker').receive(down(challenge))).toThrow(
      HandshakeRefused
    );
  });

  it.each([
    [
      2,
      'Run "pip install --upgrade spanwise" in the environment of the scheduler'
    ],
    [0, 'Run "pip install --upgrade spanwise" in the environment of the worker']
  ])('tells protocol %i what to upgrade', (protocol, sentence) => {
    const hello = initiator().hello();
    const other = { ...hello, fields: { ...hello.fields, protocol } };
    expect(() => acceptor().receive(up(other))).toThrow(sentence);
  });

  it.each([0, 1, 15, 17, 4096])(
    'refuses a nonce of %i bytes, and answers it with no proof',
    length => {
      const hello = initiator().hello();
      const fields = { ...hello.fields, nonce: new Uint8Array(length) };
      const b = acceptor();
      expect(() => b.receive(up({ ...hello, fields }))).toThrow(
        'A nonce has 16 bytes.'
      );
      // Nothing has begun: a proof is out of order.
      const proof = { proof: new Uint8Array(32), intro: {} };
      expect(() => b.receive(up({ type: 'proof', fields: proof }))).toThrow(
        'does not belong here'
      );
    }
  );

  it('stands anything in any order', () => {
    const messages: Up[] = [
      up(initiator().hello()),
      up({ type: 'proof', fields: { proof: new Uint8Array(32), intro: {} } }),
      up({ type: 'proof', fields: { proof: new Uint8Array(3) } }),
      up({ type: 'refused', fields: { code: 'x', sentence: 'y' } }),
      up({ type: 'ring', fields: {} })
    ];
    const sequence = fc.array(fc.constantFrom(...messages), { maxLength: 6 });
    fc.assert(
      fc.property(sequence, received => {
        const b = acceptor('worker');
        try {
          received.forEach(message => b.receive(message));
        } catch (error) {
          expect(error).toBeInstanceOf(HandshakeRefused);
        }
        expect(b.known).toBeNull();
      })
    );
  });
});
