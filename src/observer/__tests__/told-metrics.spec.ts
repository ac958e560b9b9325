/** Fine metrics of a cluster that itself adds up what its tasks took, as Dask does. */
import { TaskOrigin } from '../../records/enumerations';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import type { Filter, SpansResult } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { answer, ask } from './ask';

const NONE = 0xffffffff;
const NAMES = [
  '',
  'execute',
  'p2p',
  'get-data',
  'f',
  'g',
  'foreground',
  'background-comms',
  'thread-cpu',
  'other',
  'executor',
  'failed',
  'rows',
  'send',
  'network',
  'seconds',
  'count',
  'a',
  'b'
];
const id = (text: string): number => NAMES.indexOf(text);
const [A, B] = [1, 2];

/** One told sum: "execute f a thread-cpu seconds", and its value. */
function told(text: string, value: number, second = 0): Row {
  const [context, fn, span, activity, unit = 'seconds'] = text.split(' ');
  return {
    second,
    worker: 0xffff,
    context: id(context!),
    function: fn === '-' ? NONE : id(fn!),
    span: span === 'a' ? A : span === 'b' ? B : 0,
    activity: id(activity!),
    unit: id(unit),
    value
  };
}

/** A worker of two threads, on which f of span a and g of span b run for a second each, and a half of f is transfer. */
function logOf(
  fine: readonly Row[],
  origins: readonly number[] = [1, 1],
  capabilities: Readonly<Record<string, boolean>> = { taskSums: true }
) {
  const log = new LogStore('told');
  const header = { kind: 'dask', capabilities };
  const tables = [
    ['header', [{ t: 0, json: JSON.stringify(header) }]],
    ['names', NAMES.map((text, i) => ({ id: i, text }))],
    [
      'spans',
      [A, B].map(span => ({
        id: span,
        parent: 0,
        tag: id(span === A ? 'a' : 'b'),
        closed: NaN
      }))
    ],
    ['workers', [{ worker: 0, threads: 2, left: NaN }]],
    ['lanes', [0, 1].map(lane => ({ lane, worker: 0, thread: lane }))],
    ['capacity', [{ t: 0, worker: 0, threads: 2 }]],
    [
      'nodes',
      origins.map((origin, node) => ({
        node,
        origin,
        span: node === 0 ? A : B,
        function: id(node === 0 ? 'f' : 'g')
      }))
    ],
    [
      'runs',
      origins.map((_, node) => ({
        run: node,
        node,
        lane: 0,
        span: node === 0 ? A : B,
        function: id(node === 0 ? 'f' : 'g'),
        start: 2 * node,
        duration: 1,
        waitReady: NaN,
        cpu: NaN
      }))
    ],
    [
      'parts',
      [
        {
          run: 0,
          kind: 1,
          held: 0,
          span: A,
          function: id('f'),
          offset: -0.5,
          duration: 0.5
        },
        {
          run: 0,
          kind: 2,
          held: 0,
          span: A,
          function: id('f'),
          offset: 0,
          duration: 0.25
        }
      ]
    ],
    ['fine', fine]
  ] as const;
  tables.forEach(([table, rows], i) =>
    ingestBlock(log, rowsToBlock(i + 1, table, rows as Row[]))
  );
  return log;
}

const SUMS = [
  told('execute f a thread-cpu', 0.75),
  told('execute f a other', 0.5),
  told('execute f a executor', 0.25),
  told('execute g b thread-cpu', 1),
  told('execute g b failed', 2),
  told('execute g b rows count', 7),
  told('get-data - - network', 4)
];

const fineMetrics = (log: LogStore, filter: Filter = {}, unit = 'seconds') =>
  ask(log, 'fine-metrics', { filter, params: { unit, entries: true } });

it('has the sums as they were told, and not what the runs would give', () => {
  const result = fineMetrics(logOf(SUMS));
  expect(result.account).toBe('told');
  expect(
    result.byFunction.map(row => [row.function, row.total, row.activities])
  ).toEqual([
    ['g', 3, { 'thread-cpu': 1, failed: 2 }],
    ['f', 1.5, { 'thread-cpu': 0.75, other: 0.5, executor: 0.25 }]
  ]);
  expect(result.byFunction.map(row => row.executions)).toEqual([1, 1]);
  expect(
    Object.fromEntries(result.byActivity.map(row => [row.activity, row.value]))
  ).toEqual({ 'thread-cpu': 1.75, other: 0.5, failed: 2, executor: 0.25 });
  expect(result.byFunction[0]!.share).toBeCloseTo(3 / 4.5);
  const entries = result.entries!.map(entry => entry.join(' '));
  expect(entries.sort()).toEqual(
    [
      'execute f thread-cpu seconds 0.75',
      'execute f other seconds 0.5',
      'execute f executor seconds 0.25',
      'execute g thread-cpu seconds 1',
      'execute g failed seconds 2',
      'execute g rows count 7',
      'get-data  network seconds 4',
      'background f transfer seconds 0.5',
      'background f transfer count 1',
      'idle N/A nothing-runnable seconds 2'
    ].sort()
  );
});

it('has each unit, and names of units', () => {
  const log = logOf(SUMS);
  expect(fineMetrics(log).units).toEqual(['seconds', 'bytes', 'count']);
  const counts = fineMetrics(log, {}, 'count');
  expect(counts.byFunction.map(row => [row.function, row.total])).toEqual([
    ['g', 7]
  ]);
});

it('tells how long the selected tasks have run which still do', () => {
  const log = logOf(SUMS);
  // A task of node 1, which is g of span b.
  const running = [{ lane: 1, node: 1, function: id('g'), started: 2.5 }];
  ingestBlock(log, rowsToBlock(11, 'running', running));
  const seconds = (functions: readonly string[], ended = false) => {
    const asked = { filter: { functions }, now: 4, ended };
    return ask(log, 'fine-metrics', asked).runningSeconds;
  };
  expect(seconds(['g'])).toBeCloseTo(1.5);
  expect(seconds(['f'])).toBe(0);
  expect(seconds(['g'], true)).toBe(0);
});

it('leaves idle time out of the seconds of tasks, for they overlap', () => {
  const result = fineMetrics(logOf(SUMS));
  // Two threads for the two seconds in which some task was unfinished, and tasks for two of these four.
  expect(result.capacitySeconds).toBeCloseTo(4);
  expect(result.idle).toEqual([{ cause: 'nothing-runnable', seconds: 2 }]);
  expect(
    result.byActivity.some(({ activity }) => activity.startsWith('idle'))
  ).toBe(false);
});

it('adds up later rows, and has what was told in a range of time', () => {
  const log = logOf([...SUMS, told('execute f a thread-cpu', 8, 5)]);
  expect(fineMetrics(log).byFunction[0]!.total).toBe(9.5);
  const { result, honoured } = answer(log, 'fine-metrics', {
    time: { from: 4.5, to: 6 }
  });
  expect(result).toMatchObject({ attributedNanoseconds: 8e9 });
  expect(honoured.how).toBe('approximate');
  expect(honoured.why).toContain('in which they were told');
});

it('chooses by span and function, exactly', () => {
  const log = logOf(SUMS);
  const ofA = fineMetrics(log, { spans: { any: [{ tag: 'a' }] } });
  expect(ofA.attributedNanoseconds).toBe(1.5e9);
  expect(ofA.otherSpansSeconds).toBe(3);
  expect(ofA.byFunction.map(row => row.function)).toEqual(['f']);
  expect(ofA.wholeSeconds).toBe(1.5);
  // (pages of before take it for a share of all that was told)
  expect(ofA.byFunction[0]!.share).toBeCloseTo(1.5 / 4.5, 12);
  expect(fineMetrics(log, { functions: ['g'] }).attributedNanoseconds).toBe(
    3e9
  );
});

it('says how many seconds filter and range leave out, whenever they were told', () => {
  const log = logOf([...SUMS, told('execute f a thread-cpu', 8, 5)]);
  const hidden = (asked: Parameters<typeof ask>[2]) =>
    ask(log, 'fine-metrics', asked).hiddenSeconds;
  expect(hidden({})).toBe(0);
  expect(hidden({ filter: { functions: ['f'] } })).toBe(3);
  expect(hidden({ filter: { functions: ['none'] } })).toBe(12.5);
  expect(hidden({ time: { from: 4.5, to: 6 } })).toBe(4.5);
  expect(hidden({ time: { from: 8, to: 9 } })).toBe(12.5);
  expect(hidden({ filter: { workers: [0] } })).toBe(12.5);
});

it.each([
  [{ workers: [0] }, /not by worker/],
  [{ status: ['failed'] }, /not by how they ended/]
] as const)('does not know them by worker and status: %o', (filter, why) => {
  const { result, honoured } = answer(logOf(SUMS), 'fine-metrics', {
    filter: filter as Filter,
    params: { entries: true }
  });
  expect(result).toMatchObject({
    notKnown: expect.stringMatching(why),
    byFunction: [],
    byActivity: [],
    attributedNanoseconds: 0,
    otherSpansSeconds: 0
  });
  expect(result).toMatchObject({ notes: [expect.stringMatching(why)] });
  expect(honoured.how).toBe('not known');
});

it('shows what tasks did for a shuffle once', () => {
  const result = fineMetrics(
    logOf([
      told('p2p foreground a send', 1),
      told('p2p background-comms a send', 2)
    ])
  );
  expect(
    result.background.filter(row => row.activity.startsWith('p2p'))
  ).toEqual([{ activity: 'p2p: send', seconds: 2, bytes: null, count: null }]);
});

it('says how much of the time of chosen spans is inferred', () => {
  const { Inferred, User } = TaskOrigin;
  const of = (origins: readonly number[], filter: Filter) =>
    answer(logOf(SUMS, origins), 'fine-metrics', { filter }).honoured;
  const inA: Filter = { spans: { any: [{ tag: 'a' }] } };
  const inBoth: Filter = { spans: { any: [{ tag: 'a' }, { tag: 'b' }] } };
  expect(of([User, Inferred], inA)).toEqual({ how: 'exact' });
  expect(of([Inferred, User], inA)).toMatchObject({
    how: 'approximate',
    why: expect.stringMatching(/^100 % of the time of these spans is inferred/)
  });
  expect(of([Inferred, User], inBoth).why).toMatch(/^50 % /);
  expect(of([Inferred, User], {})).toEqual({ how: 'exact' });
  const stream = answer(logOf(SUMS, [Inferred, User]), 'task-stream', {
    filter: inA
  });
  expect(stream.honoured.why).toMatch(/^100 % /);
});

it('says that spans are not known where a scheduler does not tell them', () => {
  const { Inferred } = TaskOrigin;
  const of = (capabilities: Readonly<Record<string, boolean>>) => {
    const log = logOf([], [Inferred, Inferred], capabilities);
    const filter: Filter = { spans: { any: [{ tag: 'a' }] } };
    const { result } = answer(log, 'spans');
    return {
      ...answer(log, 'task-stream', { filter }).honoured,
      areNotTold: (result as SpansResult).areNotTold
    };
  };
  expect(of({ spans: false })).toEqual({
    how: 'approximate',
    why: 'The scheduler does not tell in which spans its tasks are.',
    areNotTold: true
  });
  expect(of({ spans: true }).areNotTold).toBeUndefined();
});
