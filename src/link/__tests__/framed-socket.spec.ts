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
});
