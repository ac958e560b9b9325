import { memoryOf } from '../../../testing/panel-harness/drawn-answers';
import {
  differenceRow,
  memoryLines,
  runRows,
  subtitleOf,
  tableOf,
  titleOf,
  valueAt
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const result = memoryOf({});
const GiB = 2 ** 30;
const simple = {
  ...result,
  runs: [
    {
      run: 1,
      label: 'A',
      measure: 'process',
      intervalSeconds: 0.5,
      start: 10,
      stopped: 14,
      t: [10, 12, 14],
      bytes: [GiB, 3 * GiB, GiB],
      peak: 3 * GiB
    },
    {
      run: 2,
      label: 'B',
      measure: 'process',
      intervalSeconds: 0.5,
      start: 20,
      stopped: null,
      t: [20, 22],
      bytes: [GiB, 2 * GiB],
      peak: 2 * GiB
    }
  ]
};

describe('memory lines', () => {
  it('start at zero when aligned, and stay where they were by clock', () => {
    const zero = memoryLines(simple, 'zero');
    expect(zero.map(line => [line.label, line.t[0]])).toEqual([
      ['A', 0],
      ['B', 0]
    ]);
    expect(zero.map(line => line.isRecording)).toEqual([false, true]);
    expect(zero[0]?.peak).toEqual({ t: 2, bytes: 3 * GiB });
    const clock = memoryLines(simple, 'clock');
    expect(clock.map(line => line.label)).toEqual(['cluster', 'A', 'B']);
    expect(clock[1]?.t[0]).toBe(10);
  });

  it('show the cluster when there is no run to align', () => {
    expect(
      memoryLines({ ...simple, runs: [] }, 'zero').map(line => line.label)
    ).toEqual(['cluster']);
  });

  it('leave out what is hidden, without changing the others’ colours', () => {
    const lines = memoryLines(simple, 'zero', new Set(['run 1']));
    expect(lines.map(line => [line.label, line.place])).toEqual([['B', 1]]);
  });

  it('are read between their samples, not beyond', () => {
    const [line] = memoryLines(simple, 'zero');
    expect(valueAt(line!, 1)).toBe(2 * GiB);
    expect(valueAt(line!, 4)).toBe(GiB);
    expect(valueAt(line!, 4.1)).toBeNull();
    expect(valueAt({ ...line!, t: [], bytes: [] }, 1)).toBeNull();
  });
});

describe('the table of runs', () => {
  it('integrates under straight lines', () => {
    const [a, b] = runRows(simple, 0, 100);
    expect(a).toMatchObject({
      duration: 4,
      peak: 3 * GiB,
      mean: 2 * GiB,
      area: 8 * GiB,
      isRecording: false
    });
    expect(b).toMatchObject({
      duration: 2,
      mean: 1.5 * GiB,
      isRecording: true
    });
  });

  it('compares exactly two runs', () => {
    const rows = runRows(simple, 0, 100);
    const difference = differenceRow(rows);
    expect(difference?.label).toBe('B − A');
    expect(difference?.cells.map(plain)).toEqual(
      [
        '−2.00 s −50 %',
        '−1.00 GiB −33 %',
        '−0.50 GiB −25 %',
        '−5.00 GiB·s −63 %'
      ].map(text => text.replace('−0.50 GiB', '−512 MiB'))
    );
    expect(differenceRow(rows.slice(0, 1))).toBeNull();
  });

  it('says what is drawn', () => {
    expect(titleOf(simple, 'zero', 'cluster')).toBe(
      'Process memory of the cluster, 2 runs from zero'
    );
    expect(titleOf({ ...simple, runs: [] }, 'clock', 'workers')).toBe(
      'Process memory of each worker'
    );
    expect(plain(subtitleOf(simple))).toBe(
      'limit 16.0 GiB · sampled every 500 ms'
    );
    const table = tableOf(simple, 0, 100);
    expect(table.rows.map(row => row[0]?.text)).toEqual([
      'A',
      'B (recording)',
      'cluster'
    ]);
    expect(table.rows.every(row => row.length === table.columns.length)).toBe(
      true
    );
  });
});
