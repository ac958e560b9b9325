import * as fc from 'fast-check';
import { LARGE_BYTES } from '../large-buffers';
import { canEncode, encodeFrame, FrameReader } from '../process-frames';

/** What arrives if the frames' bytes are cut into chunks of these sizes, in turn. */
function readBack(frames: readonly unknown[], sizes: readonly number[]) {
  const bytes = Buffer.concat(
    frames.flatMap(frame => [...encodeFrame(frame, [frame]).chunks])
  );
  const messages: unknown[] = [];
  const reader = new FrameReader(
    message => messages.push(message),
    error => {
      throw error;
    }
  );
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  return messages;
}

describe('frames between processes', () => {
  const small = fc.oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true
    }),
    fc.uint8Array()
  );

  it('bring any values back, whatever the chunks of the stream', () => {
    fc.assert(
      fc.property(
        fc.array(small.filter(canEncode), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (frames, sizes) => {
          // As structured cloning makes them: it knows no prototypes.
          expect(readBack(frames, sizes)).toEqual(
            frames.map(frame => structuredClone(frame))
          );
        }
      )
    );
  });

  it('bring large memory back, once though it was there twice', () => {
    const numbers = new Float64Array(LARGE_BYTES).map((_, at) => at);
    const bytes = new Uint8Array(numbers.buffer, 8, 100);
    const [read] = readBack([{ numbers, bytes, text: 'x' }], [65_536, 7]) as [
      { numbers: Float64Array; bytes: Uint8Array }
    ];
    expect(read.numbers[LARGE_BYTES - 1]).toBe(LARGE_BYTES - 1);
    expect(read.bytes).toHaveLength(100);
    expect(read.bytes.buffer).toBe(read.numbers.buffer);
  });

  it('carry large memory beside the message, not in it', () => {
    const large = new Uint8Array(LARGE_BYTES);
    const { chunks, isLarge } = encodeFrame([large], [large]);
    expect(isLarge).toBe(true);
    expect(chunks.at(-1)!.buffer).toBe(large.buffer);
    expect(chunks[1]!.byteLength).toBeLessThan(100);
  });

  it('refuse what cannot be copied', () => {
    expect(canEncode({ f: () => 1 })).toBe(false);
    expect(canEncode(new SharedArrayBuffer(8))).toBe(false);
    expect(canEncode({ a: [1, 'x', null] })).toBe(true);
  });
});
