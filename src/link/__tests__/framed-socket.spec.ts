import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
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
});
