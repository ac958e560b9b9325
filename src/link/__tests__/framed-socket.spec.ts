import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import type { EncodedFrame } from '../../wire/frame';
import { FramedSocket } from '../framed-socket';

describe('a framed socket', () => {
  it('writes a frame of more chunks than a call takes arguments', async () => {
    const stream = new PassThrough();
    const socket = new FramedSocket(stream as unknown as Socket, 1_000);
    let written = 0;
    stream.on('data', (chunk: Buffer) => (written += chunk.length));
    const chunks = new Array<Uint8Array>(300_000).fill(Uint8Array.of(7));
    socket.write({ chunks, bodyLength: chunks.length - 4 });
    socket.flush();
    stream.end();
    await once(stream, 'end');
    expect(written).toBe(chunks.length);
  });

  it('writes small frames of a turn as one chunk, and large ones uncopied, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(20_000), { minLength: 1, maxLength: 3 }), {
          minLength: 1,
          maxLength: 6
        }),
        async drawn => {
          const stream = new PassThrough({ highWaterMark: 2 ** 20 });
          const socket = new FramedSocket(stream as unknown as Socket, 1_000);
          const got: Buffer[] = [];
          stream.on('data', (chunk: Buffer) => got.push(chunk));
          let next = 0;
          const frames = drawn.map(lengths =>
            lengths.map(length => Buffer.alloc(length, ++next))
          );
          frames.forEach(chunks =>
            socket.write({
              chunks,
              bodyLength: Buffer.concat(chunks).length - 4
            })
          );
          socket.flush();
          stream.end();
          await once(stream, 'end');
          const all = Buffer.concat(frames.flat());
          expect(Buffer.concat(got).equals(all)).toBe(true);
          if (all.length > 0 && all.length <= 16 * 1024) {
            expect(got.length).toBe(1);
          }
          const isKept = (large: Buffer): boolean =>
            got.some(({ buffer }) => buffer === large.buffer);
          const large = frames
            .flat()
            .filter(({ length }) => length > 16 * 1024);
          expect(large.every(isKept)).toBe(true);
        }
      ),
      { numRuns: 50 }
    );
  });

  it('writes at the end of the turn what came after a flush', async () => {
    const stream = new PassThrough();
    const socket = new FramedSocket(stream as unknown as Socket, 1_000);
    const writes: string[] = [];
    stream.on('data', (chunk: Buffer) => writes.push(chunk.toString()));
    const send = (text: string): void =>
      socket.write({
        chunks: [Buffer.from(text)],
        bodyLength: text.length - 4
      });
    send('first');
    socket.flush();
    send('second');
    send('third');
    expect(socket.queuedBytes - stream.writableLength).toBe(11);
    await new Promise(resolve => setImmediate(resolve));
    expect(writes.join('')).toBe('firstsecondthird');
    send('fourth');
    await new Promise(resolve => setImmediate(resolve));
    expect(writes.join('')).toBe('firstsecondthirdfourth');
    expect(socket.queuedBytes).toBe(0);
  });

  describe('what is not urgent', () => {
    const stream = (): [PassThrough, FramedSocket, string[]] => {
      const raw = new PassThrough();
      const writes: string[] = [];
      raw.on('data', (chunk: Buffer) => writes.push(chunk.toString()));
      return [raw, new FramedSocket(raw as unknown as Socket, 1_000), writes];
    };
    const frame = (text: string): EncodedFrame => ({
      chunks: [Buffer.from(text)],
      bodyLength: text.length - 4
    });

    afterEach(() => jest.useRealTimers());

    it('leaves before what is written next', async () => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
      const [, socket, writes] = stream();
      socket.writeLater(frame('early'));
      socket.flush();
      await new Promise(resolve => setImmediate(resolve));
      expect(writes).toEqual([]);
      expect(socket.queuedBytes).toBe(5);
      socket.write(frame('urgent'));
      socket.writeLater(frame('late'));
      socket.flush();
      expect(writes).toEqual(['earlyurgentlate']);
      expect(socket.queuedBytes).toBe(0);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('leaves by itself after a while', () => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
      const [, socket, writes] = stream();
      socket.writeLater(frame('first'));
      jest.advanceTimersByTime(1);
      socket.writeLater(frame('second'));
      jest.advanceTimersByTime(4);
      expect(writes).toEqual(['firstsecond']);
      expect(jest.getTimerCount()).toBe(0);
      socket.writeLater(frame('third'));
      jest.advanceTimersByTime(5);
      expect(writes).toEqual(['firstsecond', 'third']);
    });

    it('waits no longer because more of it comes', () => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
      const [, socket, writes] = stream();
      const seen: string[] = [];
      for (const text of ['first', 'second', 'third', 'fourth']) {
        socket.writeLater(frame(text));
        jest.advanceTimersByTime(2);
        seen.push(writes.join(' '));
      }
      // At 2, 4, 6 and 8 ms.
      const early = 'firstsecondthird';
      expect(seen).toEqual(['', '', early, early]);
    });

    it('leaves before the end, and holds up nobody whose connection is gone', async () => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
      const [raw, socket, writes] = stream();
      socket.writeLater(frame('last'));
      socket.end('closed here');
      await once(raw, 'end');
      expect(writes).toEqual(['last']);
      const [gone, other] = stream();
      other.writeLater(frame('never'));
      const timers = jest.getTimerCount();
      gone.destroy();
      await once(gone, 'close');
      expect(jest.getTimerCount()).toBe(timers - 1);
    });
  });
});
