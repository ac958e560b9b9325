/** Every column and title from figures of which no two are equal. */
import fc from 'fast-check';
import { bracketing, english } from '../../../testing/translators';
import type { MemoryResult } from '../../../wire/panel-link';
import {
  formatBytes,
  formatByteSeconds,
  formatClock,
  formatDuration,
  UNKNOWN
} from '../../format';
import {
  binText,
  cornersOf,
  differenceRow,
  measureWord,
  memoryLines,
  runColumns,
  runRows,
  limitSteps,
  subtitleOf,
  tableOf,
  titleOf,
  valueAt,
  type Line
} from '../rows';

const MiB = 2 ** 20;
const bins = {
  seconds: 2,
  from: [20, 24],
  low: [31 * MiB, 32 * MiB],
  high: [33 * MiB, 34 * MiB],
  mean: [35 * MiB, 36 * MiB]
};

const result: MemoryResult = {
  view: 'memory',
  measure: 'unmanaged',
  now: { process: 71, managed: 72, spilled: 73, unmanagedOld: 74 },
  series: [
    {
      name: 'cluster',
      worker: null,
      t: [1, 2, 4],
      bytes: [1 * MiB, 3 * MiB, 2 * MiB],
      bins
    },
    { name: 'selection', worker: null, t: [5], bytes: [null] },
    { name: 'worker-7', worker: 7, t: [6, 7], bytes: [null, 4 * MiB] }
  ],
  limits: { memoryLimit: 50 * MiB, target: 1, spill: 2, pause: 3 },
  runs: [
    {
      run: 11,
      label: 'one',
      measure: 'spilled',
      intervalSeconds: 0.5,
      start: 20,
      stopped: 27,
      t: [20, 21, 26],
      bytes: [5 * MiB, 6 * MiB, 7 * MiB],
      bins,
      samples: 90,
      first: 8 * MiB,
      last: 9 * MiB,
      peak: 10 * MiB,
      peakAt: 21,
      mean: 11 * MiB,
      area: 12 * MiB
    },
    {
      run: 12,
      label: 'two',
      measure: 'managed',
      intervalSeconds: 0.25,
      start: 40,
      stopped: null,
      t: [40, 43],
      bytes: [13 * MiB, 14 * MiB],
      samples: 2,
      first: 15 * MiB,
      last: 16 * MiB,
      peak: 15 * MiB,
      peakAt: 40,
      mean: 17 * MiB,
      area: 18 * MiB
    },
    {
      run: 13,
      label: 'none yet',
      measure: 'process',
      intervalSeconds: 0.125,
      start: 60,
      stopped: null,
      t: [],
      bytes: [],
      samples: 0,
      first: null,
      last: null,
      peak: 0,
      peakAt: null,
      mean: null,
      area: 0
    }
  ]
};
const withRuns = (...runs: MemoryResult['runs']): MemoryResult => ({
  ...result,
  runs
});
const [one, two, none] = result.runs as [
  MemoryResult['runs'][0],
  MemoryResult['runs'][0],
  MemoryResult['runs'][0]
];

describe('the lines of memory', () => {
  it('from zero are the runs, each from its own start', () => {
    expect(memoryLines(result, 'zero', english)).toEqual([
      {
        key: 'run 11',
        label: 'one (spilled)',
        t: [0, 1, 6],
        bytes: one.bytes,
        holds: false,
        run: 11,
        place: 0,
        isRecording: false,
        peak: { t: 1, bytes: 10 * MiB, isFromBefore: false },
        bins: { ...bins, from: [0, 4] }
      },
      {
        key: 'run 12',
        label: 'two (managed)',
        t: [0, 3],
        bytes: two.bytes,
        holds: false,
        run: 12,
        place: 1,
        isRecording: true,
        peak: { t: 0, bytes: 15 * MiB, isFromBefore: true },
        bins: null
      },
      {
        key: 'run 13',
        label: 'none yet (process)',
        t: [],
        bytes: [],
        holds: false,
        run: 13,
        place: 2,
        isRecording: true,
        peak: null,
        bins: null
      }
    ]);
  });

  it('by clock begin with the observer’s own', () => {
    const lines = memoryLines(result, 'clock', english);
    expect(lines.slice(0, 3)).toEqual([
      {
        key: 'series cluster',
        label: 'cluster',
        t: [1, 2, 4],
        bytes: result.series[0]!.bytes,
        holds: true,
        run: null,
        place: 0,
        isRecording: false,
        peak: { t: 2, bytes: 3 * MiB, isFromBefore: false },
        bins
      },
      expect.objectContaining({ label: 'selection', place: 1, peak: null }),
      expect.objectContaining({
        key: 'series worker-7',
        place: 2,
        peak: { t: 7, bytes: 4 * MiB, isFromBefore: false },
        bins: null
      })
    ]);
    expect(lines[2]!.label).toContain('7');
    expect(lines[3]).toMatchObject({ t: one.t, bins });
    const hidden = new Set(['series selection', 'run 12']);
    expect(
      memoryLines(result, 'clock', english, hidden).map(({ key }) => key)
    ).toEqual(['series cluster', 'series worker-7', 'run 11', 'run 13']);
  });

  it('have their peak at the first of equal samples', () => {
    const equal = { ...result.series[0]!, bytes: [MiB, 3 * MiB, 3 * MiB] };
    const lines = memoryLines({ ...result, series: [equal] }, 'clock', english);
    expect(lines[0]!.peak!.t).toBe(2);
  });

  it('have names of ours in the user’s language', () => {
    expect(
      memoryLines({ ...result, runs: [] }, 'clock', bracketing).map(
        ({ label }) => label
      )
    ).toEqual(['⟦cluster⟧', '⟦selection⟧', '⟦worker 7⟧']);
    expect(
      memoryLines(
        { ...result, runs: [] },
        'clock',
        bracketing,
        undefined,
        true
      ).map(({ label }) => label)
    ).toEqual(['⟦all processes⟧', '⟦selection⟧', '⟦worker 7⟧']);
  });

  it('of one sample have no peak from before', () => {
    const single = { ...two, samples: 1 };
    const [line] = memoryLines(withRuns(single), 'zero', english);
    expect(line!.peak!.isFromBefore).toBe(false);
    // Its measure is that of all runs: the title says it.
    expect(line!.label).toBe('two');
  });

  it('are straight between their samples', () => {
    const anyLine = fc
      .uniqueArray(fc.nat(40), { minLength: 1, maxLength: 12 })
      .chain(times =>
        fc.record({
          t: fc.constant(times.sort((a, b) => a - b)),
          bytes: fc.array(fc.nat(100), {
            minLength: times.length,
            maxLength: times.length
          })
        })
      );
    fc.assert(
      fc.property(
        anyLine,
        fc.integer({ min: -2, max: 84 }),
        (drawn, halves) => {
          const line = { ...drawn, key: '', label: '' } as unknown as Line;
          const at = halves / 2;
          const { t, bytes } = drawn;
          const after = t.findIndex(each => each >= at);
          const expected =
            after < 0 || at < t[0]!
              ? null
              : t[after] === at
                ? bytes[after]!
                : bytes[after - 1]! +
                  ((bytes[after]! - bytes[after - 1]!) * (at - t[after - 1]!)) /
                    (t[after]! - t[after - 1]!);
          const value = valueAt(line, at);
          if (expected === null) {
            expect(value).toBeNull();
          } else {
            expect(value).toBeCloseTo(expected, 9);
          }
        }
      )
    );
    const single = { t: [3], bytes: [8] } as unknown as Line;
    expect([2.9, 3, 3.1].map(at => valueAt(single, at))).toEqual([
      null,
      8,
      null
    ]);
    const gap = { t: [0, 2, 4], bytes: [null, 6, null] } as unknown as Line;
    expect([valueAt(gap, 1), valueAt(gap, 3)]).toEqual([6, 6]);
  });

  it('of the cluster hold between samples, and are not known in a gap', () => {
    const held = { t: [1, 3, 6, 8], bytes: [5, 7, null, 6], holds: true };
    const at = (t: number) => valueAt(held as unknown as Line, t);
    expect([0.9, 1, 2.9, 3, 5.9].map(at)).toEqual([null, 5, 5, 7, 7]);
    expect([6, 7.9, 8, 8.1].map(at)).toEqual(['unknown', 'unknown', 6, null]);
    // Drawn so: no slope, and nothing where nothing is known.
    expect(cornersOf(held)).toEqual({
      t: [1, 3, 3, 6, 6, 8],
      bytes: [5, 5, 7, 7, null, 6]
    });
    expect(cornersOf({ t: [1, 2], bytes: [5, 5], holds: true }).t).toEqual([
      1, 2
    ]);
  });

  it('say of a bin what its samples are, and nothing between bins', () => {
    const line = memoryLines(result, 'clock', english)[0]!;
    const text = (low: number, high: number, mean: number): string =>
      `${formatBytes(low * MiB)} to ${formatBytes(high * MiB)}, mean ${formatBytes(mean * MiB)}`;
    expect(binText(line, 20, english)).toBe(text(31, 33, 35));
    expect(binText(line, 21.9, english)).toBe(text(31, 33, 35));
    expect(binText(line, 25, english)).toBe(text(32, 34, 36));
    for (const t of [19.9, 22, 26]) {
      expect(binText(line, t, english)).toBeNull();
    }
    expect(binText({ ...line, bins: null }, 20, english)).toBeNull();
  });
});

describe('the words of memory', () => {
  const titles = (measure: string, show: 'cluster' | 'workers'): string =>
    titleOf({ ...result, measure, runs: [] }, 'zero', show, english);

  it.each([
    ['process', 'Process memory of', 'process'],
    ['managed', 'Managed memory of', 'managed'],
    ['managed_total', 'Managed and spilled memory of', 'managed and spilled'],
    ['unmanaged_old', 'Old unmanaged memory of', 'unmanaged, old'],
    ['unmanaged_recent', 'Recent unmanaged memory of', 'unmanaged, recent'],
    ['optimistic', 'Optimistic memory of', 'optimistic'],
    ['unmanaged', 'Unmanaged memory of', 'unmanaged'],
    ['spilled', 'Spilled memory of', 'spilled'],
    ['other', 'other of', 'other']
  ])('name the measure %s', (measure, title, word) => {
    expect(titles(measure, 'cluster')).toBe(`${title} the cluster`);
    expect(titles(measure, 'workers')).toBe(`${title} each worker`);
    expect(measureWord(measure, english)).toBe(word);
    const ours = measure !== 'other';
    expect(measureWord(measure, bracketing as never)).toBe(
      ours ? `⟦${word}⟧` : word
    );
  });

  it('say how many runs there are, and how they are aligned', () => {
    const title = (
      runs: MemoryResult['runs'],
      align: 'zero' | 'clock',
      show: 'cluster' | 'workers' = 'cluster'
    ): string => titleOf({ ...result, runs }, align, show, english);
    expect(title([one], 'zero')).toBe(
      'Spilled memory of the cluster, 1 run from zero'
    );
    expect(title([one], 'clock')).toBe(
      'Unmanaged memory of the cluster, 1 run by clock'
    );
    expect(title([one, two], 'zero')).toBe(
      'Memory of the cluster, 2 runs from zero'
    );
    expect(title([one, two], 'clock', 'workers')).toBe(
      'Unmanaged memory of each worker, 2 runs by clock'
    );
    // Runs are of the cluster, also where each worker is asked for.
    expect(title([one], 'zero', 'workers')).toBe(
      'Spilled memory of the cluster, 1 run from zero'
    );
  });

  it('speak of processes where there is no cluster', () => {
    const title = (
      measure: string,
      show: 'cluster' | 'workers',
      runs: MemoryResult['runs'] = []
    ): string =>
      titleOf({ ...result, measure, runs }, 'zero', show, english, true);
    expect(title('process', 'cluster')).toBe('Process memory');
    expect(title('process', 'workers')).toBe('Process memory of each process');
    expect(title('spilled', 'cluster')).toBe('Spilled');
    expect(title('other', 'workers')).toBe('other of each process');
    expect(title('process', 'workers', [one])).toBe('Spilled, 1 run from zero');
    expect(title('process', 'cluster', [one, two])).toBe(
      'Memory, 2 runs from zero'
    );
    const { rows } = tableOf(
      { ...result, runs: [] },
      1000,
      2000,
      english,
      true
    );
    expect(rows[0]![0]!.text).toBe('all processes');
  });

  it('say below what else is to be known', () => {
    const own = { ...one, measure: 'unmanaged' };
    const every = `sampled every ${formatDuration(0.5)}`;
    const limit = `workers’ limits ${formatBytes(50 * MiB)}`;
    const other = 'runs keep the measure that they were recorded with';
    expect(subtitleOf(withRuns(own), true, english)).toBe(
      `${limit} · ${every}`
    );
    expect(subtitleOf(withRuns(own, one), true, english)).toBe(
      `${other} · ${limit} · ${every}`
    );
    expect(
      subtitleOf({ ...result, runs: [], limits: null }, true, english)
    ).toBe('');
    // That of the last of them.
    const last = formatDuration(0.125);
    expect(subtitleOf(withRuns(one, two, none), true, english)).toBe(
      `${other} · ${limit} · sampled every ${last}`
    );
    const limits = { ...result.limits!, memoryLimit: 0 };
    expect(subtitleOf({ ...withRuns(two, own), limits }, true, english)).toBe(
      `${other} · ${every}`
    );
  });
});

describe('the rows of memory', () => {
  it('have every figure of a run', () => {
    expect(runRows(result, 1000, 2000)).toEqual([
      {
        key: 'run 11',
        label: 'one',
        place: 0,
        isRecording: false,
        started: formatClock(1020, 2000),
        duration: 7,
        first: 8 * MiB,
        peak: 10 * MiB,
        isPeakFromBefore: false,
        mean: 11 * MiB,
        area: 12 * MiB,
        measure: 'spilled'
      },
      expect.objectContaining({
        key: 'run 12',
        duration: 3,
        isRecording: true,
        isPeakFromBefore: true
      }),
      expect.objectContaining({
        key: 'run 13',
        duration: 0,
        first: null,
        peak: 0
      })
    ]);
    // Of one that goes on: to its last sample.
    const longer = withRuns({ ...two, t: [40, 41, 45] });
    expect(runRows(longer, 1000, 2000)[0]!.duration).toBe(5);
  });

  it('have the figures of all of the range where a part of it is drawn', () => {
    const figures = { first: 5, last: 6, peak: 9, peakAt: 2, mean: 7 };
    const part = { ...result.series[0]!, ...figures };
    const rowOf = (series: typeof part) =>
      tableOf({ ...result, runs: [], series: [series] }, 0, 0, english)
        .rows[0]!.slice(3, 7)
        .map(({ value }) => value);
    expect(rowOf(part)).toEqual([5, 6, 9, 7]);
    const unknown = { first: null, last: null, peak: null, mean: null };
    expect(rowOf({ ...part, ...unknown } as never)).toEqual([
      null,
      null,
      null,
      null
    ]);
  });

  it('are a table with a cell for each column', () => {
    const { columns, rows } = tableOf(result, 1000, 2000, english);
    expect(columns.map(({ name, numeric }) => [name, numeric])).toEqual([
      ['Name', undefined],
      ['Started', undefined],
      ['Duration', true],
      ['At start', true],
      ['Last', true],
      ['Peak', true],
      ['Mean', true],
      ['Area', true],
      ['Measure', undefined]
    ]);
    // Those that a narrow panel leaves out.
    expect(runColumns(english).filter(({ wide }) => wide)).toMatchObject(
      ['Started', 'At start', 'Area', 'Measure'].map(name => ({ name }))
    );
    const values = rows.map(row => row.map(({ value }) => value));
    const at = (start: number): string => formatClock(1000 + start, 2000);
    const m = (mebibytes: number): number => mebibytes * MiB;
    const worker = memoryLines(result, 'clock', english)[2]!.label;
    expect(values).toEqual([
      ['one', at(20), 7, m(8), m(9), m(10), m(11), m(12), 'spilled'],
      [
        'two (recording)',
        at(40),
        3,
        m(15),
        m(16),
        m(15),
        m(17),
        m(18),
        'managed'
      ],
      ['none yet (recording)', at(60), 0, null, null, 0, null, 0, 'process'],
      ['cluster', null, null, m(1), m(2), m(3), null, null, 'unmanaged'],
      ['selection', null, null, null, null, null, null, null, 'unmanaged'],
      [worker, null, null, null, m(4), m(4), null, null, 'unmanaged']
    ]);
    const formats = [
      String,
      String,
      formatDuration,
      ...Array.from({ length: 4 }, () => formatBytes),
      formatByteSeconds,
      String
    ] as ((value: never) => string)[];
    for (const [row, cells] of rows.entries()) {
      const isRun = row < result.runs.length;
      for (const [column, { text, value }] of cells.entries()) {
        const isUnknown = !isRun && [1, 2, 6, 7].includes(column);
        const isBefore = row === 1 && column === 5;
        expect(text).toBe(
          isUnknown
            ? UNKNOWN
            : `${formats[column]!(value as never)}${isBefore ? ', from before' : ''}`
        );
      }
    }
  });

  it('are compared when there are two', () => {
    const rows = runRows(withRuns(one, two), 0, 100);
    const { label, cells } = differenceRow(rows)!;
    expect(label).toBe('two − one');
    const plain = cells.map(text => text.replaceAll('\u00a0', ' '));
    expect(plain).toEqual([
      '−4.00 s −57 %',
      '+7.00 MiB +88 %',
      '+5.00 MiB +50 %',
      '+6.00 MiB +55 %',
      '+6.00 MiB·s +50 %'
    ]);
    expect(differenceRow(runRows(result, 0, 100))).toBeNull();
    // A run without samples has no figures to compare, and there is no share of nothing.
    const begun = differenceRow(runRows(withRuns(none, one), 0, 100))!;
    expect(begun.cells.map(text => text.replaceAll('\u00a0', ' '))).toEqual([
      '+7.00 s',
      '–',
      '+10.0 MiB',
      '–',
      '+12.0 MiB·s'
    ]);
    expect(
      differenceRow(runRows(withRuns(one, none), 0, 100))!.cells
    ).toMatchObject({ 1: '–', 3: '–' });
  });
});

describe('limits in the time of the lines', () => {
  const [first] = result.runs;
  const steps = [
    { from: 2, memoryLimit: 100 },
    { from: 22, memoryLimit: 50 },
    { from: 25, memoryLimit: 100 }
  ];
  const limits = { ...result.limits!, memoryLimit: 100, steps };
  const stepsOf = (
    align: 'clock' | 'zero',
    times: readonly (readonly [start: number, stopped: number | null])[],
    over: Partial<MemoryResult> = { limits },
    hidden?: ReadonlySet<string>
  ) =>
    limitSteps(
      {
        ...result,
        ...over,
        runs: times.map(([start, stopped], run) => ({
          ...first!,
          run,
          start,
          stopped
        }))
      },
      align,
      hidden
    ).map(({ from, memoryLimit }) => [from, memoryLimit]);
  const all = steps.map(({ from, memoryLimit }) => [from, memoryLimit]);

  it('are those of each time by the clock, and without runs', () => {
    expect(stepsOf('clock', [[20, 27]])).toEqual(all);
    expect(stepsOf('zero', [])).toEqual(all);
  });

  it('are from zero those of the only run that is shown', () => {
    const cut = [
      [0, 100],
      [2, 50],
      [5, 100]
    ];
    expect(stepsOf('zero', [[20, 27]])).toEqual(cut);
    expect(stepsOf('zero', [[20, null]])).toEqual(cut);
    expect(stepsOf('zero', [[22, 25]])).toEqual([[0, 50]]);
    // (before the first worker came there was none)
    expect(stepsOf('zero', [[0, 3]])).toEqual([
      [0, 0],
      [2, 100]
    ]);
    const two = [
      [20, 27],
      [30, 31]
    ] as const;
    const hidden = new Set(['run 1']);
    expect(stepsOf('zero', two, { limits }, hidden)).toEqual(cut);
  });

  it('are none of several runs for which they differ', () => {
    expect(
      stepsOf('zero', [
        [3, 20],
        [30, null]
      ])
    ).toEqual([[-Infinity, 100]]);
    for (const other of [
      [20, 27],
      [23, 24]
    ] as const) {
      expect(stepsOf('zero', [[3, 20], other])).toEqual([]);
    }
    expect(stepsOf('zero', [[3, 20]], { limits }, new Set(['run 0']))).toEqual(
      []
    );
  });

  it('are always the same if no worker came or left', () => {
    const same = { limits: result.limits };
    for (const align of ['clock', 'zero'] as const) {
      expect(stepsOf(align, [[20, 27]], same)).toEqual([[-Infinity, 50 * MiB]]);
      expect(stepsOf(align, [[20, 27]], { limits: null })).toEqual([]);
    }
  });
});
