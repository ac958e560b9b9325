/** Colours of functions beyond the first two dozen: of those that matter in the whole run, whatever is looked at, and when. */
import { rowsToBlock } from '../../testing/rows-to-block';
import type { Filter, TimeRange } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask, type Asked } from './ask';

const SMALL = 30;
/** Of 100 s: these have enough for a colour, this one has not. */
const LARGE = ['most', 'much', 'some'];
const SECONDS = [60, 30, 9.7, 0.1];

/**
 * Two workers, one thread each: 24 functions that come first have 6 ms each, six more as little; then come the large ones, one after the other,
 * in turns on both workers.
 */
function logOfMany(): LogStore {
  const log = new LogStore('many');
  const names = [
    ...Array.from({ length: SMALL }, (_, i) => `small${i}`),
    ...LARGE,
    'little'
  ];
  const runs = names.map((_, i) => ({
    run: i,
    lane: i % 2,
    function: i + 1,
    start: i < SMALL ? i * 0.01 : 1 + (i - SMALL) * 100,
    duration: SECONDS[i - SMALL] ?? 0.006,
    cpu: NaN
  }));
  [
    rowsToBlock(
      1,
      'names',
      names.map((text, i) => ({ id: i + 1, text }))
    ),
    rowsToBlock(
      2,
      'workers',
      [0, 1].map(worker => ({ worker, threads: 1, left: NaN }))
    ),
    rowsToBlock(
      3,
      'lanes',
      [0, 1].map(lane => ({ lane, worker: lane, thread: 0 }))
    ),
    rowsToBlock(4, 'runs', runs)
  ].forEach(block => ingestBlock(log, block));
  return log;
}

const colours = (log: LogStore): string =>
  JSON.stringify(
    ask(log, 'task-stream').functions.map(({ name, slot, round }) => [
      name,
      slot,
      round
    ])
  );

describe('the colours of functions', () => {
  const filters: readonly Filter[] = [
    { workers: [1] },
    { functions: ['some'] },
    { notFunctions: ['most', 'much'] },
    { status: ['failed'] }
  ];
  const times: readonly TimeRange[] = [
    // Here one that has a thousandth of the run has all of the time.
    { from: 301, to: 302 },
    { from: 0, to: 1 }
  ];

  it.each<[Asked]>([
    ...filters.map(filter => [{ filter }] as [Asked]),
    ...times.map(time => [{ time }] as [Asked])
  ])('are the same if %j is looked at first', asked => {
    const plain = logOfMany();
    const expected = colours(plain);
    for (const name of LARGE) {
      // Those that came first are light.
      expect(plain.slots.of(name)).toMatchObject({ round: 0 });
      expect(plain.slots.of(name).slot).toBeGreaterThanOrEqual(0);
    }
    for (const name of ['little', 'small29']) {
      expect(plain.slots.of(name).slot).toBe(-1);
    }
    for (const coloured of [
      (log: LogStore) => ask(log, 'task-stream', asked).functions,
      (log: LogStore) =>
        ask(log, 'fine-metrics', {
          ...asked,
          params: { top: 99 }
        }).byFunction.map(row => ({ ...row, name: row.function }))
    ]) {
      const log = logOfMany();
      for (const { name, slot, round } of coloured(log)) {
        expect({ slot, round }).toEqual(plain.slots.of(name));
      }
      expect(colours(log)).toBe(expected);
    }
  });

  it('are the same whenever somebody looked before', () => {
    const COUNT = 60;
    const blocks = Array.from({ length: 90 }, (_, b) =>
      // Each block has more seconds than those before, so that early ones become light.
      rowsToBlock(
        2 + b,
        'runs',
        Array.from({ length: 3 }, (_each, i) => ({
          run: 3 * b + i,
          function: 1 + ((b * 7 + i * 5) % COUNT),
          start: 10 * b,
          duration: (b + 1) * (i + 1),
          cpu: NaN
        }))
      )
    );
    const grown = (looksAt: (b: number) => boolean): LogStore => {
      const log = new LogStore('grown');
      const names = Array.from({ length: COUNT }, (_, i) => ({
        id: i + 1,
        text: `f${i}`
      }));
      ingestBlock(log, rowsToBlock(1, 'names', names));
      blocks.forEach((block, b) => {
        ingestBlock(log, block);
        if (looksAt(b)) {
          ask(log, 'task-stream');
          ask(log, 'fine-metrics');
        }
      });
      return log;
    };
    const late = colours(grown(() => false));
    expect(late.match(/,2\]/g)).toHaveLength(12);
    expect(colours(grown(() => true))).toBe(late);
    expect(colours(grown(b => b === 40))).toBe(late);
  });

  it('are there for what runs, however many functions came before it', () => {
    const log = logOfMany();
    const id = SMALL + LARGE.length + 2;
    ingestBlock(log, rowsToBlock(5, 'names', [{ id, text: 'long' }]));
    ingestBlock(
      log,
      rowsToBlock(6, 'running', [
        { run: 999, node: 1, lane: 1, function: id, span: 1, started: 900 }
      ])
    );
    const { functions } = ask(log, 'task-stream', { now: 901 });
    expect(
      functions.find(({ name }) => name === 'long')!.slot
    ).toBeGreaterThanOrEqual(0);
  });

  it('are asked for without adding up the cells again', () => {
    const log = logOfMany();
    const looks = jest.spyOn(log.held, 'function');
    ask(log, 'task-stream');
    // Of each whether it is selected, and whose seconds it has.
    expect(looks.mock.calls).toHaveLength(2 * log.held.length);
    looks.mockRestore();
  });

  it('of a cluster that adds up itself go by its sums', () => {
    const log = logOfMany();
    const header = JSON.stringify({ capabilities: { taskSums: true } });
    const [execute, seconds, cpu, early, tiny] = [900, 901, 902, 903, 904];
    const texts = new Map([
      [execute, 'execute'],
      [seconds, 'seconds'],
      [cpu, 'thread-cpu'],
      [early, 'early'],
      [tiny, 'tiny']
    ]);
    const fine = { context: execute, unit: seconds, activity: cpu };
    [
      rowsToBlock(5, 'header', [{ json: header }]),
      rowsToBlock(
        6,
        'names',
        [...texts].map(([id, text]) => ({ id, text }))
      ),
      // It ran before anybody watched: there is no run.
      rowsToBlock(7, 'fine', [
        { ...fine, function: early, value: 50 },
        { ...fine, function: tiny, value: 0.1 }
      ])
    ].forEach(block => ingestBlock(log, block));
    ask(log, 'fine-metrics', { filter: { functions: ['tiny'] } });
    expect(log.slots.of('early').slot).toBeGreaterThanOrEqual(0);
    expect(log.slots.of('tiny').slot).toBe(-1);
  });
});
