/** Every figure of pairs and types, from figures of which no two are equal. */
import { english } from '../../../testing/translators';
import type { TransfersResult } from '../../../wire/panel-link';
import { pairsFigure } from '../figure';
import { pairsOf, shortType, tableOf, titleOf, typesOf } from '../rows';

const MiB = 2 ** 20;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

const result: TransfersResult = {
  view: 'transfers',
  workers: [
    { worker: 3, name: 'worker-3', address: 'tcp://3' },
    { worker: 7, name: '<b>seven', address: 'tcp://7' }
  ],
  total: {
    count: 1_206,
    bytes: 90 * MiB,
    largeBytes: 80 * MiB,
    largeSeconds: 4
  },
  pairs: {
    from: [3, 7],
    to: [7, 3],
    count: [1_200, 6],
    bytes: [88 * MiB, 2 * MiB],
    largeBytes: [80 * MiB, 0],
    largeSeconds: [2, 0]
  },
  types: {
    type: ['pandas.core.frame:DataFrame'],
    count: [5],
    bytes: [70 * MiB],
    largeBytes: [60 * MiB],
    largeSeconds: [3]
  },
  dropped: 0
};

describe('pairs and types', () => {
  it('have the speed of what was large, and the bytes of all', () => {
    expect(pairsOf(result)).toEqual([
      { from: 0, to: 1, count: 1_200, bytes: 88 * MiB, speed: 40 * MiB },
      { from: 1, to: 0, count: 6, bytes: 2 * MiB, speed: null }
    ]);
    expect(typesOf(result)).toEqual([
      {
        type: 'pandas.core.frame:DataFrame',
        count: 5,
        bytes: 70 * MiB,
        speed: 20 * MiB
      }
    ]);
  });

  it('have a name and a sum', () => {
    expect(plain(titleOf(result, english))).toBe(
      'From worker to worker: 90.0 MiB in 1,206 transfers, large ones at 20.0 MiB/s'
    );
    const small = { count: 1, bytes: 9, largeBytes: 0, largeSeconds: 0 };
    expect(plain(titleOf({ ...result, total: small }, english))).toBe(
      'From worker to worker: 9 B in 1 transfer'
    );
    expect(
      [
        'pandas.core.frame:DataFrame',
        'numpy:ndarray',
        'a:B.C',
        'int',
        'x:'
      ].map(shortType)
    ).toEqual(['DataFrame', 'ndarray', 'C', 'int', 'x:']);
  });

  it('are rows of the table, unrounded', () => {
    const { columns, rows, note } = tableOf(result, english);
    expect(columns.map(({ name }) => name)).toEqual([
      'From',
      'To',
      'Type',
      'Speed',
      'Bytes',
      'Transfers'
    ]);
    expect(rows.map(row => row.map(({ value }) => value))).toEqual([
      ['worker 3', '<b>seven', 'all', 40 * MiB, 88 * MiB, 1_200],
      ['<b>seven', 'worker 3', 'all', null, 2 * MiB, 6],
      ['all', 'all', 'pandas.core.frame:DataFrame', 20 * MiB, 70 * MiB, 5]
    ]);
    expect(note).toBeUndefined();
    expect(tableOf({ ...result, dropped: 2 }, english).note).toBe(
      '2 pairs and types with the fewest bytes are left out.'
    );
  });
});

describe('the square', () => {
  const drawn = (show: 'speed' | 'bytes', width = 600) => {
    const { data, layout } = pairsFigure(
      ['worker 3', '<b>seven'],
      pairsOf(result),
      show,
      { width, height: 300, trans: english }
    );
    const [fetched, squares, points] = data as Record<string, unknown>[];
    return {
      fetched: fetched!,
      squares: squares!,
      points: points!,
      layout: layout as Record<string, Record<string, unknown>>
    };
  };

  it('has sources from top to bottom and destinations from left to right', () => {
    const { fetched, squares, layout } = drawn('speed');
    // What is too small to be timed is seen to have been fetched, and says why it has no speed.
    expect(fetched.text).toEqual([
      ['', ''],
      ['small only', '']
    ]);
    expect(fetched.z).toEqual([
      [null, 0],
      [0, null]
    ]);
    expect(squares.z).toEqual([
      [null, 40 * MiB],
      [null, null]
    ]);
    expect(squares.zmax).toBe(40 * MiB);
    expect((squares.text as string[][]).map(row => row.map(plain))).toEqual([
      ['', '40.0 MiB/s'],
      ['', '']
    ]);
    expect(layout.yaxis!.range).toEqual([1.5, -0.5]);
    expect(layout.xaxis!.ticktext).toEqual([
      'to worker 3',
      'to &lt;b&gt;seven'
    ]);
    expect(drawn('bytes').squares.z).toEqual([
      [null, 88 * MiB],
      [2 * MiB, null]
    ]);
  });

  it('tells of each pair, and reads no name as markup', () => {
    const { points } = drawn('bytes');
    expect([points.x, points.y]).toEqual([
      [1, 0],
      [0, 1]
    ]);
    expect((points.text as string[]).map(plain)).toEqual([
      '<b>worker 3 → &lt;b&gt;seven</b><br>40.0 MiB/s<br>88.0 MiB in 1,200 transfers',
      '<b>&lt;b&gt;seven → worker 3</b><br>none of more than 1 MB, so no speed<br>2.00 MiB in 6 transfers'
    ]);
  });

  it('leaves out figures and labels that have no room', () => {
    const { squares } = drawn('speed', 300);
    expect(squares.text).toBeUndefined();
    const many = Array.from({ length: 200 }, (_, i) => `worker ${i}`);
    const { layout } = pairsFigure(many, [], 'speed', {
      width: 600,
      height: 400,
      trans: english
    }) as { layout: Record<string, { tickvals: number[] }> };
    expect(layout.xaxis!.tickvals).toHaveLength(25);
    expect(layout.yaxis!.tickvals).toHaveLength(19);
  });

  it('turns the labels below it where they have no room side by side', () => {
    const [wide, narrow] = [600, 300].map(
      width => drawn('speed', width).layout
    );
    expect(wide!.xaxis!.tickangle).toBe(0);
    expect(narrow!.xaxis!.tickangle).toBe(-90);
    // None is left out, and the longest is whole.
    for (const { xaxis, margin } of [wide!, narrow!]) {
      expect(xaxis!.ticktext).toEqual(['to worker 3', 'to &lt;b&gt;seven']);
      expect(margin!.b).toBeGreaterThan(xaxis!.tickangle === 0 ? 15 : 72);
    }
  });
});
