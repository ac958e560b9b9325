import fc from 'fast-check';
import { NONE_U32 } from '../../records/enumerations';
import { blockOfZeros, rowsToBlock } from '../../testing/rows-to-block';
import { CHUNK_MASK, ColumnTable } from '../store/column-table';

const CHUNK = CHUNK_MASK + 1;
// From a row to more than the first capacity, with texts of unlike lengths.
const anyBatch = fc.array(
  fc.record({
    node: fc.nat(2 ** 32 - 1),
    submitted: fc.nat(99),
    suffix: fc.constantFrom('', 'x', '(0, 1)', 'größe')
  }),
  { maxLength: 40 }
);

describe('a table of the log', () => {
  it('holds the rows of all blocks, with their texts and its own columns', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyBatch, fc.constantFrom(1, 7)), { maxLength: 5 }),
        batches => {
          const table = new ColumnTable('nodes', { mark: 'u8' });
          const expected: (typeof batches)[0][0] = [];
          for (const [batch, times] of batches) {
            const rows = Array.from({ length: times }, () => batch).flat();
            expect(table.append(rowsToBlock(1, 'nodes', rows))).toBe(
              expected.length
            );
            expected.push(...rows);
          }
          expect(table.length).toBe(expected.length);
          expect([table.firstRow, table.endRow]).toEqual([0, expected.length]);
          expect(table.overdue).toBeUndefined();
          for (const [row, { node, submitted, suffix }] of expected.entries()) {
            const { columns } = table.chunkOf(row)!;
            expect([
              columns.node[row],
              columns.submitted[row],
              columns.mark[row],
              table.text('suffix', row)
            ]).toEqual([node, submitted, 0, suffix]);
          }
          expect(table.has(expected.length)).toBe(false);
          expect(table.has(-1)).toBe(false);
          expect(table.has(expected.length - 1)).toBe(expected.length > 0);
        }
      ),
      { numRuns: 40 }
    );
  });

  it('tells its text columns apart', () => {
    const rows = [1, 2].map(worker => ({
      worker,
      name: `name ${worker}`,
      address: worker === 1 ? '' : 'tcp://2',
      host: 'box',
      why: `why ${worker}`
    }));
    const table = new ColumnTable('workers');
    table.append(rowsToBlock(1, 'workers', rows));
    table.append(rowsToBlock(2, 'workers', rows));
    for (const [row, { name, address, host, why }] of [
      ...rows,
      ...rows
    ].entries()) {
      expect(
        (['name', 'address', 'host', 'why'] as const).map(column =>
          table.text(column, row)
        )
      ).toEqual([name, address, host, why]);
    }
    // Rows that no block brought may leave out where texts begin.
    const {
      rows: count,
      columns,
      text
    } = rowsToBlock(1, 'nodes', [{ suffix: 'one' }, { suffix: 'two' }]);
    const nodes = new ColumnTable('nodes');
    nodes.append({ rows: count, columns, text });
    expect([0, 1].map(row => nodes.text('suffix', row))).toEqual([
      'one',
      'two'
    ]);
  });

  it('drops its oldest chunk at its bound, and numbers go on', () => {
    const table = new ColumnTable('names', {}, CHUNK);
    const rows = Array.from({ length: 3 * CHUNK + 5 }, (_, id) => ({
      id,
      text: `${id % 10}`
    }));
    // Begins amid a chunk, and ends in the one after the next.
    table.append(rowsToBlock(1, 'names', rows.slice(0, 9)));
    table.append(rowsToBlock(2, 'names', rows.slice(9)));
    for (const { id } of rows.filter(row => (row.id + 2) % CHUNK < 4)) {
      expect([id, table.text('text', id)]).toEqual([id, `${id % 10}`]);
    }
    expect(table.chunks.map(chunk => [chunk.firstRow, chunk.rows])).toEqual([
      [0, CHUNK],
      [CHUNK, CHUNK],
      [2 * CHUNK, CHUNK],
      [3 * CHUNK, 5]
    ]);
    // Two columns of 4 bytes in four whole chunks, the first one's ids of 2, and the texts.
    const least = 4 * CHUNK * 8 - 2 * CHUNK + rows.length;
    expect(table.nbytes).toBeGreaterThanOrEqual(least);
    expect(table.nbytes).toBeLessThanOrEqual(4 * CHUNK * 8 + 4 * 2 * CHUNK);
    let dropped = 0;
    for (; table.overdue !== undefined; dropped++) {
      expect(table.overdue.firstRow).toBe(dropped * CHUNK);
      table.dropOldest();
    }
    // 65,541 rows are over the bound, the last chunk alone is not.
    expect(dropped).toBe(3);
    expect([table.firstRow, table.endRow]).toEqual([3 * CHUNK, rows.length]);
    expect(table.length).toBe(5);
    expect(table.has(3 * CHUNK - 1)).toBe(false);
    expect(table.has(3 * CHUNK)).toBe(true);
    expect(table.chunkOf(3 * CHUNK - 1)).toBeUndefined();
    expect(table.text('text', CHUNK)).toBe('');
    expect(table.text('text', 3 * CHUNK + 4)).toBe(`${(3 * CHUNK + 4) % 10}`);
    expect(table.chunkOf(3 * CHUNK)!.columns.id[0]).toBe(3 * CHUNK);
  });

  it('packs full chunks: columns of one value and small numbers take less', () => {
    const table = new ColumnTable('runs', { mark: 'u32' }, 9 * CHUNK, [
      'status'
    ]);
    const zeros = (rows: number) => {
      const block = blockOfZeros(1, 'runs', rows);
      for (let i = 0; i < rows; i++) {
        block.columns['run']![i] = 70_000 + i;
        block.columns['function']![i] = i % 300;
        block.columns['lane']![i] = i % 8;
        block.columns['start']![i] = i / 7;
        block.columns['cpu']![i] = NaN;
        block.columns['type']![i] = NONE_U32;
      }
      return block;
    };
    for (let chunk = 0; chunk < 3; chunk++) {
      table.append(zeros(CHUNK));
    }
    table.append(zeros(1));
    const [first, second, third] = table.chunks.map(({ columns }) => columns);
    expect(first!.cpu).toBe(second!.cpu);
    expect(third!.type).toBe(second!.type);
    // What may still change is each chunk's own.
    expect(first!.status).not.toBe(second!.status);
    first!.status[3] = 255;
    first!.mark[3] = 70_000;
    expect([second!.status[3], second!.mark[3]]).toEqual([0, 0]);
    expect([first!.function.BYTES_PER_ELEMENT, first!.run.length]).toEqual([
      2,
      CHUNK
    ]);
    for (const row of [0, 3, CHUNK - 1, 2 * CHUNK + 299]) {
      const { columns } = table.chunkOf(row)!;
      const i = row & CHUNK_MASK;
      expect([
        columns.run[i],
        columns.function[i],
        columns.lane[i],
        columns.start[i],
        columns.cpu[i],
        columns.type[i],
        columns.nbytes[i]
      ]).toEqual([70_000 + i, i % 300, i % 8, i / 7, NaN, NONE_U32, 0]);
    }
    // Of the 58 bytes of a row: run 4, function 2, lane 1, status 1, start 8, mark 4.
    const fresh = 58 * CHUNK;
    expect(table.nbytes - fresh).toBeGreaterThanOrEqual(3 * 20 * CHUNK);
    expect(table.nbytes - fresh).toBeLessThanOrEqual(3 * 20 * CHUNK + fresh);
  });

  it('keeps what is exactly at its bound, and its newest chunk whatever that is', () => {
    const block = (count: number) =>
      rowsToBlock(
        1,
        'edges',
        Array.from({ length: count }, () => ({ node: 1 }))
      );
    const atBound = new ColumnTable('edges', {}, 2 * CHUNK);
    atBound.append(block(2 * CHUNK));
    expect(atBound.overdue).toBeUndefined();
    atBound.append(block(1));
    expect(atBound.overdue?.firstRow).toBe(0);
    const small = new ColumnTable('edges', {}, 1);
    small.append(block(2));
    expect(small.overdue).toBeUndefined();
  });

  it('costs little while it has few rows', () => {
    const table = new ColumnTable('edges');
    expect(table.nbytes).toBe(0);
    const one = rowsToBlock(1, 'edges', [{ node: 1 }]);
    table.append(one);
    expect(table.nbytes).toBe(4 * 256);
    for (let row = 1; row <= 256; row++) {
      table.append(one);
    }
    expect(table.nbytes).toBe(4 * 512);
  });
});
