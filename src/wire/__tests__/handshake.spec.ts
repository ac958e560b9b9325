import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { FrameDecoder, FrameEncoder } from '../frame';
import {
  Acceptor,
  HandshakeRefused,
  type IHandshakeCrypto,
  Initiator,
  protocolSentence
} from '../handshake';
import { PROTOCOL, ROLES, type Role } from '../handshake-messages';
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
    expect(() => b.receive(up(reflected))).toThrow('has the wrong secret');
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
      PROTOCOL + 1,
      'Run "pip install --upgrade spanwise" in the environment of the scheduler'
    ],
    [
      PROTOCOL - 1,
      'Run "pip install --upgrade spanwise" in the environment of the worker'
    ]
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

  it('asks chance for 16 bytes a side, and sends them', () => {
    const asked: number[] = [];
    const crypto: IHandshakeCrypto = {
      ...counting(7),
      random: length => {
        asked.push(length);
        return counting(7 * asked.length).random(length);
      }
    };
    const a = new Initiator(crypto, { secret, role: 'source', build: '3' });
    const b = new Acceptor(crypto, { secret, roles: ['source'], build: '4' });
    expect(asked).toEqual([16, 16]);
    const hello = a.hello();
    const challenge = b.receive(up(hello));
    expect(hello).toMatchObject({
      type: 'hello',
      fields: { protocol: PROTOCOL, build: '3', role: 'source' }
    });
    expect(challenge).toMatchObject({
      type: 'challenge',
      fields: { protocol: PROTOCOL, build: '4' }
    });
    expect(hello.type === 'hello' && [...hello.fields.nonce]).toEqual(
      Array.from({ length: 16 }, (_, i) => 7 + i)
    );
    expect([...challenge!.fields.nonce]).toEqual(
      Array.from({ length: 16 }, (_, i) => 14 + i)
    );
    // Without an intro it says an empty one.
    const proof = a.receive(down(challenge));
    expect(proof?.fields).toHaveProperty('intro', {});
  });

  it('takes each message once, and in its turn', () => {
    const codeOf = (act: () => unknown): string => {
      try {
        act();
      } catch (error) {
        return (error as HandshakeRefused).code;
      }
      return 'taken';
    };
    const a = initiator();
    const b = acceptor();
    const welcome = down({ type: 'welcome', fields: {} });
    const hello = up(a.hello());
    expect(codeOf(() => a.receive(welcome))).toBe('order');
    expect(a.welcome).toBeNull();
    const challenge = down(b.receive(hello));
    expect(codeOf(() => b.receive(hello))).toBe('order');
    const proof = up(a.receive(challenge));
    expect(codeOf(() => a.receive(challenge))).toBe('order');
    expect(codeOf(() => b.receive(proof))).toBe('taken');
    expect(codeOf(() => b.receive(proof))).toBe('order');
    expect(codeOf(() => b.receive(hello))).toBe('order');
    expect(b.known).toEqual({ role: 'worker', intro: { worker: 1 } });
    expect(codeOf(() => a.receive(welcome))).toBe('taken');
    expect(a.welcome).toEqual({});
  });

  it('ends on either side with what the other one says', () => {
    const refused = { type: 'refused', fields: { code: 'c', sentence: 's' } };
    for (const receive of [
      () => initiator().receive(down(refused)),
      () => acceptor().receive(up(refused))
    ]) {
      expect(receive).toThrow(
        expect.objectContaining({
          name: 'HandshakeRefused',
          code: 'c',
          sentence: 's',
          message: 's'
        })
      );
    }
  });

  it('tells the door what a caller of another protocol said of itself', () => {
    const { type, fields } = initiator().hello();
    const other = { type, fields: { ...fields, protocol: 9 } };
    expect(() => acceptor().receive(up(other))).toThrow(
      expect.objectContaining({
        code: 'protocol',
        caller: { role: 'worker', protocol: 9 }
      })
    );
  });

  it('tells the caller which side of a door of another protocol to upgrade', () => {
    const challenge = acceptor().receive(up(initiator().hello()));
    for (const [protocol, older] of [
      [PROTOCOL - 1, 'scheduler'],
      [PROTOCOL + 1, 'worker']
    ] as const) {
      const fields = { ...challenge!.fields, protocol };
      expect(() =>
        initiator().receive(down({ type: 'challenge', fields }))
      ).toThrow(
        expect.objectContaining({
          code: 'protocol',
          message: expect.stringMatching(
            new RegExp(
              `worker has Spanwise 1\\.0\\.0 .*in the environment of the ${older} `
            )
          ) as string
        })
      );
    }
  });

  it('names both sides of every link, and of one that nobody knows', () => {
    const parties = [
      { protocol: 1, build: '1.0.0' },
      { protocol: 2, build: '2.0.0' }
    ] as const;
    const sidesOf = (role: string): string[] =>
      /^The (.+) has .*, the (.+) Spanwise/
        .exec(protocolSentence(role, ...parties))!
        .slice(1);
    const all = ROLES.map(role => sidesOf(role).join(' and '));
    expect(new Set(all).size).toBe(ROLES.length);
    expect(sidesOf('panel')).toEqual(['Jupyter server', 'observer']);
    expect(sidesOf('nobody')).toEqual(['caller', 'other side']);
  });

  it('refuses an unknown role in a short sentence', () => {
    const { type, fields } = initiator().hello();
    const hello = up({ type, fields: { ...fields, role: 'x'.repeat(10_000) } });
    let sentence = '';
    try {
      acceptor().receive(hello);
    } catch (error) {
      sentence = (error as HandshakeRefused).sentence;
    }
    expect(sentence).toContain('xxx');
    expect(sentence.length).toBeLessThan(100);
  });

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
