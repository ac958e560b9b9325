import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CROWD_SENTENCE,
  HandshakeRefused,
  MOST_STRANGERS
} from '../../wire/handshake';
import type { Role } from '../../wire/handshake-messages';
import type { Message } from '../../wire/schema';
import { connectOptions } from '../addresses';
import { dial } from '../dial';
import { Door, type AcceptedLink, type DoorOptions } from '../door';
import type { Link } from '../link';

const secret = new Uint8Array(32).fill(7);

/** A promise and what settles it. */
function deferred<T>(): { promise: Promise<T>; resolve(value: T): void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>(r => {
    resolve = r;
  });
  return { promise, resolve };
}

describe.each(['unix', 'tcp'] as const)('links over %s', transport => {
  let folder: string;
  const doors: Door<Role>[] = [];
  const links: { destroy(): void }[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spanwise-'));
  });
  afterEach(async () => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    for (const link of links.splice(0)) {
      link.destroy();
    }
    for (const door of doors.splice(0)) {
      await door.close();
    }
    await rm(folder, { recursive: true, force: true });
  });

  async function open<R extends Role>(
    roles: readonly R[],
    more: Partial<DoorOptions<R>> = {}
  ): Promise<{
    address: string;
    next: Promise<AcceptedLink<R>>;
    refused: string[];
  }> {
    const first = deferred<AcceptedLink<R>>();
    const refused: string[] = [];
    const door = await Door.open<R>({
      transport,
      folder,
      name: 'test',
      secret,
      build: 'test',
      roles,
      onLink: link => {
        links.push(link);
        first.resolve(link);
      },
      onRefused: sentence => refused.push(sentence),
      ...more
    });
    doors.push(door as unknown as Door<Role>);
    return { address: door.address, next: first.promise, refused };
  }
  const call = async <R extends Role>(
    address: string,
    role: R,
    more: {
      secret?: Uint8Array;
      intro?: Record<string, unknown>;
      timeoutSeconds?: number;
    } = {}
  ): Promise<Link<R, 'up'>> => {
    const link = await dial({ address, role, secret, build: 'test', ...more });
    links.push(link);
    return link;
  };
  /** Both ends of an open link. */
  async function pair(): Promise<{
    calling: Link<'source', 'up'>;
    accepted: AcceptedLink<'source'>;
  }> {
    const { address, next } = await open(['source']);
    const calling = await call(address, 'source');
    return { calling, accepted: await next };
  }

  it('introduce both sides and carry messages both ways', async () => {
    const { address, next } = await open(['source'], {
      welcome: (role, intro) => ({ role, saw: intro['name'] })
    });
    const calling = await call(address, 'source', { intro: { name: 'a' } });
    const accepted = await next;
    expect(accepted.intro).toEqual({ name: 'a' });
    expect(calling.intro).toEqual({ role: 'source', saw: 'a' });

    const up = deferred<Message<'source', 'up'>>();
    const down = deferred<Message<'source', 'down'>>();
    accepted.start({
      messages: ([message]) => {
        if (message) {
          up.resolve(message);
        }
        accepted.send('ack', { seq: 12 });
      },
      closed: () => undefined
    });
    calling.start({
      messages: ([message]) => message && down.resolve(message),
      closed: () => undefined
    });
    calling.send('end', { why: 'closed', at: 1.5 });
    expect((await up.promise).fields).toEqual({
      why: 'closed',
      at: 1.5,
      told: '',
      unwatched: false
    });
    expect((await down.promise).fields).toEqual({
      seq: 12,
      hasViewers: true
    });
  });

  it('keep the order of long and short messages', async () => {
    const { calling, accepted } = await pair();
    const sizes = [10, 3_000_000, 0, 65_536, 65_535, 1, 9_000_000, 100];
    const received: number[] = [];
    const done = deferred<void>();
    accepted.start({
      messages: batch => {
        for (const message of batch) {
          const blob = message.blobs[0];
          expect(blob?.every(byte => byte === received.length)).toBe(true);
          received.push(blob?.length ?? -1);
        }
        if (received.length === sizes.length) {
          done.resolve();
        }
      },
      closed: () => undefined
    });
    sizes.forEach((size, i) =>
      calling.send('block', {}, {}, [new Uint8Array(size).fill(i)])
    );
    await done.promise;
    expect(received).toEqual(sizes);
  });

  it('let what is not urgent wait for what is sent next', async () => {
    const { calling, accepted } = await pair();
    const batch = deferred<readonly Message<'source', 'down'>[]>();
    calling.start({ messages: batch.resolve, closed: () => undefined });
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const write = jest.spyOn(Socket.prototype, 'write');
    accepted.sendLater('ack', { seq: 1 });
    await new Promise(resolve => setImmediate(resolve));
    expect(write).not.toHaveBeenCalled();
    accepted.send('ack', { seq: 2 });
    expect((await batch.promise).map(({ fields }) => fields)).toEqual([
      { seq: 1, hasViewers: true },
      { seq: 2, hasViewers: true }
    ]);
  });

  it('write what one turn sends together, and deliver it as batches', async () => {
    const { calling, accepted } = await pair();
    const done = deferred<void>();
    let batches = 0;
    let messages = 0;
    accepted.start({
      messages: batch => {
        batches++;
        messages += batch.length;
        if (messages === 1000) {
          done.resolve();
        }
      },
      closed: () => undefined
    });
    for (let i = 0; i < 1000; i++) {
      calling.send('end', { why: 'idle', at: i });
    }
    await done.promise;
    expect(batches).toBeLessThan(100);
  });

  it('tell that they closed, and stand being used afterwards', async () => {
    const { calling, accepted } = await pair();
    const closed = deferred<string>();
    accepted.start({ messages: () => undefined, closed: closed.resolve });
    calling.close();
    expect(await closed.promise).toBe('The other side closed the connection.');
    expect(accepted.closed).toBe(true);
    accepted.send('ack', { seq: 1 });
    accepted.close();
  });

  it('deliver what was sent just before the close', async () => {
    const { calling, accepted } = await pair();
    const events: string[] = [];
    const closed = deferred<string>();
    calling.send('block', {}, {}, [new Uint8Array(2_000_000)]);
    calling.send('end', { why: 'stopped', at: 0 });
    calling.close();
    accepted.start({
      messages: batch => events.push(...batch.map(message => message.type)),
      closed: closed.resolve
    });
    await closed.promise;
    expect(events).toEqual(['block', 'end']);
  });

  it('deliver nothing more once they were closed here', async () => {
    const { calling, accepted } = await pair();
    const closed = deferred<string>();
    let batches = 0;
    accepted.start({
      messages: () => {
        batches++;
        accepted.close('Enough.');
        accepted.send('ack', { seq: 1 });
        calling.send('end', { why: 'idle', at: 1 });
      },
      closed: closed.resolve
    });
    calling.send('end', { why: 'idle', at: 0 });
    expect(await closed.promise).toBe('Enough.');
    expect(batches).toBe(1);
  });

  it('refuse a broken frame with a sentence and close', async () => {
    const { calling, accepted } = await pair();
    const closed = deferred<string>();
    accepted.start({ messages: () => undefined, closed: () => undefined });
    calling.start({ messages: () => undefined, closed: closed.resolve });
    // A refusal's code must be text.
    calling.send('refused', { code: 1 as unknown as string, sentence: '' });
    expect(await closed.promise).toMatch(/^"refused": code: /);
  });

  it('count what waits, and say when it has left', async () => {
    const { calling, accepted } = await pair();
    const drained = deferred<void>();
    calling.start({
      messages: () => undefined,
      closed: () => undefined,
      drained: drained.resolve
    });
    calling.send('block', {}, {}, [new Uint8Array(30_000_000)]);
    expect(calling.queuedBytes).toBeGreaterThan(29_000_000);
    accepted.start({ messages: () => undefined, closed: () => undefined });
    await drained.promise;
    expect(calling.queuedBytes).toBe(0);
  });

  it('are refused without the secret, by the caller first', async () => {
    const { address } = await open(['source']);
    await expect(
      call(address, 'source', { secret: new Uint8Array(32) })
    ).rejects.toThrow('does not hold its secret');
  });

  it('are refused to roles that the door is not for', async () => {
    const { address, refused } = await open(['source']);
    await expect(call(address, 'worker')).rejects.toThrow(HandshakeRefused);
    expect(refused).toEqual(['This door is not for "worker".']);
  });

  it('are refused by the welcome', async () => {
    const { address } = await open(['client'], {
      welcome: () => {
        throw new HandshakeRefused('environment', 'Another environment.');
      }
    });
    await expect(call(address, 'client')).rejects.toThrow(
      'Another environment.'
    );
  });

  it('are refused to noise, and the door stays open', async () => {
    const { address, refused, next } = await open(['source']);
    for (const noise of ['GET / HTTP/1.1\r\n\r\n', '\x04\0\0\0\x01\0\0\0x']) {
      const ended = deferred<void>();
      const socket = connect(connectOptions(address));
      socket.on('data', () => undefined).on('close', () => ended.resolve());
      socket.write(noise);
      await ended.promise;
    }
    expect(refused).toHaveLength(2);
    await call(address, 'source');
    await next;
  });

  it('are refused to who takes too long', async () => {
    const { address, refused } = await open(['source'], {
      handshakeSeconds: 0.05
    });
    const ended = deferred<void>();
    const socket = connect(connectOptions(address));
    socket.on('data', () => undefined).on('close', () => ended.resolve());
    await ended.promise;
    expect(refused).toEqual(['The handshake took longer than 0.05 s.']);
  });

  it('are refused to who gives a byte at a time', async () => {
    const { address, refused } = await open(['source'], {
      handshakeSeconds: 0.2
    });
    const ended = deferred<void>();
    const socket = connect(connectOptions(address));
    socket
      .on('data', () => undefined)
      .on('error', () => undefined)
      .on('close', () => ended.resolve());
    socket.write('\xe8\x03\0\0', 'latin1'); // a frame of 1000 bytes
    const trickle = setInterval(() => socket.write('\x01'), 20);
    await ended.promise;
    clearInterval(trickle);
    expect(refused).toEqual(['The handshake took longer than 0.2 s.']);
  });

  it('are refused to the oldest of a crowd of strangers', async () => {
    const { address, refused, next } = await open(['source']);
    const ended: string[] = [];
    const firstEnded = deferred<void>();
    const strangers: Socket[] = [];
    for (let i = 0; i <= MOST_STRANGERS; i++) {
      const stranger = connect(connectOptions(address));
      stranger.on('data', said => ended.push(`${i}: ${said.toString()}`));
      stranger.on('close', () => firstEnded.resolve());
      strangers.push(stranger);
      await once(stranger, 'connect');
    }
    await firstEnded.promise;
    expect(ended).toEqual([
      expect.stringMatching(/^0: [^]*the oldest, was closed\. Try again\./)
    ]);
    await call(address, 'source');
    await next;
    expect(refused).toEqual([CROWD_SENTENCE, CROWD_SENTENCE]);
    for (const stranger of strangers) {
      stranger.destroy();
    }
  });

  it('say when nobody is there', async () => {
    const address =
      transport === 'unix' ? `unix:${folder}/none.sock` : 'tcp:127.0.0.1:1';
    await expect(call(address, 'source')).rejects.toThrow('Nobody answers at');
  });

  if (transport === 'unix') {
    it('lie in the user’s own folder only', async () => {
      const { address } = await open(['source']);
      const { mode } = await stat(address.slice('unix:'.length));
      expect(mode & 0o777).toBe(0o600);
      await chmod(folder, 0o755);
      await expect(open(['source'], { name: 'b' })).rejects.toThrow(
        'open to other users (mode 755)'
      );
    });
  }
});
