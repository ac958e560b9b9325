import fc from 'fast-check';
import { BrokenFrame, FrameTooLong } from '../broken-frame';
import { FrameDecoder, FrameEncoder } from '../frame';

const run = {
  taskId: [7],
  runId: [1],
  status: [0],
  thread: [3],
  start: [1.5],
  duration: [0.25],
  cpu: [0.125],
  waitInputs: [0],
  waitThread: [0],
  outBytes: [28],
  inlineStart: [0],
  inlineLength: [5],
  firstPart: [0]
};

const encoder = new FrameEncoder('worker', 'up');
const decoder = new FrameDecoder('worker', 'up');

describe('a frame', () => {
  it('comes back as it was', () => {
    const body = encoder.encodeBody(
      'finished',
      { firstName: 4, names: ['inc', 'größer'] },
      { runs: run },
      [new Uint8Array([1, 2, 3, 4, 5])]
    );
    const message = decoder.decode(body);
    expect(message.type).toBe('finished');
    if (message.type !== 'finished') {
      return;
    }
    expect(message.fields).toEqual({
      firstName: 4,
      names: ['inc', 'größer'],
      errors: []
    });
    expect(message.tables.runs.rows).toBe(1);
    expect([...message.tables.runs.taskId]).toEqual([7]);
    expect([...message.tables.runs.outBytes]).toEqual([28]);
    expect(message.tables.parts.rows).toBe(0);
    expect(message.blobs.map(blob => [...blob])).toEqual([[1, 2, 3, 4, 5]]);
  });

  it('is read without copying its columns', () => {
    const body = encoder.encodeBody('finished', {}, { runs: run });
    const message = decoder.decode(body);
    if (message.type !== 'finished') {
      throw new Error(message.type);
    }
    expect(message.tables.runs.start.buffer).toBe(body.buffer);
  });

  it('is read from an odd place in a larger buffer', () => {
    const body = encoder.encodeBody('finished', {}, { runs: run });
    const larger = new Uint8Array(body.length + 3);
    larger.set(body, 3);
    expect(decoder.decode(larger.subarray(3))).toEqual(decoder.decode(body));
  });

  it('keeps long blobs as chunks of their own, with equal bytes', () => {
    const long = new Uint8Array(20_001).fill(9);
    const short = new Uint8Array([1, 2, 3]);
    const frame = encoder.encode('finished', {}, { runs: run }, [
      short,
      long,
      short,
      long
    ]);
    expect(frame.chunks.filter(chunk => chunk === long)).toHaveLength(2);
    const bytes = frame.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    expect(bytes).toBe(frame.bodyLength + 4);
    const body = encoder.encodeBody('finished', {}, { runs: run }, [
      short,
      long,
      short,
      long
    ]);
    expect(decoder.decode(body).blobs).toEqual([short, long, short, long]);
  });

  it('takes the first rows of columns that are longer', () => {
    const ids = new Uint32Array([1, 2, 3, 4]);
    const body = new FrameEncoder('client', 'up').encodeBody(
      'want',
      {},
      { ids: { rows: 2, id: ids } }
    );
    const message = new FrameDecoder('client', 'up').decode(body);
    expect(message.type === 'want' && [...message.tables.ids.id]).toEqual([
      1, 2
    ]);
  });

  it('names the column that is too short', () => {
    expect(() =>
      encoder.encode('replicas', {}, { added: { taskId: [1, 2], nbytes: [1] } })
    ).toThrow('column added.nbytes has 1 values, the table 2 rows');
  });

  it('is refused at the sender when it is too long', () => {
    const small = new FrameEncoder('worker', 'up', 64);
    expect(() => small.encode('event', { kind: 'x'.repeat(100) })).toThrow(
      FrameTooLong
    );
  });

  it.each([
    ['nothing', []],
    ['less than a length', [1, 2]],
    ['a header longer than the body', [200, 0, 0, 0, 1]],
    ['a header that is no map', [1, 0, 0, 0, 7]],
    ['an unknown type', [5, 0, 0, 0, 0x81, 0xa1, 0x74, 0xa1, 0x78]]
  ])('refuses %s', (_, bytes) => {
    expect(() => decoder.decode(new Uint8Array(bytes))).toThrow(BrokenFrame);
  });

  it('does not compile with a type, field or column that the link does not have', () => {
    expect(() => {
      // @ts-expect-error a worker does not send `assign`
      encoder.encode('assign', {});
    }).toThrow('does not send "assign"');
    expect(() => {
      // @ts-expect-error `event` has a kind
      decoder.decode(encoder.encodeBody('event', {}));
    }).toThrow(BrokenFrame);
    expect(() => {
      // @ts-expect-error the second column is missing
      encoder.encode('replicas', {}, { added: { taskId: [1] } });
    }).toThrow('column added.nbytes has no values');
  });

  it('names the field that is wrong', () => {
    const body = new FrameEncoder('client', 'up').encodeBody('flush', {
      request: -1
    });
    expect(() => new FrameDecoder('client', 'up').decode(body)).toThrow(
      /"flush": request: /
    );
  });
});

describe('any message', () => {
  const u32 = fc.nat({ max: 0xffffffff });
  const anyReport = fc.record({
    names: fc.array(fc.string(), { maxLength: 5 }),
    tasks: fc.array(fc.tuple(u32, u32, fc.nat(255), fc.double()), {
      maxLength: 20
    }),
    blobs: fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 4 })
  });
  const encodeAny = (value: {
    names: string[];
    tasks: [number, number, number, number][];
    blobs: Uint8Array[];
  }): Uint8Array =>
    new FrameEncoder('client', 'up').encodeBody(
      'scattered',
      { names: value.names },
      {
        tasks: {
          id: value.tasks.map(row => row[0]),
          group: value.tasks.map(row => row[1]),
          suffix: value.tasks.map(row => row[0]),
          function: value.tasks.map(row => row[1]),
          span: value.tasks.map(row => row[2]),
          flags: value.tasks.map(row => row[2]),
          nbytes: value.tasks.map(row => row[3])
        }
      },
      value.blobs
    );
  const read = new FrameDecoder('client', 'up');

  it('survives the round trip', () => {
    fc.assert(
      fc.property(anyReport, value => {
        const message = read.decode(encodeAny(value));
        if (message.type !== 'scattered') {
          throw new Error(message.type);
        }
        const { tasks } = message.tables;
        expect(message.fields.names).toEqual(value.names);
        expect([...tasks.id]).toEqual(value.tasks.map(row => row[0]));
        expect([...tasks.flags]).toEqual(value.tasks.map(row => row[2]));
        expect([...tasks.nbytes]).toEqual(value.tasks.map(row => row[3]));
        expect(message.blobs.map(blob => [...blob])).toEqual(
          value.blobs.map(blob => [...blob])
        );
      })
    );
  });

  it('that is cut short is a broken frame', () => {
    fc.assert(
      fc.property(anyReport, fc.nat(), (value, n) => {
        const body = encodeAny(value);
        const cut = body.slice(0, n % body.length);
        expect(() => read.decode(cut)).toThrow(BrokenFrame);
      })
    );
  });

  it('with a flipped bit is read or a broken frame, never another error', () => {
    fc.assert(
      fc.property(anyReport, fc.nat(), fc.nat(7), (value, n, bit) => {
        const body = encodeAny(value);
        const at = n % body.length;
        body[at] = (body[at] ?? 0) ^ (1 << bit);
        try {
          read.decode(body);
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenFrame);
        }
      }),
      { numRuns: 500 }
    );
  });

  it('of random bytes is read or a broken frame', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        expect(() => read.decode(bytes)).toThrow(BrokenFrame);
      }),
      { numRuns: 500 }
    );
  });

  it('of a stranger claims no memory that it does not fill', () => {
    // A list of 30 million items, in a list of 30 million … : 5 bytes and 240 MB each.
    const header = new Uint8Array(5 * 200);
    const view = new DataView(header.buffer);
    for (let at = 0; at < header.length; at += 5) {
      header[at] = 0xdd;
      view.setUint32(at + 1, 30_000_000);
    }
    const body = new Uint8Array(4 + header.length);
    new DataView(body.buffer).setUint32(0, header.length, true);
    body.set(header, 4);
    const stranger = new FrameDecoder('doorbell', 'up');
    expect(() => stranger.decode(body)).toThrow(/not msgpack.*maxArrayLength/);
  });
});
