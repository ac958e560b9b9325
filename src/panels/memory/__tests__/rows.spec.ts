import { english } from '../../../testing/translators';
import { ask } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { rowsToBlock } from '../../../testing/rows-to-block';
import type { MemoryResult } from '../../../wire/panel-link';
import { memoryFigure } from '../figure';
import {
  binText,
  differenceRow,
  memoryLines,
  runRows,
  subtitleOf,
  tableOf,
  titleOf,
  valueAt
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const GiB = 2 ** 30;
const MEASURES = ['process', 'managed'];

type Recorded = {
  readonly label: string;
  readonly measure?: string;
  readonly stopped?: number;
  readonly t: readonly number[];
  readonly bytes: readonly number[];
};

/** What the observer makes of these runs, on a cluster of one worker whose memory is 5 GiB, of 16. */
function folded(
  runs: readonly Recorded[],
  params: Readonly<Record<string, unknown>> = {}
): MemoryResult {
  const log = new LogStore('memory');
  const blocks = [
    rowsToBlock(
      1,
      'names',
      MEASURES.map((text, i) => ({ id: i + 1, text }))
    ),
    rowsToBlock(2, 'workers', [
      { worker: 0, name: 'w0', memoryLimit: 16 * GiB, left: NaN }
    ]),
    rowsToBlock(
      3,
      'memory',
      [0, 10, 20].map(t => ({ t, worker: 0, process: 5 * GiB, managed: GiB }))
    ),
    rowsToBlock(
      4,
      'memoryRuns',
      runs.map(({ label, measure = 'process', stopped = NaN, t }, i) => ({
        run: i + 1,
        label,
        measure: MEASURES.indexOf(measure) + 1,
        interval: 0.5,
        start: t[0]!,
        stopped
      }))
    ),
    rowsToBlock(
      5,
      'memorySamples',
      runs.flatMap(({ t, bytes }, i) =>
        t.map((at, k) => ({ run: i + 1, t: at, bytes: bytes[k]! }))
      )
    )
  ];
  blocks.forEach(block => ingestBlock(log, block));
  return ask(log, 'memory', { params });
}

const A = {
  label: 'A',
  stopped: 14,
  t: [10, 12, 14],
  bytes: [GiB, 3 * GiB, GiB]
};
const B = { label: 'B', t: [20, 22], bytes: [GiB, 2 * GiB] };
const simple = folded([A, B]);

describe('memory lines', () => {
  it('start at zero when aligned, and stay where they were by clock', () => {
    const zero = memoryLines(simple, 'zero', english);
    expect(zero.map(line => [line.label, line.t[0]])).toEqual([
      ['A', 0],
      ['B', 0]
    ]);
    expect(zero.map(line => line.isRecording)).toEqual([false, true]);
    expect(zero[0]?.peak).toEqual({
      t: 2,
      bytes: 3 * GiB,
      isFromBefore: false
    });
    const clock = memoryLines(simple, 'clock', english);
    expect(clock.map(line => line.label)).toEqual(['cluster', 'A', 'B']);
    expect(clock[1]?.t[0]).toBe(10);
  });

  it('show the cluster when there is no run to align', () => {
    expect(
      memoryLines({ ...simple, runs: [] }, 'zero', english).map(
        line => line.label
      )
    ).toEqual(['cluster']);
  });

  it('leave out what is hidden, without changing the others’ colours', () => {
    const lines = memoryLines(simple, 'zero', english, new Set(['run 1']));
    expect(lines.map(line => [line.label, line.place])).toEqual([['B', 1]]);
  });

  it('are read between their samples, not beyond', () => {
    const [line] = memoryLines(simple, 'zero', english);
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
        '0 B 0 %',
        '−1.00 GiB −33 %',
        '−0.50 GiB −25 %',
        '−5.00 GiB·s −63 %'
      ].map(text => text.replace('−0.50 GiB', '−512 MiB'))
    );
    expect(differenceRow(rows.slice(0, 1))).toBeNull();
  });

  it('says what is drawn', () => {
    expect(titleOf(simple, 'zero', 'cluster', english)).toBe(
      'Process memory of the cluster, 2 runs from zero'
    );
    expect(titleOf({ ...simple, runs: [] }, 'clock', 'workers', english)).toBe(
      'Process memory of each worker'
    );
    expect(plain(subtitleOf(simple, true, english))).toBe(
      'workers’ limits 16.0 GiB · sampled every 500 ms'
    );
    expect(plain(subtitleOf(simple, false, english))).toBe(
      'worker’s limit 16.0 GiB · sampled every 500 ms'
    );
    const table = tableOf(simple, 0, 100, english);
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

/** More samples than are drawn: a saw whose mean, peak and area are known. */
const saw = {
  label: 'saw',
  t: Array.from({ length: 40_001 }, (_, i) => 30 + i / 1000),
  bytes: Array.from(
    { length: 40_001 },
    (_, i) => (i % 100 === 50 ? 3 : 1) * GiB
  )
};

describe('runs of more samples than are drawn', () => {
  it('have mean and area of all samples, not of the peaks that are drawn', () => {
    const result = folded([saw]);
    expect(result.runs[0]?.t.length).toBeLessThan(3000);
    const [row] = runRows(result, 0, 100);
    // 400 teeth, each a triangle 2 GiB high and 2 ms wide, on 1 GiB over 40 s.
    const area = 40 + 400 * 2 * 0.001;
    expect(row!.area / GiB).toBeCloseTo(area, 6);
    expect(row!.mean! / GiB).toBeCloseTo(area / 40, 6);
    expect(row!.peak).toBe(3 * GiB);
  });

  it('say what the samples of a bin are', () => {
    const [line] = memoryLines(folded([saw]), 'zero', english);
    expect(Math.max(...line!.bytes.map(Number))).toBe(3 * GiB);
    expect(Math.min(...line!.bytes.map(Number))).toBe(GiB);
    expect(plain(binText(line!, 20, english)!)).toMatch(
      /^1\.00 GiB to 3\.00 GiB, mean 1\.0\d GiB$/
    );
    expect(binText(line!, 41, english)).toBeNull();
    expect(
      binText(memoryLines(simple, 'zero', english)[0]!, 1, english)
    ).toBeNull();
  });
});

describe('what a title names', () => {
  it('is the measure of the runs, when they are all that is drawn', () => {
    const chosen = folded([A, B], { measure: 'managed' });
    expect(titleOf(chosen, 'zero', 'cluster', english)).toBe(
      'Process memory of the cluster, 2 runs from zero'
    );
    expect(subtitleOf(chosen, true, english)).toContain(
      'runs keep the measure'
    );
    expect(
      memoryLines(chosen, 'zero', english).map(line => line.label)
    ).toEqual(['A', 'B']);
  });

  it('is the chosen one by clock, and runs of another name their own', () => {
    const chosen = folded([A, B], { measure: 'managed' });
    expect(titleOf(chosen, 'clock', 'cluster', english)).toBe(
      'Managed memory of the cluster, 2 runs by clock'
    );
    expect(
      memoryLines(chosen, 'clock', english).map(line => line.label)
    ).toEqual(['cluster', 'A (process)', 'B (process)']);
  });

  it('is none where runs differ: each says its own', () => {
    const mixed = folded([A, { ...B, measure: 'managed' }]);
    expect(titleOf(mixed, 'zero', 'cluster', english)).toBe(
      'Memory of the cluster, 2 runs from zero'
    );
    expect(memoryLines(mixed, 'zero', english).map(line => line.label)).toEqual(
      ['A (process)', 'B (managed)']
    );
  });
});

describe('what a run found when it began', () => {
  const after = {
    label: 'after',
    stopped: 24,
    t: [20, 21, 22, 24],
    bytes: [3 * GiB, GiB, 2 * GiB, GiB]
  };

  it('is not shown as its peak', () => {
    const result = folded([A, after]);
    const layout = memoryFigure(
      memoryLines(result, 'zero', english),
      null,
      'zero',
      {
        width: 900,
        trans: english
      }
    ).layout as { annotations: { text: string }[] };
    const texts = layout.annotations.map(({ text }) => plain(text)).sort();
    expect(texts).toEqual([
      'A: peak 3.00 GiB at +2.0 s',
      'after: began with 3.00 GiB, its highest'
    ]);
    const [a, b] = runRows(result, 0, 100);
    expect([a!.first, a!.isPeakFromBefore]).toEqual([GiB, false]);
    expect([b!.first, b!.isPeakFromBefore]).toEqual([3 * GiB, true]);
    const table = tableOf(result, 0, 100, english);
    const peaks = table.rows.slice(0, 2).map(row => plain(row[5]!.text));
    expect(peaks).toEqual(['3.00 GiB', '3.00 GiB, from before']);
  });
});
