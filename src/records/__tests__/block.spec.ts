import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { BlockBuilder } from '../block-builder';
import {
  BrokenBlock,
  checkBlock,
  decodeBlock,
  encodeBlock,
  TextColumn,
  wholeBlock,
  type Row
} from '../block';
import { Dictionary } from '../dictionary';
import { LogWriter, SEAL_SECONDS } from '../log-writer';
import {
  narrowBefore,
  TABLES,
  type ColumnType,
  type TableName
} from '../tables';

const names = Object.keys(TABLES) as TableName[];

/** Any rows of any table. */
const anyRows = fc.constantFrom(...names).chain(table => {
  const columns = Object.entries(TABLES[table].columns) as [
    string,
    ColumnType
  ][];
  const value = (type: ColumnType): fc.Arbitrary<number | string> => {
    switch (type) {
      case 'text':
        return fc.string({ unit: 'grapheme' });
      case 'f32':
        return fc.float();
      case 'f64':
        return fc.double();
      case 'i32':
        return fc.integer();
      default:
        return fc.nat({
          max: { u8: 0xff, u16: 0xffff, u32: 0xffffffff }[type]
        });
    }
  };
  const row = fc.record(
    Object.fromEntries(columns.map(([name, type]) => [name, value(type)]))
  );
  return fc.record({
    table: fc.constant(table),
    rows: fc.array(row, { minLength: 1, maxLength: 100 })
  });
});
type AnyRows = {
  table: TableName;
  rows: Record<string, number | string>[];
};

function sealed(
  { table, rows }: AnyRows,
  seq = 1,
  constantFrom?: number
): Uint8Array<ArrayBuffer> {
  const builder = new BlockBuilder(table);
  for (const row of rows) {
    builder.append(row as unknown as Row<TableName>);
  }
  return builder.seal(seq, constantFrom);
}

/** The same of which some columns have the first row's value in all rows. */
const anyConstantRows = fc
  .tuple(anyRows, fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }))
  .map(([{ table, rows }, areConstant]): AnyRows => {
    const first = Object.entries(rows[0]!);
    const constant = first.filter((_, i) => areConstant[i]!);
    const kept = Object.fromEntries(constant);
    return { table, rows: rows.map(row => ({ ...row, ...kept })) };
  });

function rowsOf(bytes: Uint8Array): AnyRows {
  const block = decodeBlock(bytes);
  const columns = block.columns as unknown as Record<
    string,
    { at(row: number): number | string }
  >;
  return {
    table: block.table,
    rows: Array.from({ length: block.rows }, (_, i) =>
      Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [name, column.at(i)])
      )
    )
  };
}

/** A log of the first format, and what it holds: `src/testing/gallery/first-format`. */
const OLD_LOG = join(__dirname, '../../testing/gallery/first-format');
type OldBlock = AnyRows & { readonly seq: number };

describe('a block of the first format, in which numbers of spans are u16', () => {
  const bytes = new Uint8Array(readFileSync(join(OLD_LOG, 'log.bin')));
  const { blocks } = JSON.parse(
    readFileSync(join(OLD_LOG, 'log.json'), 'utf8'),
    (_, value: unknown) => (value === 'NaN' ? NaN : value)
  ) as { readonly blocks: readonly OldBlock[] };

  it('is read as it was meant, in every table that has them', () => {
    let at = 0;
    for (const { seq, table, rows } of blocks) {
      const block = decodeBlock(bytes.subarray(at));
      expect(block.seq).toBe(seq);
      // None is none in any width.
      const [first, ...more] = rows;
      const meant =
        table === 'spans' ? [{ ...first, parent: 2 ** 32 - 1 }, ...more] : rows;
      expect(rowsOf(bytes.subarray(at))).toEqual({ table, rows: meant });
      for (const name of narrowBefore(table)) {
        expect(block.columns[name as never]).toBeInstanceOf(Uint32Array);
      }
      at += block.byteLength;
    }
    expect(at).toBe(bytes.length);
    const had = new Set(blocks.map(({ table }) => table));
    expect(names.filter(name => narrowBefore(name).length > 0)).toEqual(
      names.filter(name => had.has(name) && !['names', 'lanes'].includes(name))
    );
  });

  it('that is bent or cut short is a broken block', () => {
    expect(() => decodeBlock(bytes.slice(0, 40))).toThrow(BrokenBlock);
    const bent = bytes.slice();
    bent[3] = '3'.charCodeAt(0);
    expect(() => decodeBlock(bent)).toThrow('Not a block of this format.');
  });
});

describe('a block', () => {
  it('gives back any rows of any table', () => {
    fc.assert(
      fc.property(anyRows, value => {
        expect(rowsOf(sealed(value))).toEqual(value);
      })
    );
  });

  it('that is cut short or bent is a broken block, never another error', () => {
    fc.assert(
      fc.property(anyRows, fc.nat(), fc.nat(7), (value, n, bit) => {
        const bytes = sealed(value);
        expect(() => decodeBlock(bytes.slice(0, n % bytes.length))).toThrow(
          BrokenBlock
        );
        bytes[n % bytes.length] = (bytes[n % bytes.length] ?? 0) ^ (1 << bit);
        try {
          rowsOf(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenBlock);
        }
      })
    );
  });

  it('is read without copying where it lies as its columns do', () => {
    const bytes = sealed({ table: 'edges', rows: [{ node: 4 }] });
    const larger = new Uint8Array(bytes.length + 8);
    larger.set(bytes, 8);
    for (const each of [bytes, larger.subarray(8)]) {
      const block = decodeBlock(each);
      expect(block.table === 'edges' && block.columns.node.buffer).toBe(
        each.buffer
      );
    }
  });

  it('says where it ends, so that blocks may follow each other', () => {
    const first = sealed({ table: 'names', rows: [{ id: 1, text: 'größe' }] });
    const second = sealed({ table: 'edges', rows: [{ node: 4 }] }, 2);
    const file = new Uint8Array([...first, ...second]);
    const one = decodeBlock(file);
    const two = decodeBlock(file.subarray(one.byteLength));
    expect([one.seq, one.table]).toEqual([1, 'names']);
    expect([two.seq, two.table]).toEqual([2, 'edges']);
    expect(one.byteLength + two.byteLength).toBe(file.length);
  });

  it('is read from an odd place', () => {
    const bytes = sealed({ table: 'edges', rows: [{ node: 4 }] });
    const larger = new Uint8Array(bytes.length + 5);
    larger.set(bytes, 5);
    expect(rowsOf(larger.subarray(5)).rows).toEqual([{ node: 4 }]);
  });

  it('follows from a builder that was sealed before, whatever that held', () => {
    fc.assert(
      fc.property(fc.array(anyRows, { maxLength: 4 }), ofTables => {
        const table = ofTables[0]?.table ?? 'names';
        const builder = new BlockBuilder(table);
        for (const [index, { table: other, rows }] of ofTables.entries()) {
          const own = other === table ? rows : [];
          for (const row of own) {
            builder.append(row as unknown as Row<TableName>);
          }
          expect(builder.rows).toBe(own.length);
          const bytes = builder.seal(index + 1);
          expect(rowsOf(bytes)).toEqual({ table, rows: own });
          expect(decodeBlock(bytes).seq).toBe(index + 1);
          expect([builder.rows, builder.byteLength]).toEqual([0, 0]);
        }
      })
    );
  });

  it('is broken by any bit of its first four bytes, and of its length', () => {
    const whole = sealed({
      table: 'names',
      rows: [
        { id: 1, text: 'one' },
        { id: 2, text: 'zwölf' }
      ]
    });
    for (const byte of [0, 1, 2, 3, 20, 21, 22, 23]) {
      for (let bit = 0; bit < 8; bit++) {
        const bytes = whole.slice();
        bytes[byte] = (bytes[byte] ?? 0) ^ (1 << bit);
        expect(() => decodeBlock(bytes)).toThrow(BrokenBlock);
      }
    }
  });

  it('is broken by its table, rows or bytes of text, if they do not make its length', () => {
    const whole = sealed({ table: 'names', rows: [{ id: 1, text: 'one' }] });
    const bent = (at: number, value: number): Uint8Array => {
      const bytes = whole.slice();
      new DataView(bytes.buffer).setUint32(at, value, true);
      return bytes;
    };
    expect(() => decodeBlock(bent(8, 0xffff))).toThrow('No table 65535');
    expect(() => decodeBlock(bent(12, 9))).toThrow(BrokenBlock);
    expect(() => decodeBlock(bent(16, 99))).toThrow(BrokenBlock);
    expect(decodeBlock(bent(4, 77)).seq).toBe(77);
    expect(() => decodeBlock(new Uint8Array(23))).toThrow(BrokenBlock);
    // A header alone is a block without rows.
    expect(rowsOf(sealed({ table: 'edges', rows: [] })).rows).toEqual([]);
  });

  it('is broken by texts that end before they begin or behind all text', () => {
    const ends = (...values: number[]): Uint8Array =>
      encodeBlock(
        1,
        'names',
        2,
        {
          id: Uint32Array.of(0, 1),
          text: Uint32Array.from(values)
        },
        new TextEncoder().encode('abc')
      );
    expect(rowsOf(ends(1, 3)).rows.map(({ text }) => text)).toEqual([
      'a',
      'bc'
    ]);
    expect(rowsOf(ends(3, 3)).rows.map(({ text }) => text)).toEqual([
      'abc',
      ''
    ]);
    expect(() => decodeBlock(ends(2, 1))).toThrow(BrokenBlock);
    expect(() => decodeBlock(ends(1, 4))).toThrow(BrokenBlock);
  });

  it('gives its texts one by one, all at once, and as bytes', () => {
    const block = decodeBlock(
      sealed({
        table: 'workers',
        rows: ['a', 'b'].map(name => ({
          worker: 0,
          pid: 0,
          threads: 0,
          memoryLimit: 0,
          joined: 0,
          left: 0,
          name,
          address: `at ${name}`,
          host: '',
          why: ''
        }))
      })
    );
    const { address } = block.columns as unknown as { address: TextColumn };
    expect(address).toBeInstanceOf(TextColumn);
    expect(address.length).toBe(2);
    expect(address.toArray()).toEqual(['at a', 'at b']);
    const { text, start, ends } = address.raw;
    expect([start, ...ends]).toEqual([2, 6, 10]);
    expect(new TextDecoder().decode(text)).toBe('abat aat b');
  });

  it('wants a value of every column for every row, and takes no more', () => {
    const id = Uint32Array.of(3, 4, 5);
    const text = Uint32Array.of(0, 0, 0);
    expect(rowsOf(encodeBlock(1, 'names', 2, { id, text })).rows).toEqual([
      { id: 3, text: '' },
      { id: 4, text: '' }
    ]);
    expect(() => encodeBlock(1, 'names', 4, { id, text })).toThrow(
      'names.id has 3 values, the block 4 rows'
    );
    expect(() =>
      encodeBlock(1, 'names', 3, { id } as unknown as {
        id: Uint32Array;
        text: Uint32Array;
      })
    ).toThrow('names.text has no values');
  });

  it('has the same texts whether they come as text or as bytes', () => {
    const texts = fc.array(
      fc.tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.boolean()),
      { maxLength: 20 }
    );
    fc.assert(
      fc.property(texts, drawn => {
        const builder = new BlockBuilder('names');
        builder.grow(drawn.length);
        for (const [text, isBytes] of drawn) {
          if (isBytes) {
            // In the midst of others, as the keys of a graph come.
            const utf8 = new TextEncoder().encode(`é${text}-`);
            builder.addTextBytes('text', utf8, 2, utf8.length - 1);
          } else {
            builder.addText('text', text);
          }
        }
        const { rows } = rowsOf(builder.seal(1));
        expect(rows.map(({ text }) => text)).toEqual(
          drawn.map(([text]) => text)
        );
      })
    );
  });

  it('has texts in text columns alone', () => {
    const builder = new BlockBuilder('names');
    builder.grow();
    expect(() => {
      builder.addText('id', 'a');
    }).toThrow('names.id is not a text column');
    expect(() => {
      builder.addTextBytes('none', new Uint8Array(1));
    }).toThrow(TypeError);
  });

  it('wants a text for every row', () => {
    const builder = new BlockBuilder('names');
    builder.grow();
    expect(() => builder.seal(1)).toThrow('names.text has 0 texts for 1 rows');
    expect(() => {
      builder.addText('text', 'a');
      builder.addText('text', 'b');
    }).toThrow('more texts than rows');
  });
});

describe('a block with columns of one value', () => {
  it('gives back any rows of any table, as the block that is written whole does', () => {
    fc.assert(
      fc.property(anyConstantRows, value => {
        const whole = sealed(value, 7, Infinity);
        const bytes = sealed(value, 7, 1);
        expect(rowsOf(bytes)).toEqual(value);
        expect(bytes.length).toBeLessThanOrEqual(whole.length);
        expect(checkBlock(bytes)).toMatchObject({
          seq: 7,
          wholeBytes: whole.length
        });
        expect(wholeBlock(bytes)).toEqual(whole);
        expect(wholeBlock(whole)).toBe(whole);
      })
    );
  });

  it('that is cut short or bent is a broken block, never another error', () => {
    fc.assert(
      fc.property(anyConstantRows, fc.nat(), fc.nat(7), (value, n, bit) => {
        const bytes = sealed(value, 1, 1);
        expect(() => decodeBlock(bytes.slice(0, n % bytes.length))).toThrow(
          BrokenBlock
        );
        bytes[n % bytes.length] = (bytes[n % bytes.length] ?? 0) ^ (1 << bit);
        let told: unknown;
        try {
          checkBlock(bytes);
        } catch (error) {
          told = error;
        }
        const read = (): unknown => rowsOf(bytes);
        if (told === undefined) {
          expect(read).not.toThrow();
        } else {
          expect(told).toBeInstanceOf(BrokenBlock);
          expect(read).toThrow((told as Error).message);
        }
      })
    );
  });

  const rows = Array.from({ length: 80 }, (_, lane) => ({
    lane,
    node: 5,
    function: 6,
    span: 7,
    started: NaN
  }));

  it('takes little more than the columns that differ, in blocks of some rows', () => {
    const bytes = sealed({ table: 'running', rows });
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe('SWB3');
    expect(bytes.length).toBe(24 + 2 * 80 + 4 * 8);
    expect(checkBlock(bytes).wholeBytes).toBeGreaterThan(22 * 80);
    const few = sealed({ table: 'running', rows: rows.slice(0, 63) });
    expect(new TextDecoder().decode(few.subarray(0, 4))).toBe('SWB2');
  });

  it('keeps 0 and −0 apart, whose bits differ', () => {
    const differing = [0, -0].map(started => ({ ...rows[0]!, started }));
    const bytes = sealed({ table: 'running', rows: differing }, 1, 1);
    expect(rowsOf(bytes).rows.map(({ started }) => started)).toEqual([0, -0]);
  });

  it('is broken by rows that its first column has not, though no other column tells', () => {
    const bytes = sealed({ table: 'running', rows });
    // (80 numbers of 2 bytes fill 20 places of 8)
    for (const claimed of [0, 1, 76, 81, 160, 2 ** 32 - 1]) {
      new DataView(bytes.buffer).setUint32(12, claimed, true);
      expect(() => decodeBlock(bytes)).toThrow('do not make');
    }
  });

  it.each([
    ['the first column', 'names', 0b01],
    ['texts', 'names', 0b10],
    ['a column that is not there', 'edges', 0b10]
  ] as const)('is broken by one value of %s', (_, table, constants) => {
    const row: AnyRows['rows'][number] =
      table === 'names' ? { id: 1, text: 'one' } : { node: 1 };
    const bytes = sealed({ table, rows: [row] });
    bytes[3] = '3'.charCodeAt(0);
    bytes[10] = constants;
    expect(() => decodeBlock(bytes)).toThrow('columns have one value');
    expect(() => checkBlock(bytes)).toThrow(BrokenBlock);
  });

  it('is told by its beginning: neither has the other one’s flags', () => {
    const bytes = sealed({ table: 'running', rows });
    bytes[3] = '2'.charCodeAt(0);
    expect(() => decodeBlock(bytes)).toThrow('Not a block of this format.');
    bytes[3] = '3'.charCodeAt(0);
    bytes.fill(0, 10, 12);
    expect(() => decodeBlock(bytes)).toThrow('Not a block of this format.');
  });
});

describe('a log', () => {
  it('is sealed after 50 ms, names before what uses them', () => {
    const blocks: Uint8Array[] = [];
    const writer = new LogWriter(({ bytes }) => blocks.push(bytes));
    expect(writer.commit(10)).toBeNull();
    const dictionary = new Dictionary((id, text) =>
      writer.table('names').append({ id, text })
    );
    writer.table('edges').append({ node: dictionary.id('inc') });
    expect(writer.commit(10)).toBe(10 + SEAL_SECONDS);
    expect(dictionary.id('inc')).toBe(0);
    expect(writer.commit(10.049)).toBe(10 + SEAL_SECONDS);
    expect(blocks).toHaveLength(0);
    expect(writer.commit(10.05)).toBeNull();
    expect(blocks.map(block => decodeBlock(block).table)).toEqual([
      'names',
      'edges'
    ]);
    expect(writer.seq).toBe(2);
  });

  it('is sealed at 512 KiB of one table', () => {
    const seqs: number[] = [];
    const writer = new LogWriter(({ seq }) => seqs.push(seq));
    const edges = writer.table('edges');
    edges.grow(140_000);
    expect(writer.commit(0)).toBeNull();
    expect(seqs).toEqual([1]);
    expect(edges.rows).toBe(0);
  });

  it('takes columns at once', () => {
    const blocks: Uint8Array[] = [];
    const writer = new LogWriter(({ bytes }) => blocks.push(bytes));
    const nodes = writer.table('nodes');
    const row = nodes.grow(2);
    nodes.columns.node.set([7, 8], row);
    nodes.columns.submitted.fill(0.5, row, row + 2);
    nodes.addText('suffix', '(0, 1)');
    nodes.addTextBytes('suffix', new TextEncoder().encode('-é'));
    writer.seal();
    const block = decodeBlock(blocks[0] ?? new Uint8Array());
    if (block.table !== 'nodes') {
      throw new Error(block.table);
    }
    expect([...block.columns.node]).toEqual([7, 8]);
    expect(block.columns.suffix.toArray()).toEqual(['(0, 1)', '-é']);
    expect([...block.columns.submitted]).toEqual([0.5, 0.5]);
  });
});
