import {
  decode as decodeMsgpack,
  encode as encodeMsgpack
} from '@msgpack/msgpack';
import fc from 'fast-check';
import {
  aligned,
  TYPED_ARRAYS,
  type NumberType
} from '../../base/typed-arrays';
import { BrokenFrame, FrameTooLong } from '../broken-frame';
import type { Direction } from '../describe';
import { type EncodedFrame, FrameDecoder, FrameEncoder } from '../frame';
import { checkShape } from '../header-shape';
import { LINKS, type LinkName } from '../schema';

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
  nbytes: [28],
  inlineStart: [0],
  inlineLength: [5],
  firstPart: [0],
  type: [7]
};

let encoder: FrameEncoder<'worker', 'up'>;
let decoder: FrameDecoder<'worker', 'up'>;
beforeEach(() => {
  encoder = new FrameEncoder('worker', 'up');
  decoder = new FrameDecoder('worker', 'up');
});

/** Every table of every message. */
const ALL_TABLES = (Object.keys(LINKS) as LinkName[]).flatMap(link =>
  (['up', 'down'] as const).flatMap(direction =>
    Object.entries(LINKS[link][direction]).flatMap(([type, description]) =>
      Object.entries(
        description.tables as Record<string, Record<string, NumberType>>
      ).map(([table, columns]) => ({ link, direction, type, table, columns }))
    )
  )
);

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
    expect([...message.tables.runs.nbytes]).toEqual([28]);
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
    // The same holds where the body lies at any whole word of a larger buffer.
    const larger = new Uint8Array(body.length + 24);
    larger.set(body, 24);
    const within = decoder.decode(larger.subarray(24));
    expect(within).toEqual(message);
    expect(within.type === 'finished' && within.tables.runs.start.buffer).toBe(
      larger.buffer
    );
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

  it('has the bytes of its columns as arrays of their types, however many rows', () => {
    const numbers = fc.array(
      fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-0, 2 ** 40 + 0.5)),
      { minLength: 9, maxLength: 9 }
    );
    fc.assert(
      fc.property(
        numbers,
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (values, rows, asArray) => {
          for (const { link, direction, type, table, columns } of ALL_TABLES) {
            const given = asArray ? values : new Float64Array(values);
            const body = new FrameEncoder(link, direction).encodeBody(
              type as never,
              {} as never,
              {
                [table]: {
                  rows,
                  ...Object.fromEntries(
                    Object.keys(columns).map(column => [column, given])
                  )
                }
              } as never
            );
            let at = 4 + new DataView(body.buffer).getUint32(0, true);
            for (const numberType of Object.values(columns)) {
              const expected = new TYPED_ARRAYS[numberType](
                values.slice(0, rows)
              );
              at = aligned(at);
              expect([...body.subarray(at, at + expected.byteLength)]).toEqual([
                ...new Uint8Array(expected.buffer)
              ]);
              at += expected.byteLength;
            }
            expect(at).toBe(body.length);
          }
        }
      ),
      { numRuns: 25 }
    );
  });

  it('names the column that is too short', () => {
    expect(() =>
      encoder.encode('replicas', {}, { added: { taskId: [1, 2], nbytes: [1] } })
    ).toThrow('column added.nbytes has 1 values, the table 2 rows');
  });

  it('is refused at the sender when it is too long, by its very last byte', () => {
    const fields = { kind: 'x'.repeat(100) };
    const blobs = [new Uint8Array(3), new Uint8Array(20_000)];
    const { bodyLength } = encoder.encode('event', fields, {}, blobs);
    const within = (limit: number): EncodedFrame =>
      new FrameEncoder('worker', 'up', limit).encode(
        'event',
        fields,
        {},
        blobs
      );
    expect(within(bodyLength).bodyLength).toBe(bodyLength);
    expect(() => within(bodyLength - 1)).toThrow(FrameTooLong);
    expect(() => within(bodyLength - 1)).toThrow(`${bodyLength} bytes`);
    expect(() => within(bodyLength - 1)).toThrow(
      expect.objectContaining({
        name: 'FrameTooLong',
        type: 'event',
        byteLength: bodyLength,
        limit: bodyLength - 1
      })
    );
  });

  it('is its chunks one after another: a length, then as many bytes', () => {
    // Around the length from which blobs are handed over as they are, and around whole words.
    const anyLength = fc.oneof(
      fc.nat(20),
      fc.constantFrom(0, 16_383, 16_384, 16_385, 20_000, 32_768)
    );
    const anyRuns = fc.constantFrom(undefined, { runs: run });
    fc.assert(
      fc.property(
        fc.array(anyLength, { maxLength: 6 }),
        anyRuns,
        fc.string({ maxLength: 9 }),
        (lengths, tables, name) => {
          const fields = { names: [name] };
          const blobs = lengths.map((length, i) =>
            new Uint8Array(length).fill(i + 1)
          );
          const frame = encoder.encode('finished', fields, tables, blobs);
          const bytes = Buffer.concat(frame.chunks);
          expect(bytes.readUInt32LE(0)).toBe(bytes.length - 4);
          expect(frame.bodyLength).toBe(bytes.length - 4);
          const body = encoder.encodeBody('finished', fields, tables, blobs);
          expect(bytes.subarray(4).equals(body)).toBe(true);
          const message = decoder.decode(body);
          expect(message.fields).toMatchObject(fields);
          expect(message.blobs).toHaveLength(blobs.length);
          for (const [i, blob] of blobs.entries()) {
            expect(Buffer.compare(message.blobs[i]!, blob)).toBe(0);
            // Long ones are not copied.
            expect(frame.chunks.includes(blob) || blob.length < 16_384).toBe(
              true
            );
          }
          // Short ones are no writes of their own, unless they follow a long one; and no write is of nothing.
          const isShort = lengths.every(length => length < 16_384);
          expect(frame.chunks.length === 1).toBe(isShort);
          expect(frame.chunks.every(chunk => chunk.length > 0)).toBe(true);
        }
      )
    );
  });

  describe('with the header of the one before', () => {
    const fieldsOf = (body: Uint8Array): unknown => decoder.decode(body).fields;

    it('has its own columns and blobs, and the same fields', () => {
      const bodies = [7, 8].map(taskId =>
        encoder.encodeBody(
          'finished',
          { firstName: 4, names: ['inc'] },
          { runs: { ...run, taskId: [taskId] } },
          [new Uint8Array(5).fill(taskId)]
        )
      );
      const messages = bodies.map(body => decoder.decode(body));
      expect(messages).toEqual(
        bodies.map(body => new FrameDecoder('worker', 'up').decode(body))
      );
      expect(messages.map(({ blobs }) => blobs[0]![0])).toEqual([7, 8]);
    });

    it('is read anew if a byte of it differs', () => {
      for (const firstName of [4, 5, 4, 4, 6]) {
        expect(
          fieldsOf(encoder.encodeBody('finished', { firstName }))
        ).toMatchObject({ firstName });
      }
    });

    it('is read anew behind one that is longer than is kept', () => {
      const long = { firstName: 4, names: ['x'.repeat(300)] };
      for (const fields of [{}, long, {}, long]) {
        expect(fieldsOf(encoder.encodeBody('finished', fields))).toMatchObject(
          fields
        );
      }
    });

    it('is refused once more if that was refused', () => {
      const header = encodeMsgpack({ t: 'finished', f: { firstName: 'x' } });
      const wrong = new Uint8Array(4 + header.length);
      new DataView(wrong.buffer).setUint32(0, header.length, true);
      wrong.set(header, 4);
      fieldsOf(encoder.encodeBody('finished', {}));
      expect(() => fieldsOf(wrong)).toThrow(BrokenFrame);
      expect(() => fieldsOf(wrong)).toThrow(BrokenFrame);
    });

    it('has as many bytes as that says', () => {
      const body = encoder.encodeBody('finished', {}, { runs: run });
      decoder.decode(body);
      expect(() => decoder.decode(body.subarray(0, -8))).toThrow(BrokenFrame);
      const longer = new Uint8Array(body.length + 8);
      longer.set(body);
      expect(() => decoder.decode(longer)).toThrow(BrokenFrame);
    });
  });

  it('has a header without what is empty', () => {
    const headerOf = (body: Uint8Array): unknown => {
      const { buffer, byteLength } = body;
      const length = new DataView(buffer).getUint32(0, true);
      expect(length).toBeLessThanOrEqual(byteLength - 4);
      return decodeMsgpack(body.subarray(4, 4 + length));
    };
    const fields = { firstName: 3 };
    expect(
      headerOf(
        encoder.encodeBody('finished', fields, { runs: { ...run, rows: 0 } })
      )
    ).toEqual({ t: 'finished', f: fields });
    expect(
      headerOf(
        encoder.encodeBody('finished', fields, { runs: run }, [
          new Uint8Array(5),
          new Uint8Array(0)
        ])
      )
    ).toEqual({ t: 'finished', f: fields, r: [1, 0, 0, 0, 0], b: [5, 0] });
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

  describe('with another header', () => {
    /** A body of this header, and after it so many bytes. */
    const bodyOf = (header: unknown, rest = 0): Uint8Array => {
      const packed = encodeMsgpack(header);
      const body = new Uint8Array(aligned(4 + packed.length) + rest);
      new DataView(body.buffer).setUint32(0, packed.length, true);
      body.set(packed, 4);
      return rest > 0 ? body : body.subarray(0, 4 + packed.length);
    };
    const flushed = (header: object, rest = 0): unknown =>
      decoder.decode(
        bodyOf({ t: 'flushed', f: { request: 1 }, ...header }, rest)
      );
    const replicas = (r: unknown, rest = 0): unknown =>
      decoder.decode(bodyOf({ t: 'replicas', r }, rest));

    it('means empty by what is missing or nil', () => {
      const empty = { tables: {}, blobs: [] };
      expect(flushed({})).toMatchObject(empty);
      expect(flushed({ r: null, b: null })).toMatchObject(empty);
      expect(flushed({ r: [], b: [] })).toMatchObject(empty);
      const none = { tables: { added: { rows: 0 }, removed: { rows: 0 } } };
      expect(replicas(undefined)).toMatchObject(none);
      expect(replicas([0, 0])).toMatchObject(none);
      expect(decoder.decode(bodyOf({ t: 'finished' })).fields).toEqual({
        firstName: 0,
        names: [],
        errors: []
      });
    });

    it.each([[[1]], [[1, 1, 1]], [[0]]])(
      'is refused with %j rows for two tables',
      rows => {
        for (const rest of [0, 4, 16, 20, 24]) {
          expect(() => replicas(rows, rest)).toThrow(BrokenFrame);
        }
      }
    );

    it.each([-1, -8, 0.5, NaN, Infinity, '1', true, null, [1], 2 ** 32])(
      'is refused with %p for a length',
      length => {
        for (const rest of [0, 1, 8, 16]) {
          expect(() => flushed({ b: [length] }, rest)).toThrow(BrokenFrame);
          expect(() => flushed({ b: [0, length] }, rest)).toThrow(BrokenFrame);
          expect(() => replicas([length, 0], rest)).toThrow(BrokenFrame);
        }
      }
    );

    it.each([3, 'text', true, { 0: 1, length: 1 }])(
      'is refused with %j for a list of lengths',
      lengths => {
        expect(() => flushed({ b: lengths })).toThrow(BrokenFrame);
        expect(() => flushed({ r: lengths })).toThrow(BrokenFrame);
      }
    );

    it.each([null, [], ['t', 'flushed'], 'flushed', 7])(
      'is refused if that is %j',
      header => {
        expect(() => decoder.decode(bodyOf(header))).toThrow(BrokenFrame);
      }
    );

    it.each([undefined, null, 5, ['flushed'], '', 'toString', '__proto__'])(
      'is refused with %j for a type',
      t => {
        expect(() => decoder.decode(bodyOf({ t, f: { request: 1 } }))).toThrow(
          BrokenFrame
        );
      }
    );

    it('is refused with keys that are no text, on any level', () => {
      // {t: 'flushed', f: {request: 1, more: {KEY: 1}}}, with a key that no encoder of ours writes.
      const text = encodeMsgpack({
        t: 'flushed',
        f: { request: 1, more: { K: 1 } }
      });
      const at = text.lastIndexOf('K'.charCodeAt(0)) - 1;
      const withKey = (...key: number[]): Uint8Array => {
        const packed = Uint8Array.from([
          ...text.subarray(0, at),
          ...key,
          ...text.subarray(at + 2)
        ]);
        const body = new Uint8Array(4 + packed.length);
        new DataView(body.buffer).setUint32(0, packed.length, true);
        body.set(packed, 4);
        return body;
      };
      expect(decoder.decode(withKey(0xa1, 0x4b)).type).toBe('flushed');
      for (const key of [[7], [0xc0], [0xc3], [0xc4, 1, 0x4b], [0x90]]) {
        expect(() => decoder.decode(withKey(...key))).toThrow(BrokenFrame);
        expect(() => decoder.decode(withKey(...key))).toThrow(/key/);
      }
    });

    it('is refused in a short sentence, however long its type is', () => {
      let sentence = '';
      try {
        decoder.decode(bodyOf({ t: 'y'.repeat(50_000) }));
      } catch (error) {
        sentence = (error as BrokenFrame).message;
      }
      expect(sentence).toContain('yyy');
      expect(sentence.length).toBeLessThan(200);
    });
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
    expect(() => {
      // @ts-expect-error the first column is missing, by which rows are counted
      encoder.encode('replicas', {}, { added: { nbytes: [1] } });
    }).toThrow('column added.taskId has no values');
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

  it('with bytes that nothing accounts for is a broken frame', () => {
    fc.assert(
      fc.property(anyReport, fc.integer({ min: 1, max: 64 }), (value, n) => {
        const body = encodeAny(value);
        const longer = new Uint8Array(body.length + n);
        longer.set(body);
        expect(() => read.decode(longer)).toThrow(
          `accounts for ${body.length} of its ${longer.length} bytes`
        );
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

  describe('of whoever it is', () => {
    const bodyOf = (header: Uint8Array): Uint8Array => {
      const body = new Uint8Array(4 + header.length);
      new DataView(body.buffer).setUint32(0, header.length, true);
      body.set(header, 4);
      return body;
    };
    const decoders = (Object.keys(LINKS) as LinkName[]).flatMap(link =>
      (['up', 'down'] as const).map(
        direction => [link, direction] as [LinkName, Direction]
      )
    );
    /** `levels` lists in each other, each of which promises `items`: 5 bytes a level. */
    const nested = (levels: number, items: number): Uint8Array => {
      const header = new Uint8Array(5 * levels);
      const view = new DataView(header.buffer);
      for (let at = 0; at < header.length; at += 5) {
        header[at] = 0xdd;
        view.setUint32(at + 1, items);
      }
      return header;
    };

    it.each(decoders)(
      'claims no memory that it does not fill (%s, %s)',
      (link, direction) => {
        const decoder = new FrameDecoder(link, direction);
        const before = process.memoryUsage().heapUsed;
        // 30 million items are 240 MB, 200 times; 50,000 pass for what is there in the first levels.
        for (const items of [30_000_000, 50_000, 900]) {
          const long = new Uint8Array(60_000);
          long.set(nested(200, items));
          for (const header of [nested(200, items), long]) {
            expect(() => decoder.decode(bodyOf(header))).toThrow(
              /promised|nests more than 64/
            );
          }
        }
        expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6);
      }
    );

    it('holds the items that its lengths promise, in all levels together', () => {
      const sizes = fc.array(fc.nat(40), { minLength: 1, maxLength: 12 });
      fc.assert(
        fc.property(sizes, fc.nat(60), (lists, rest) => {
          // A list of n, whose first item is a list of m, …; what is left over of each level would follow at the end.
          const header = Uint8Array.from([
            ...lists.flatMap(n => [0xdc, 0, n + 1]),
            ...new Array<number>(rest).fill(0xc0)
          ]);
          const owed = lists.reduce((sum, n) => sum + n, 1);
          if (owed === rest) {
            expect(() => checkShape(header)).not.toThrow();
          } else {
            expect(() => checkShape(header)).toThrow(BrokenFrame);
          }
        })
      );
    });

    it('is looked over as msgpack decodes it', () => {
      fc.assert(
        fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
          expect(() => checkShape(encodeMsgpack(value))).not.toThrow();
        })
      );
      // Whatever passes is decoded, or refused for its content (a key that is no text, `__proto__`): never for its lengths.
      const anyHeader = fc.array(
        fc.oneof(
          fc.nat(255),
          fc.constantFrom(0x81, 0x92, 0xa1, 0xc4, 0xd9, 0xdc, 0xde)
        ),
        { maxLength: 40 }
      );
      fc.assert(
        fc.property(anyHeader, header => {
          const bytes = Uint8Array.from(header);
          try {
            checkShape(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(BrokenFrame);
            return;
          }
          try {
            decodeMsgpack(bytes);
          } catch (error) {
            expect(String(error)).toMatch(/key/);
          }
        }),
        { numRuns: 3000 }
      );
    });

    it('is looked over to its last byte in every form that msgpack has', () => {
      // Texts, bytes, lists and maps around the lengths at which their heads change; numbers of every width.
      const length = fc.oneof(
        fc.constantFrom(0, 15, 16, 31, 32, 255, 256, 65_535, 65_536),
        fc.nat(40)
      );
      // Inside of what has a length nothing is a head, and items are longer than a byte.
      const item: fc.Arbitrary<unknown> = fc.oneof(
        length.map(n => 'xü'.repeat(n).slice(0, n)),
        fc
          .tuple(length, fc.constantFrom(0, 0x81, 0xc1, 0xdd))
          .map(([n, byte]) => new Uint8Array(n).fill(byte)),
        fc
          .tuple(fc.oneof(fc.nat(20), length), fc.constantFrom(null, 300, 'äé'))
          .map(([n, each]) => new Array<unknown>(n).fill(each)),
        length.map(n =>
          Object.fromEntries(
            Array.from({ length: n % 300 }, (_, i) => [i, i * i])
          )
        ),
        fc.constantFrom(...[7, 8, 15, 16, 31, 32, 33].map(bits => 2 ** bits)),
        fc.constantFrom(...[5, 7, 8, 15, 31, 32].map(bits => -(2 ** bits))),
        fc.double(),
        fc.constantFrom(true, false, null, -32, -33, 127, 128)
      );
      fc.assert(
        fc.property(fc.array(item, { maxLength: 4 }), fc.nat(), (items, n) => {
          const bytes = encodeMsgpack(items);
          expect(() => checkShape(bytes)).not.toThrow();
          expect(() => checkShape(bytes.subarray(0, n % bytes.length))).toThrow(
            BrokenFrame
          );
          const longer = new Uint8Array(bytes.length + 1);
          longer.set(bytes);
          expect(() => checkShape(longer)).toThrow(BrokenFrame);
        })
      );
      // Which the encoder does not choose by itself: a float of four bytes, maps and lists with long heads.
      for (const bytes of [
        [0xca, 0, 0, 0, 0],
        [0xdd, 0, 0, 0, 1, 0xc0],
        [0xdf, 0, 0, 0, 1, 0xa0, 0xc0],
        [0xde, 0, 1, 0xa0, 0xc0],
        [0xdb, 0, 0, 0, 1, 0x61],
        [0xc6, 0, 0, 0, 1, 0x61]
      ]) {
        expect(() => checkShape(Uint8Array.from(bytes))).not.toThrow();
        expect(() => checkShape(Uint8Array.from(bytes.slice(0, -1)))).toThrow(
          BrokenFrame
        );
      }
    });

    it('has no dates and other extensions', () => {
      const date = encodeMsgpack({ t: 'flush', f: { request: new Date(0) } });
      expect(() =>
        new FrameDecoder('client', 'up').decode(bodyOf(date))
      ).toThrow(/a type that no message uses/);
    });

    /** As in Python (`test_wire_frame.py`): 62 levels in the header and its fields. */
    describe('nests', () => {
      const nested = (levels: number, innermost: unknown = 1): unknown =>
        levels === 0 ? innermost : { a: nested(levels - 1, innermost) };
      const decoded = (header: object): string =>
        new FrameDecoder('panel', 'up').decode(bodyOf(encodeMsgpack(header)))
          .type;

      it('64 deep and no deeper', () => {
        const watch = (levels: number, innermost: unknown): string => {
          const params = nested(levels, innermost);
          const fields = { id: 1, cluster: 'c', view: 'tasks', params };
          return decoded({ t: 'watch', f: fields });
        };
        for (const innermost of [1, [], {}]) {
          expect(watch(62, innermost)).toBe('watch');
          expect(() => watch(63, innermost)).toThrow(/nests more than 64/);
        }
        expect(() => watch(62, [1])).toThrow(/nests more than 64/);
      });

      it('as deep and no deeper in fields of a newer build', () => {
        const unwatch = (header: object, fields: object): string =>
          decoded({ t: 'unwatch', f: { id: 1, ...fields }, ...header });
        expect(unwatch({}, { newer: nested(62) })).toBe('unwatch');
        expect(unwatch({ newer: nested(63) }, {})).toBe('unwatch');
        expect(() => unwatch({}, { newer: nested(63) })).toThrow(
          /nests more than 64/
        );
        expect(() => unwatch({ newer: nested(64) }, {})).toThrow(
          /nests more than 64/
        );
      });
    });

    it('is refused in a short sentence, however long what it says is', () => {
      const decoder = new FrameDecoder('panel', 'up');
      const fields = { id: 'x'.repeat(100_000) };
      const body = bodyOf(encodeMsgpack({ t: 'unwatch', f: fields }));
      let sentence = '';
      try {
        decoder.decode(body);
      } catch (error) {
        sentence = (error as Error).message;
      }
      expect(sentence).toMatch(/^"unwatch": id: Invalid type/);
      expect(sentence.length).toBeLessThan(500);
    });
  });
});
