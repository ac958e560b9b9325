import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { answer, ask } from './ask';

function measured(): LogStore {
  const log = new LogStore('memory');
  const samples = [];
  for (let i = 0; i <= 10; i++) {
    samples.push(
      { t: i, worker: 0, process: 100 + i, managed: 10, spilled: i },
      { t: i + 0.5, worker: 1, process: 200, managed: 20, unmanagedOld: 5 }
    );
  }
  const blocks = [
    rowsToBlock(
      1,
      'names',
      ['x', 'process'].map((text, i) => ({ id: i + 1, text }))
    ),
    rowsToBlock(2, 'spans', [{ id: 1, parent: 0, tag: 1, closed: NaN }]),
    rowsToBlock(3, 'workers', [
      { worker: 0, name: 'w0', memoryLimit: 1000, left: NaN },
      { worker: 1, name: 'w1', memoryLimit: 1000, left: 8 }
    ]),
    rowsToBlock(4, 'memory', samples),
    rowsToBlock(5, 'stored', [
      { t: 1, worker: 0, span: 1, change: 50 },
      { t: 2, worker: 0, span: 0, change: 500 },
      { t: 3, worker: 0, span: 1, change: -20 }
    ]),
    rowsToBlock(6, 'memoryRuns', [
      { run: 0, measure: 2, interval: 0.5, start: 1, stopped: 3, label: 'A' },
      { run: 1, measure: 2, interval: 0.5, start: 4, stopped: NaN, label: 'B' }
    ]),
    rowsToBlock(7, 'memorySamples', [
      { run: 0, t: 1, bytes: 5 },
      { run: 1, t: 4, bytes: 7 },
      { run: 0, t: 2, bytes: 9 }
    ])
  ];
  blocks.forEach(block => ingestBlock(log, block));
  return log;
}

/** A series' value at a time: its last point until then. */
function at(
  series: {
    readonly t: readonly number[];
    readonly bytes: readonly (number | null)[];
  },
  time: number
): number | null {
  const index = series.t.findLastIndex(t => t <= time + 1e-9);
  return index < 0 ? null : series.bytes[index]!;
}

describe('memory', () => {
  it('tells runs of one label apart, and leaves other labels as they are', () => {
    const labelsOf = (labels: readonly string[]): string[] => {
      const log = new LogStore('labels');
      const runs = labels.map((label, run) => ({
        run,
        measure: 1,
        interval: 0.5,
        start: run,
        stopped: run + 1,
        label
      }));
      ingestBlock(log, rowsToBlock(1, 'names', [{ id: 1, text: 'process' }]));
      ingestBlock(log, rowsToBlock(2, 'memoryRuns', runs));
      return ask(log, 'memory').runs.map(({ label }) => label);
    };
    expect(labelsOf(['fit', 'load', 'fit', 'fit'])).toEqual([
      'fit',
      'load',
      'fit (2)',
      'fit (3)'
    ]);
    expect(labelsOf(['a', 'a', 'a (2)', 'a', 'a (2)'])).toEqual([
      'a',
      'a (3)',
      'a (2)',
      'a (4)',
      'a (2) (2)'
    ]);
  });

  it('draws nothing where the source measures nothing', () => {
    const log = new LogStore('local');
    const samples = [0, 1, 2].map(t => ({
      t,
      worker: 0,
      process: 100,
      managed: NaN
    }));
    ingestBlock(log, rowsToBlock(1, 'workers', [{ worker: 0, left: NaN }]));
    ingestBlock(log, rowsToBlock(2, 'memory', samples));
    const drawn = (measure: string): unknown =>
      ask(log, 'memory', {
        params: { measure, show: 'workers' }
      }).series.map(({ bytes }) => bytes);
    expect(drawn('process')).toEqual([
      [100, 100, 100],
      [100, 100, 100]
    ]);
    expect(drawn('managed')).toEqual([
      [null, null, null],
      [null, null, null]
    ]);
    expect(drawn('unmanaged')).toEqual(drawn('managed'));
  });

  it('adds workers up, each from its first sample until it leaves', () => {
    const { series } = ask(measured(), 'memory');
    expect(series).toHaveLength(1);
    expect(at(series[0]!, 0)).toBe(100);
    expect(at(series[0]!, 7)).toBeGreaterThanOrEqual(305);
    expect(at(series[0]!, 10.5)).toBe(110);
  });

  it('adds up at every sample, so that no peak between two drawn points is lost', () => {
    const log = new LogStore('spiky');
    ingestBlock(
      log,
      rowsToBlock(1, 'workers', [
        { worker: 0, left: NaN },
        { worker: 1, left: NaN }
      ])
    );
    const samples = Array.from({ length: 20_000 }, (_, i) => ({
      t: i / 100 + (i % 2) * 0.001,
      worker: i % 2,
      process: i === 12_345 ? 900 : 100
    }));
    ingestBlock(log, rowsToBlock(2, 'memory', samples));
    const [line] = ask(log, 'memory').series;
    expect(line!.t.length).toBeLessThanOrEqual(1200);
    expect(Math.max(...line!.bytes.map(Number))).toBe(1000);
    expect(line!.bins!.high.filter(high => high === 1000)).toHaveLength(1);
    expect(line!.bins!.low.slice(1)).toEqual(
      line!.bins!.low.slice(1).map(() => 200)
    );
    const mean = line!.bins!.mean[Math.floor((12_345 / 20_000) * 600)]!;
    expect(mean).toBeGreaterThan(200);
    expect(mean).toBeLessThan(300);
  });

  it('shows each worker, and unmanaged as what is left of the process', () => {
    const { series } = ask(measured(), 'memory', {
      params: { show: 'workers', measure: 'unmanaged' }
    });
    expect(series.map(({ name }) => name)).toEqual(['cluster', 'w0', 'w1']);
    expect(at(series[1]!, 3)).toBe(93);
  });

  it.each([
    ['managed_total', 13, 20],
    ['unmanaged_old', 0, 5],
    ['unmanaged_recent', 93, 175],
    ['optimistic', 10, 25]
  ])('shows the measure %s', (measure, ofOne, ofOther) => {
    const { series, measure: named } = ask(measured(), 'memory', {
      params: { show: 'workers', measure }
    });
    expect(named).toBe(measure);
    expect(at(series[1]!, 3)).toBe(ofOne);
    expect(at(series[2]!, 3)).toBe(ofOther);
    expect(at(series[0]!, 3.6)).toBe(ofOne + ofOther);
  });

  it('has limits, the newest figures, and the labelled runs', () => {
    const result = ask(measured(), 'memory');
    expect(result.limits).toEqual({
      memoryLimit: 1000,
      target: 600,
      spill: 700,
      pause: 800,
      steps: [
        { from: 0, memoryLimit: 2000 },
        { from: 8, memoryLimit: 1000 }
      ]
    });
    expect(result.now).toEqual({
      process: 110,
      managed: 10,
      spilled: 10,
      unmanagedOld: 0
    });
    expect(result.runs).toMatchObject([
      {
        label: 'A',
        measure: 'process',
        t: [1, 2],
        bytes: [5, 9],
        peak: 9,
        peakAt: 2,
        mean: 7,
        area: 7
      },
      { label: 'B', stopped: null, t: [4], bytes: [7], peak: 7 }
    ]);
  });

  it('leaves samples that are not known out of the figures of a run', () => {
    const log = new LogStore('memory');
    const bytes = [NaN, 4, 8, NaN, 2, 2];
    [
      rowsToBlock(1, 'names', [{ id: 1, text: 'managed' }]),
      rowsToBlock(2, 'memoryRuns', [{ run: 0, measure: 1, stopped: 5 }]),
      rowsToBlock(
        3,
        'memorySamples',
        bytes.map((held, t) => ({ run: 0, t, bytes: held }))
      )
    ].forEach(block => ingestBlock(log, block));
    // Two stretches of one second: of 4 to 8, and of 2.
    expect(ask(log, 'memory').runs).toMatchObject([
      { samples: 6, first: 4, last: 2, peak: 8, peakAt: 2, area: 8, mean: 4 }
    ]);
  });

  it('says that process memory cannot be filtered, and filters what is managed', () => {
    const filter = { spans: { any: [{ path: ['x'] }] } };
    expect(answer(measured(), 'memory', { filter }).honoured.how).toBe(
      'not filtered'
    );
    const managed = answer(measured(), 'memory', {
      filter,
      params: { measure: 'managed' }
    });
    // The recorded runs beside it are not divided.
    expect(managed.honoured.how).toBe('approximate');
    expect(managed.honoured.why).toContain('Recorded runs');
    expect(managed.result).toMatchObject({
      series: [{}, { name: 'selection', t: [1, 3], bytes: [50, 30] }]
    });
  });

  it('forgets what a worker kept when it leaves', () => {
    const log = measured();
    ingestBlock(
      log,
      rowsToBlock(8, 'stored', [
        { t: 5, worker: 1, span: 1, change: 70 },
        // Added up in the turn in which it died.
        { t: 8.01, worker: 1, span: 1, change: 5 },
        { t: 9, worker: 0, span: 1, change: 70 }
      ])
    );
    const { series } = ask(log, 'memory', {
      filter: { spans: { any: [{ path: ['x'] }] } },
      params: { measure: 'managed' }
    });
    expect(series[1]).toMatchObject({
      t: [1, 3, 5, 8, 9],
      bytes: [50, 30, 100, 30, 100]
    });
  });

  it('does not know the sum while one of its workers is unknown, nor when none is left', () => {
    const log = new LogStore('log');
    const workers = [0, 1].map(worker => ({ worker, left: 6 + worker }));
    const samples = [
      [0, 0, NaN],
      [1, 1, NaN],
      [2, 0, 5],
      [3, 1, 7],
      [4, 0, NaN],
      [5, 0, 9]
    ].map(([t, worker, managed]) => ({
      t: t!,
      worker: worker!,
      process: 100,
      managed: managed!
    }));
    ingestBlock(log, rowsToBlock(1, 'workers', workers));
    ingestBlock(log, rowsToBlock(2, 'memory', samples));
    const [line] = ask(log, 'memory', {
      params: { measure: 'managed' }
    }).series;
    expect(line!.t).toEqual([0, 1, 2, 3, 4, 5]);
    expect(line!.bytes).toEqual([null, null, null, 12, null, 16]);
    ingestBlock(log, rowsToBlock(3, 'runs', [{ duration: 20 }]));
    const whole = ask(log, 'memory', { params: { measure: 'managed' } });
    expect(whole.series[0]!.t.slice(6)).toEqual([6, 7]);
    expect(whole.series[0]!.bytes.slice(6)).toEqual([7, null]);
    expect([whole.limits, whole.now]).toEqual([
      null,
      { process: 0, managed: 0, spilled: 0, unmanagedOld: 0 }
    ]);
    expect(ask(new LogStore('empty'), 'memory').now).toBeNull();
  });

  it('keeps the limits of those that stayed longest when all have left', () => {
    const log = measured();
    const limit = (workers?: number[]) =>
      ask(log, 'memory', {
        ...(workers && { filter: { workers } })
      }).limits?.memoryLimit;
    expect(limit()).toBe(1000);
    const rows = [
      { worker: 0, name: 'w0', memoryLimit: 1100, left: 12 },
      { worker: 2, name: 'w2', memoryLimit: 30, left: 11 }
    ];
    ingestBlock(log, rowsToBlock(8, 'workers', rows));
    expect(limit()).toBe(1130);
    // Asked for by itself, one that was gone before has its own.
    expect(limit([1])).toBe(1000);
    // One that came in the place of another counts in its place.
    const replaced = [
      { worker: 0, name: 'w0', memoryLimit: 1100, left: 12, joined: 0 },
      { worker: 2, name: 'w2', memoryLimit: 30, left: 12.9, joined: 0 },
      { worker: 3, name: 'w0', memoryLimit: 1100, left: 12.8, joined: 12.2 }
    ];
    ingestBlock(log, rowsToBlock(9, 'workers', replaced));
    expect(limit()).toBe(1130);
  });

  it('has the limits of each time, as workers came and left', () => {
    const steps = (
      rows: readonly (readonly [joined: number, left: number])[],
      memoryLimit = 400
    ) => {
      const log = new LogStore('limits');
      const workers = rows.map(([joined, left], worker) => ({
        worker,
        name: `w${worker}`,
        memoryLimit,
        joined,
        left
      }));
      ingestBlock(log, rowsToBlock(1, 'workers', workers));
      return ask(log, 'memory').limits?.steps?.map(each => [
        each.from,
        each.memoryLimit
      ]);
    };
    // One died, and was replaced four seconds later.
    const replaced = [
      [1, NaN],
      [1, 20],
      [24, NaN]
    ] as const;
    expect(steps(replaced)).toEqual([
      [1, 800],
      [20, 400],
      [24, 800]
    ]);
    // At the end of the cluster they stay what they were.
    const ended = replaced.map(
      ([joined, left]) => [joined, left || 60 + joined / 100] as const
    );
    expect(steps(ended)).toEqual(steps(replaced));
    // One that comes as another leaves changes nothing, nor do workers without a limit.
    expect(
      steps([
        [1, 5],
        [5, NaN]
      ])
    ).toBeUndefined();
    expect(steps(replaced, 0)).toBeUndefined();
    const many = Array.from(
      { length: 5000 },
      (_, i) => [i, i + 0.5 + (i % 2)] as const
    );
    const thinned = steps([...many, [0, NaN]])!;
    expect(thinned.length).toBeLessThanOrEqual(401);
    expect(thinned.at(-1)).toEqual([expect.any(Number), 400]);
    const times = thinned.map(([from]) => from!);
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  });

  it('takes what comes at the moment in which a worker leaves for nobody’s', () => {
    const log = measured();
    const row = { worker: 1, span: 1, change: 70 };
    const rows = [7.5, 8].map(t => ({ ...row, t }));
    ingestBlock(log, rowsToBlock(8, 'stored', rows));
    const { series } = ask(log, 'memory', {
      filter: { spans: { any: [{ path: ['x'] }] } },
      params: { measure: 'managed' }
    });
    expect(series[1]).toMatchObject({
      t: [1, 3, 7.5, 8],
      bytes: [50, 30, 100, 30]
    });
  });

  it('has the first peak of a run, and the mean of a single sample', () => {
    const log = measured();
    const more = [
      { run: 0, t: 3, bytes: 9 },
      { run: 0, t: 4, bytes: 1 }
    ];
    ingestBlock(log, rowsToBlock(8, 'memorySamples', more));
    expect(ask(log, 'memory').runs).toMatchObject([
      { peak: 9, peakAt: 2, first: 5, last: 1, samples: 4 },
      { mean: 7, area: 0, peakAt: 4 }
    ]);
  });

  it('is exact under time and workers for its lines, and says that recorded runs are whole', () => {
    const conditions = [
      { time: { from: 1.5, to: 3.2 } },
      { filter: { workers: [1] } },
      { filter: { workers: [1] }, time: { from: 1.5, to: 3.2 } }
    ];
    const whole = ask(measured(), 'memory').runs;
    for (const asked of conditions) {
      for (const measure of ['process', 'managed']) {
        const params = { measure };
        const { result, honoured } = answer(measured(), 'memory', {
          ...asked,
          params
        });
        // What is said of the runs: nothing of them is left out.
        expect(result).toMatchObject({ runs: whole });
        expect(honoured).toEqual({
          how: 'approximate',
          why: 'Recorded runs are shown whole, of all workers.'
        });
        const without = measured();
        without.memoryRuns.clear();
        expect(
          answer(without, 'memory', { ...asked, params }).honoured
        ).toEqual({ how: 'exact' });
      }
    }
  });

  it('is exact for all, beside recorded runs too, and says over what results are drawn', () => {
    expect(answer(measured(), 'memory', {}).honoured).toEqual({ how: 'exact' });
    const log = new LogStore('log');
    const filter = { functions: ['f'] };
    const params = { measure: 'managed' };
    const { honoured } = answer(log, 'memory', { filter, params });
    expect(honoured.how).toBe('exact');
    expect(honoured.why).toContain('whole cluster');
  });
});

describe('memory of workers that have left', () => {
  const log = new LogStore('left');
  const kept = { span: 1, function: 0 };
  [
    rowsToBlock(1, 'names', [{ id: 1, text: 'x' }]),
    rowsToBlock(2, 'spans', [{ id: 1, parent: 0, tag: 1, closed: NaN }]),
    rowsToBlock(3, 'workers', [
      { worker: 0, memoryLimit: 1000, left: NaN },
      { worker: 1, memoryLimit: 100, left: 5 },
      { worker: 2, memoryLimit: 10, left: 3 },
      { worker: 3, memoryLimit: 500, left: 8 },
      { worker: 4, memoryLimit: 50, left: NaN }
    ]),
    rowsToBlock(4, 'memory', [
      { t: 1, worker: 0, process: 100, unmanagedOld: 6 },
      { t: 1, worker: 1, process: 10 },
      { t: 1, worker: 2, process: 1 },
      // As it leaves, and afterwards.
      { t: 3, worker: 2, process: 5 },
      { t: 4, worker: 1, process: 20 },
      { t: 8, worker: 1, process: 40 },
      { t: 9, worker: 0, process: 200, unmanagedOld: 7 }
    ]),
    rowsToBlock(5, 'stored', [
      { ...kept, t: 1, worker: 1, change: 50 },
      { ...kept, t: 1, worker: 2, change: 7 },
      { ...kept, t: 6, worker: 0, change: 1000 },
      { ...kept, t: 7, worker: 3, change: 3 }
    ])
  ].forEach(block => ingestBlock(log, block));
  const span = { spans: { any: [{ path: ['x'] }] } };

  it('counts until they leave, whatever they say later', () => {
    const [line] = ask(log, 'memory').series;
    expect([2, 3, 4, 5, 8.5, 9].map(time => at(line!, time))).toEqual([
      111, 110, 120, 100, 100, 200
    ]);
  });

  it('counts for a selection until they leave, in whatever order they do', () => {
    const selection = (filter: Parameters<typeof ask>[2] & object) =>
      ask(log, 'memory', {
        params: { measure: 'managed' },
        ...filter
      }).series.at(-1)!;
    const all = selection({ filter: span });
    expect([2, 3, 5, 6, 7, 8].map(time => at(all, time))).toEqual([
      57, 50, 0, 1000, 1003, 1000
    ]);
    const one = selection({ filter: { ...span, workers: [1] } });
    expect([2, 3, 5, 8].map(time => at(one, time))).toEqual([50, 50, 0, 0]);
  });

  it('is drawn of the workers that are chosen, and no selection of what has no owner', () => {
    const { series } = ask(log, 'memory', {
      filter: { ...span, workers: [0, 2] }
    });
    expect(series).toHaveLength(1);
    expect([2, 3, 9].map(time => at(series[0]!, time))).toEqual([
      101, 100, 200
    ]);
    const params = { measure: 'managed' };
    const { honoured } = answer(log, 'memory', { params });
    expect(honoured).toEqual({ how: 'exact' });
  });

  it('has no share in limits and newest figures, nor has that of other workers', () => {
    const { limits, now } = ask(log, 'memory');
    expect(limits!.memoryLimit).toBe(1050);
    expect(now).toMatchObject({ process: 200, unmanagedOld: 7 });
    const own = ask(log, 'memory', { filter: { workers: [4] } });
    expect(own.limits!.memoryLimit).toBe(50);
    expect(own.now).toMatchObject({ process: 0 });
  });
});

describe('workers that were lost', () => {
  const because = 'was ended by SIGKILL';
  const log = measured();
  const row = { memoryLimit: 1000, why: because };
  const lose = (seq: number, ...workers: number[]): void => {
    const events = workers.map(worker => ({ t: 9, kind: 7, worker, run: 0 }));
    ingestBlock(log, rowsToBlock(seq, 'events', events));
  };
  [
    rowsToBlock(8, 'names', [{ id: 7, text: 'worker-lost' }]),
    rowsToBlock(9, 'workers', [
      { ...row, worker: 1, name: 'w1', left: 8 },
      { ...row, worker: 2, name: 'w2', left: 6, why: '' },
      { ...row, worker: 3, name: 'w3', left: 7, why: 'closed' }
    ])
  ].forEach(block => ingestBlock(log, block));
  lose(10, 1, 2, 0, 99);
  const lost = (over: Parameters<typeof ask>[2] = {}) =>
    ask(log, 'memory', over).lost?.map(({ worker }) => worker);

  it('are told with what they had last, in the order of time, and none that left in order', () => {
    expect(ask(measured(), 'memory')).not.toHaveProperty('lost');
    const result = ask(log, 'memory');
    // Worker 0 is still there, as far as its row says; worker 99 has none.
    expect(result.lost).toEqual([
      {
        worker: 2,
        name: 'w2',
        t: 6,
        why: '',
        process: null,
        memoryLimit: 1000
      },
      {
        worker: 1,
        name: 'w1',
        t: 8,
        why: because,
        process: 200,
        memoryLimit: 1000
      }
    ]);
    expect(result).not.toHaveProperty('lostLeftOut');
  });

  it('are those of the filter and of the range', () => {
    expect(lost({ filter: { workers: [1, 3] } })).toEqual([1]);
    expect(lost({ filter: { workers: [3] } })).toBeUndefined();
    const within = (from: number, to: number) => lost({ time: { from, to } });
    expect(within(6.5, 9)).toEqual([1]);
    expect(within(1, 7)).toEqual([2]);
  });

  it('are the newest hundred, with how many there were before', () => {
    const many = Array.from({ length: 104 }, (_, i) => ({
      ...row,
      worker: 1000 + i,
      name: '',
      left: 20 + i
    }));
    ingestBlock(log, rowsToBlock(11, 'workers', many));
    lose(12, ...many.map(({ worker }) => worker));
    const result = ask(log, 'memory');
    expect(result.lost).toHaveLength(100);
    expect(result.lost!.at(-1)!.t).toBe(123);
    expect(result.lostLeftOut).toBe(6);
  });
});

describe('lines of memory in time', () => {
  /** Two workers tell each second for 20 s, then after two minutes again. */
  const standing = (): LogStore => {
    const log = new LogStore('standing');
    const seconds = Array.from({ length: 20 }, (_, i) => i);
    const times = [...seconds, ...seconds.map(i => 140 + i)];
    [
      rowsToBlock(1, 'workers', [
        { worker: 0, name: 'w0', left: NaN },
        { worker: 1, name: 'w1', left: NaN }
      ]),
      rowsToBlock(
        2,
        'memory',
        times.flatMap(t =>
          [0, 1].map(worker => ({ t, worker, process: t === 145 ? 90 : 10 }))
        )
      )
    ].forEach(block => ingestBlock(log, block));
    return log;
  };

  it('have a gap where no sample comes for long', () => {
    const { series } = ask(standing(), 'memory', {
      params: { show: 'workers' }
    });
    for (const { t, bytes } of series) {
      const gap = bytes.indexOf(null);
      // The newest sample holds for a while.
      expect([t[gap - 1], t[gap], t[gap + 1]]).toEqual([19, 34, 140]);
      expect(bytes.lastIndexOf(null)).toBe(gap);
    }
  });

  it('are drawn within what is looked at, to its borders, with figures of all of the range', () => {
    const of = (over: Parameters<typeof ask>[2]) => {
      const [line] = ask(standing(), 'memory', over).series;
      const { t, bytes, first, last, peak, peakAt, mean } = line!;
      return { t, bytes, figures: [peak, peakAt, mean], ends: [first, last] };
    };
    const { figures: whole, ends } = of({});
    // At the very first one worker has told, and the other not.
    expect(ends).toEqual([10, 20]);
    expect(whole.slice(0, 2)).toEqual([180, 145]);
    expect(whole[2]).toBeCloseTo((20 * (34 + 18) + 180) / (34 + 19), 9);
    expect(of({ params: { from: 15.5, to: 17.5 } })).toEqual({
      t: [15.5, 16, 16, 17, 17, 17.5],
      bytes: [20, 20, 20, 20, 20, 20],
      figures: whole,
      ends
    });
    expect(of({ params: { from: 50, to: 60 } })).toEqual({
      t: [50],
      bytes: [null],
      figures: whole,
      ends
    });
    // A range that is chosen is of the figures, too.
    const time = { from: 2, to: 18 };
    expect(of({ time }).figures).toEqual([20, 2, 20]);
    expect(of({ time, params: { from: 17.5, to: 30 } })).toEqual({
      t: [17.5, 18, 18],
      bytes: [20, 20, 20],
      figures: [20, 2, 20],
      ends: [20, 20]
    });
    expect(of({ time, params: { from: 20, to: 30 } }).t).toEqual([]);
  });
});

describe('memory of a worker that no row describes', () => {
  it('is drawn from its first sample, which may be before the first run', () => {
    const log = new LogStore('bare');
    const samples = [2, 3, 7].map(t => ({ t, worker: 9, process: t }));
    ingestBlock(log, rowsToBlock(1, 'memory', samples));
    ingestBlock(log, rowsToBlock(2, 'runs', [{ start: 5, duration: 1 }]));
    const { series, now } = ask(log, 'memory');
    expect(series[0]!.t).toEqual([2, 3, 7]);
    expect(now).toMatchObject({ process: 7 });
  });
});

describe('lines of memory', () => {
  const many = (count: number, each: number): LogStore => {
    const log = new LogStore('many');
    const of = Array.from({ length: count }, (_, i) => i);
    const rows = Array.from({ length: count * each }, (_, i) => ({
      t: 1 + Math.floor(i / count),
      worker: i % count,
      run: i % count,
      process: i,
      bytes: i
    }));
    [
      rowsToBlock(
        1,
        'workers',
        of.map(worker => ({ worker, left: NaN }))
      ),
      rowsToBlock(
        2,
        'memoryRuns',
        // One of them has no sample.
        [...of, count].toReversed().map(run => ({ run, start: 1.5 }))
      ),
      rowsToBlock(3, 'memory', rows),
      rowsToBlock(4, 'memorySamples', rows)
    ].forEach(block => ingestBlock(log, block));
    return log;
  };

  it('have fewer points if there are many of them', () => {
    const params = { show: 'workers' };
    const few = ask(many(1, 3000), 'memory', { params });
    const lot = ask(many(300, 70), 'memory', { params });
    expect(few.series[1]!.t.length).toBeGreaterThan(1000);
    expect(few.series[1]!.t.length).toBeLessThanOrEqual(1200);
    expect(few.runs[0]!.t.length).toBeGreaterThan(1000);
    expect(few.runs[0]!.t.length).toBeLessThanOrEqual(1200);
    for (const { t } of lot.series.slice(1)) {
      expect(t.length).toBeGreaterThan(16);
      expect(t.length).toBeLessThanOrEqual(66);
    }
    for (const { t } of lot.runs.slice(0, -1)) {
      expect(t.length).toBeGreaterThan(16);
      expect(t.length).toBeLessThanOrEqual(33);
    }
  });

  it('are of the recorded runs by their number, also of one without a sample', () => {
    const { runs } = ask(many(3, 2), 'memory');
    expect(runs.map(({ run }) => run)).toEqual([0, 1, 2, 3]);
    expect(runs[3]).toMatchObject({ samples: 0, first: null, t: [] });
    // The peak of nothing but zeros is the first of them.
    expect(runs[0]).toMatchObject({ peak: 3, peakAt: 2 });
    expect(runs[0]!.t).toEqual([1, 2]);
    const zeros = new LogStore('zeros');
    const samples = [4, 5].map(t => ({ t, run: 0, bytes: 0 }));
    ingestBlock(zeros, rowsToBlock(1, 'memoryRuns', [{ run: 0 }]));
    ingestBlock(zeros, rowsToBlock(2, 'memorySamples', samples));
    expect(ask(zeros, 'memory').runs[0]).toMatchObject({ peak: 0, peakAt: 4 });
  });
});
