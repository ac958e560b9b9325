/** What tasks measured themselves, in the figures of Fine Performance Metrics: worked out a second time from drawn rows. */
import fc from 'fast-check';
import { OTHER_TASKS, PartKind, RunStatus } from '../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';
import { idOf as idOfSpan } from '../../testing/ids';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import { BODY_LIMIT } from '../../wire/frame';
import type { Filter, TimeRange } from '../../wire/panel-link';
import { ThreadAccount } from '../folds/thread-account';
import { LockWaits } from '../folds/lock-waits';
import { ACTIVITIES } from '../store/activity-cells';
import { FineSums } from '../store/fine-sums';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { MeterSums } from '../store/meter-sums';
import { answer, ask } from './ask';
import { overTheLink } from './over-the-link';

/** Whole nanoseconds: 15,625,000. */
const TICK = 1 / 64;
const NAMES = ['load', 'fit', 'decode', 'save', 'rows', 'seconds', 'count'];
const [LABELS, SECONDS, COUNT] = [[2, 3], 5, 6];
const idOf = (text: string): number => NAMES.indexOf(text);

type Meter = {
  readonly label: number;
  readonly unit: number;
  readonly value: number;
  readonly cpu: number;
};
type Run = {
  readonly function: number;
  readonly span: number;
  readonly lane: number;
  readonly status: number;
  readonly gap: number;
  /** Ticks before it computes; 0: it has no parts. */
  readonly importing: number;
  /** Ticks on a core and off it, each with what meters took of it. */
  readonly onCore: number;
  readonly offCore: number;
  readonly meters: readonly Meter[];
};

const anyRun: fc.Arbitrary<Run> = fc
  .record({
    function: fc.nat(1),
    span: fc.nat(1),
    lane: fc.nat(1),
    status: fc.constantFrom(RunStatus.Ok, RunStatus.Ok, RunStatus.Failed),
    gap: fc.nat(3),
    importing: fc.constantFrom(0, 0, 3, 40),
    onCore: fc.nat(20),
    offCore: fc.nat(20),
    shares: fc.array(
      fc.tuple(fc.constantFrom(...LABELS), fc.nat(100), fc.nat(100)),
      { maxLength: 2 }
    ),
    counts: fc.array(fc.nat(9), { maxLength: 2 })
  })
  .map(({ shares, counts, ...run }) => {
    let [on, off] = [run.onCore, run.offCore];
    const seconds = run.status === RunStatus.Failed ? [] : shares;
    return {
      ...run,
      meters: [
        ...seconds.map(([label, a, b]) => {
          const cpu = Math.floor((on * a) / 100);
          const rest = Math.floor((off * b) / 100);
          on -= cpu;
          off -= rest;
          return {
            label,
            unit: SECONDS,
            value: (cpu + rest) * TICK,
            cpu: cpu * TICK
          };
        }),
        ...counts.map(value => ({
          label: idOf('rows'),
          unit: COUNT,
          value,
          cpu: NaN
        }))
      ]
    };
  });

function startsOf(runs: readonly Run[]): number[] {
  const ends = [0, 0];
  return runs.map(({ lane, gap, importing, onCore, offCore }) => {
    const start = ends[lane]! + gap;
    ends[lane] = start + importing + onCore + offCore;
    return start * TICK;
  });
}

function logOf(runs: readonly Run[]): LogStore {
  const log = new LogStore('metered');
  const starts = startsOf(runs);
  const blocks: [Parameters<typeof rowsToBlock>[1], Row[]][] = [
    ['names', NAMES.map((text, id) => ({ id, text }))],
    ['workers', [0, 1].map(worker => ({ worker, threads: 1, left: NaN }))],
    ['lanes', [0, 1].map(lane => ({ lane, worker: lane, thread: 0 }))],
    ['spans', [0, 1].map(id => ({ id, parent: 0, tag: id, closed: NaN }))],
    [
      'meters',
      runs.flatMap(({ function: fn, span, meters }, run) =>
        meters.map(meter => ({ ...meter, run, function: fn, span }))
      )
    ],
    [
      'parts',
      runs.flatMap(({ importing, onCore, offCore, ...of }, run) => {
        const part = {
          ...{ run, function: of.function, span: of.span, held: 1 },
          ...{ bytes: 0, coreWait: NaN, from: 0 }
        };
        const [before, computing] = [importing, onCore + offCore];
        return importing === 0
          ? []
          : [
              {
                ...part,
                ...{ kind: PartKind.Import, offset: 0, cpu: NaN },
                duration: before * TICK
              },
              {
                ...part,
                ...{ kind: PartKind.Compute, offset: before * TICK },
                duration: computing * TICK,
                cpu: onCore * TICK
              }
            ];
      })
    ],
    [
      'runs',
      runs.map((run, i) => ({
        run: i,
        node: i,
        function: run.function,
        span: run.span,
        lane: run.lane,
        status: run.status,
        attempt: 1,
        start: starts[i]!,
        duration: (run.importing + run.onCore + run.offCore) * TICK,
        cpu: run.onCore * TICK
      }))
    ]
  ];
  blocks.forEach(([table, rows], i) => {
    if (rows.length > 0) {
      ingestBlock(log, rowsToBlock(i + 1, table, rows));
    }
  });
  return log;
}

/** "where label unit" → value, added up over functions. */
function entriesOf(
  log: LogStore,
  filter: Filter = {},
  time: TimeRange = 'all'
): { sums: Map<string, number>; executed: number; attributed: number } {
  const result = ask(log, 'fine-metrics', {
    filter,
    time,
    params: { entries: true }
  });
  const sums = new Map<string, number>();
  let executed = 0;
  for (const [where, fn, activity, unit, value] of result.entries!) {
    const key = `${where} ${activity} ${unit}`;
    sums.set(key, (sums.get(key) ?? 0) + value);
    if (where === 'execute' && unit === 'seconds' && fn !== 'N/A') {
      executed += value;
    }
  }
  return { sums, executed, attributed: result.attributedNanoseconds / 1e9 };
}

const FILTERS: readonly (readonly [Filter, (run: Run) => boolean])[] = [
  [{}, () => true],
  [{ workers: [1] }, run => run.lane === 1],
  [{ status: ['ok'] }, run => run.status === RunStatus.Ok],
  [{ status: ['failed'] }, run => run.status === RunStatus.Failed],
  [{ functions: ['fit'] }, run => run.function === 1],
  [
    { functions: ['load'], status: ['ok'], workers: [0] },
    run => run.function === 0 && run.status === RunStatus.Ok && run.lane === 0
  ]
];

describe('meters of tasks', () => {
  it('are taken off the computing of their runs, to the nanosecond, in each selection', () => {
    fc.assert(
      fc.property(fc.array(anyRun, { maxLength: 12 }), runs => {
        const log = logOf(runs);
        for (const [filter, passes] of FILTERS) {
          const own = runs.filter(passes);
          const { sums, executed, attributed } = entriesOf(log, filter);
          const told = (label: number, unit: number): number =>
            own
              .flatMap(({ meters }) => meters)
              .filter(each => each.label === label && each.unit === unit)
              .reduce((sum, { value }) => sum + value, 0);
          for (const label of LABELS) {
            expect(sums.get(`execute ${NAMES[label]} seconds`) ?? 0).toBe(
              told(label, SECONDS)
            );
          }
          expect(sums.get('execute rows count') ?? 0).toBe(
            told(idOf('rows'), COUNT)
          );
          const done = own.filter(({ status }) => status === RunStatus.Ok);
          const onCore = done.reduce((sum, run) => sum + run.onCore * TICK, 0);
          const metered = done
            .flatMap(({ meters }) => meters)
            .reduce((sum, { cpu }) => sum + (Number.isNaN(cpu) ? 0 : cpu), 0);
          expect(sums.get('execute thread-cpu seconds') ?? 0).toBeCloseTo(
            onCore - metered,
            9
          );
          const all = own.reduce(
            (sum, run) =>
              sum + (run.importing + run.onCore + run.offCore) * TICK,
            0
          );
          expect(attributed).toBeCloseTo(all, 9);
          expect(executed).toBeCloseTo(all, 9);
        }
      }),
      { numRuns: 60 }
    );
  });

  it('are cut with their runs by a range of time, and add up over ranges', () => {
    fc.assert(
      fc.property(
        fc.array(anyRun, { minLength: 1, maxLength: 10 }),
        fc.nat(120),
        (runs, cut) => {
          const log = logOf(runs);
          const at = cut * TICK;
          const parts = [
            entriesOf(log, {}, { from: -1, to: at }),
            entriesOf(log, {}, { from: at, to: 1e6 })
          ];
          const whole = entriesOf(log);
          for (const { executed, attributed } of parts) {
            expect(executed).toBeCloseTo(attributed, 9);
          }
          for (const label of [
            'decode seconds',
            'save seconds',
            'rows count'
          ]) {
            const key = `execute ${label}`;
            const sum = parts.reduce(
              (total, { sums }) => total + (sums.get(key) ?? 0),
              0
            );
            // Each run that is cut may be rounded by a nanosecond.
            const most = runs.length * 2e-9;
            expect(
              Math.abs(sum - (whole.sums.get(key) ?? 0))
            ).toBeLessThanOrEqual(most);
          }
        }
      ),
      { numRuns: 60 }
    );
  });

  it('stand in the rows of their functions, and in their units', () => {
    const log = logOf([
      {
        ...{ function: 0, span: 1, lane: 0, status: 0, gap: 0, importing: 0 },
        ...{ onCore: 32, offCore: 32 },
        meters: [
          { label: 2, unit: SECONDS, value: 0.5, cpu: 0.25 },
          { label: 4, unit: 4, value: 7, cpu: NaN },
          { label: 3, unit: SECONDS, value: 9, cpu: NaN }
        ]
      }
    ]);
    const { byFunction, byActivity, units } = ask(log, 'fine-metrics');
    expect(byFunction).toMatchObject([
      {
        function: 'load',
        total: 1,
        activities: { 'thread-cpu': 0.25, 'thread-noncpu': 0.25, decode: 0.5 }
      }
    ]);
    expect(byActivity).toContainEqual({
      activity: 'decode',
      value: 0.5,
      share: 0.25
    });
    expect(units).toEqual(['seconds', 'bytes', 'count', 'rows']);
    const rows = ask(log, 'fine-metrics', { params: { unit: 'rows' } });
    expect(rows.byFunction).toMatchObject([
      { total: 7, activities: { rows: 7 } }
    ]);
    expect(rows.byActivity).toEqual([{ activity: 'rows', value: 7, share: 1 }]);
    // Seconds that the run did not have are beside it.
    expect(entriesOf(log).sums.get('user save seconds')).toBe(9);
  });

  it('say that their oldest rows are gone, and keep their sums', () => {
    const log = new LogStore('long', { meters: 65_536 });
    const names = NAMES.map((text, id) => ({ id, text }));
    ingestBlock(log, rowsToBlock(1, 'names', names));
    const meter = { label: 4, unit: COUNT, value: 1, cpu: NaN };
    for (let i = 0; i < 3; i++) {
      const rows = Array.from({ length: 65_536 }, (_, row) => ({
        ...meter,
        run: i * 65_536 + row
      }));
      ingestBlock(log, rowsToBlock(2 + i, 'meters', rows));
    }
    expect(entriesOf(log).sums.get('execute rows count')).toBe(3 * 65_536);
    expect([...log.metersOf(0)]).toEqual([]);
    expect([...log.metersOf(3 * 65_536 - 1)]).toHaveLength(1);
    expect(
      answer(log, 'fine-metrics', { filter: { workers: [0] } }).honoured.why
    ).toContain('The oldest figures that tasks measured themselves');
  });
});

describe('the answer, if a task makes up labels', () => {
  const most = 6000;
  const labelOf = (i: number): string =>
    i === 0 ? '__proto__' : `the chunk at ${i} of a file`;
  const drawn = (): LogStore => {
    const log = new LogStore('labelled');
    const labels = Array.from({ length: most }, (_, i) => ({
      id: NAMES.length + i,
      text: labelOf(i)
    }));
    const names = NAMES.map((text, id) => ({ id, text }));
    ingestBlock(log, rowsToBlock(1, 'names', [...names, ...labels]));
    const rows = labels.map(({ id }, i) => ({
      ...{ run: i, function: i % 2, span: 0, label: id, unit: COUNT },
      ...{ value: 1 + i, cpu: NaN }
    }));
    ingestBlock(log, rowsToBlock(2, 'meters', rows));
    return log;
  };
  const whole = (most * (most + 1)) / 2;

  it.each([12, 500])(
    'fits in a message, and adds up the smaller ones: %s rows',
    top => {
      const params = { unit: 'count', top };
      const result = ask(drawn(), 'fine-metrics', { params });
      const sum = result.byActivity.reduce((all, { value }) => all + value, 0);
      expect(sum).toBe(whole);
      expect(result.byActivity.length).toBeLessThanOrEqual(101);
      const labels = result.byActivity.map(({ activity }) => activity);
      expect(labels).toContain(labelOf(most - 1));
      expect(labels).toContain('(others)');
      expect(overTheLink(result)).toEqual(result);
    }
  );

  it('of exact entries says that it adds up the last ones', () => {
    const params = { entries: true };
    const { entries, notes } = ask(drawn(), 'fine-metrics', { params });
    const own = entries!.filter(([, , , unit]) => unit === 'count');
    expect(own.reduce((all, [, , , , value]) => all + value, 0)).toBe(whole);
    expect(own.filter(([, , label]) => label === '(others)')).toHaveLength(2);
    expect(notes).toHaveLength(1);
    expect(notes![0]).toContain('“(others)”');
    expect(JSON.stringify(entries).length).toBeLessThan(BODY_LIMIT.panel / 2);
  });

  it('comes from sums that do not grow for ever', () => {
    const sums = new MeterSums(50);
    for (let i = 0; i < 1000; i++) {
      sums.add({
        ...{ label: i, unit: i % 2, span: idOfSpan<SpanId>(i % 100) },
        ...{ function: i, value: 1, cpu: NaN }
      });
    }
    const all = [...sums.all()];
    expect(all.length).toBeLessThanOrEqual(102);
    expect(all.reduce((sum, { beside }) => sum + beside, 0)).toBe(1000);
  });
});

describe('the account of a thread', () => {
  it('takes waits for other tasks off what was blocked, whatever else it waited for', () => {
    const log = new LogStore('waits');
    const cell = log.held.cell(DEFAULT_SPAN, 7);
    const of = (activity: (typeof ACTIVITIES)[number]) =>
      ACTIVITIES.indexOf(activity);
    log.held.addNanoseconds(cell, of('core'), 10);
    log.held.addNanoseconds(cell, of('blocked'), 10);
    const sums = new MeterSums();
    const row = { unit: 0, span: log.held.span(cell), function: 7, cpu: 0 };
    sums.add({ ...row, label: 0, value: 8e-9 });
    sums.add({ ...row, label: 1, value: 4e-9 });
    const account = new ThreadAccount(
      log.held,
      new LockWaits(log, new FineSums()),
      sums,
      label => (label === 0 ? OTHER_TASKS : 'decode')
    );
    // Of what is left of both the other label has its share of each.
    expect(
      [of('core'), of('blocked')].map(each => account.nanoseconds(cell, each))
    ).toEqual([7, 1]);
    expect([...account.labels(cell)]).toEqual([
      [0, 8],
      [1, 4]
    ]);
  });

  const anyCell = fc.record({
    ns: fc.array(fc.nat(50), {
      minLength: ACTIVITIES.length,
      maxLength: ACTIVITIES.length
    }),
    meters: fc.array(
      fc.record({ label: fc.nat(3), onCore: fc.nat(60), offCore: fc.nat(60) }),
      { maxLength: 4 }
    )
  });

  it('keeps the sum of each cell and takes nothing that is not there, whatever is asked', () => {
    fc.assert(
      fc.property(anyCell, ({ ns, meters }) => {
        const log = new LogStore('cell');
        const cell = log.held.cell(DEFAULT_SPAN, 7);
        ns.forEach((value, activity) =>
          log.held.addNanoseconds(cell, activity, value)
        );
        const sums = new MeterSums();
        for (const { label, onCore, offCore } of meters) {
          sums.add({
            ...{ label, unit: 0, span: log.held.span(cell), function: 7 },
            value: (onCore + offCore) * 1e-9,
            cpu: onCore * 1e-9
          });
        }
        const account = new ThreadAccount(
          log.held,
          new LockWaits(log, new FineSums()),
          sums,
          label => (label === 0 ? OTHER_TASKS : `label ${label}`)
        );
        const left = ACTIVITIES.map((_, i) => account.nanoseconds(cell, i));
        const taken = [...account.labels(cell).values()];
        const add = (a: number, b: number): number => a + b;
        expect([...left, ...taken].reduce(add, 0)).toBe(ns.reduce(add, 0));
        expect(
          [...left, ...taken].every(each => each >= 0 && Number.isInteger(each))
        ).toBe(true);
        left.forEach((each, i) => expect(each).toBeLessThanOrEqual(ns[i]!));
        const asked = meters.reduce(
          (sum, { onCore, offCore }) => sum + onCore + offCore,
          0
        );
        const forTasks = meters
          .filter(({ label }) => label === 0)
          .reduce((sum, { offCore }) => sum + offCore, 0);
        const blocked = ACTIVITIES.indexOf('blocked');
        expect(left[blocked]).toBeLessThanOrEqual(
          Math.max(0, ns[blocked]! - forTasks)
        );
        const there = [
          'thread-cpu',
          'core',
          'gil',
          'blocked',
          'thread-noncpu',
          'compute'
        ].reduce(
          (sum, name) => sum + ns[ACTIVITIES.findIndex(each => each === name)]!,
          0
        );
        expect(taken.reduce(add, 0)).toBe(Math.min(asked, there));
      }),
      { numRuns: 300 }
    );
  });
});
