import * as fc from 'fast-check';
import { cellOf, type TableData } from '../format';
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

  it('says in its headings what figures are in', () => {
    const { text, seconds, bytes, share } = cellOf;
    const count = { text: '3', value: 3 };
    const columns = [
      { name: 'Key' },
      { name: 'Thread time' },
      { name: 'CPU, mean' },
      { name: 'Bytes' },
      { name: 'Share' },
      { name: 'Tasks' },
      { name: 'a run, of mine', isGiven: true }
    ];
    const rows = [
      [
        text('a'),
        seconds(1.5),
        { text: '40 %', value: 40, unit: 'percent' },
        bytes(2),
        share(0.5),
        count,
        seconds(1)
      ],
      // What is not known is in something, too.
      [text('b'), seconds(null), count, bytes(null), share(null), count, count]
    ];
    expect(tableAsCsv({ columns, rows }).split('\r\n')).toEqual([
      'key,thread_time_seconds,cpu_mean_percent,bytes,share_fraction,tasks,"a run, of mine"',
      'a,1.5,40,2,0.5,3,1',
      'b,,3,,,3,3'
    ]);
  });

  it('says in its headings what figures would be in, of no row and of rows without figures', () => {
    const columns = [
      { name: 'Key' },
      { name: 'Duration', unit: 'seconds' },
      { name: 'Tasks' }
    ];
    const headings = 'key,duration_seconds,tasks';
    expect(tableAsCsv({ columns, rows: [] })).toBe(headings);
    const none = { text: '–', value: null };
    expect(tableAsCsv({ columns, rows: [[none, none, none]] })).toBe(
      `${headings}\r\n,,`
    );
  });

  it('says of each row what its figures are in where rows differ', () => {
    const { text, seconds, bytes } = cellOf;
    const columns = [
      { name: 'Figure' },
      { name: 'run A', isGiven: true },
      { name: 'run B', isGiven: true },
      { name: 'Ratio' }
    ];
    const none = { text: '', value: null };
    const rows = [
      [text('Time'), seconds(2), seconds(4), { text: '2', value: 2 }],
      [text('Read'), bytes(7), bytes(null), none],
      [text('Notes'), none, none, none]
    ];
    expect(tableAsCsv({ columns, rows }).split('\r\n')).toEqual([
      'figure,unit,run A,run B,ratio',
      'Time,seconds,2,4,2',
      'Read,bytes,7,,',
      'Notes,,,,'
    ]);
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
