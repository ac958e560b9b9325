import fc from 'fast-check';
import type { ColumnArray } from '../../records/block';
import type { ColumnType } from '../../records/tables';
import { packedColumn } from '../store/packed-column';

type AnyColumn = ColumnArray[ColumnType];

const numbers = (most: number) => fc.array(fc.nat(most), { minLength: 1 });
const floats = fc.array(
  fc.oneof(fc.constantFrom(NaN, 0, -0, 1.5), fc.double()),
  { minLength: 1 }
);
const anyColumn: fc.Arbitrary<AnyColumn> = fc.oneof(
  numbers(255).map(values => Uint8Array.from(values)),
  fc
    .constantFrom(3, 255, 256, 65_535)
    .chain(numbers)
    .map(values => Uint16Array.from(values)),
  fc
    .constantFrom(3, 255, 256, 65_535, 65_536, 2 ** 32 - 1)
    .chain(numbers)
    .map(values => Uint32Array.from(values)),
  floats.map(values => Float32Array.from(values)),
  floats.map(values => Float64Array.from(values))
);

describe('a packed column', () => {
  it('has the same values, the sign of 0 too, in no more bytes', () => {
    fc.assert(
      fc.property(anyColumn, column => {
        const before = column.slice();
        const packed = packedColumn(column);
        expect([...packed.column]).toEqual([...before]);
        expect([...column]).toEqual([...before]);
        expect(packed.column.byteLength).toBeLessThanOrEqual(before.byteLength);
        expect([0, packed.column.byteLength]).toContain(packed.nbytes);
      })
    );
  });

  it.each([Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array])(
    'of %p with one other value, at whatever place, is not shared',
    type => {
      const same: AnyColumn = new type(8).fill(3);
      expect(packedColumn<AnyColumn>(same.slice()).column).toEqual(same);
      for (let place = 0; place < 8; place++) {
        const column = same.slice();
        column[place] = 5;
        const { column: packed, nbytes } = packedColumn<AnyColumn>(column);
        expect([...packed]).toEqual([...column]);
        expect(nbytes).toBe(packed.byteLength);
      }
      expect(packedColumn<AnyColumn>(same.slice()).nbytes).toBe(0);
    }
  );

  it.each([
    [[0, 255], 1],
    [[0, 256], 2],
    [[0, 65_535], 2],
    [[0, 65_536], 4]
  ])('of %j takes %d bytes a value', (values, width) => {
    const packed = packedColumn(Uint32Array.from(values));
    expect(packed.column.BYTES_PER_ELEMENT).toBe(width);
    expect(packed.nbytes).toBe(2 * width);
  });

  it('of one value is shared by columns of its type, length and value', () => {
    const of = (...values: number[]) => Float32Array.from(values);
    const first = packedColumn(of(7, 7));
    expect(first.nbytes).toBe(8);
    expect(packedColumn(of(7, 7))).toEqual({ column: first.column, nbytes: 0 });
    expect(packedColumn(of(7, 7)).column).toBe(first.column);
    for (const other of [
      of(7, 7, 7),
      of(8, 8),
      Float64Array.of(7, 7),
      of(7, 8)
    ]) {
      expect(packedColumn<AnyColumn>(other).column).not.toBe(first.column);
    }
    const zero = packedColumn(of(0, 0)).column;
    expect(packedColumn(of(-0, -0)).column).not.toBe(zero);
    expect(packedColumn(of(NaN, NaN)).column).toBe(
      packedColumn(of(NaN, NaN)).column
    );
  });
});
