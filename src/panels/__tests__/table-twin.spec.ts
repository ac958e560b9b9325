import * as fc from 'fast-check';
import type { TableData } from '../format';
import { sortedRows, tableAsCsv } from '../table-twin';

function table(...values: (string | number | null)[]): TableData {
  return {
    columns: [{ name: 'v' }],
    rows: values.map(value => [{ text: String(value), value }])
  };
}

describe('sortedRows', () => {
  it('sorts by value, what is unknown last either way', () => {
    const data = table(10, null, 9, 100);
    expect(sortedRows(data, { column: 0, descending: false })).toEqual([
      2, 0, 3, 1
    ]);
    expect(sortedRows(data, { column: 0, descending: true })).toEqual([
      3, 0, 2, 1
    ]);
  });
});

describe('tableAsCsv', () => {
  it('quotes what needs it and takes the sting out of formulas', () => {
    expect(tableAsCsv(table('a,b', 'say "x"', '=1+1', -2, null))).toBe(
      ['v', '"a,b"', '"say ""x"""', "'=1+1", '-2', ''].join('\r\n')
    );
  });

  it('keeps one line a row, whatever the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), texts => {
        const csv = tableAsCsv(table(...texts));
        const quotes = csv.split('"').length - 1;
        expect(quotes % 2).toBe(0);
        const outside = csv.replace(/"(?:[^"]|"")*"/g, 'q');
        expect(outside.split('\r\n')).toHaveLength(texts.length + 1);
      })
    );
  });
});
