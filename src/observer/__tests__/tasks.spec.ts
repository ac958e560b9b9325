import fc from 'fast-check';
import { NONE_U32, PartKind } from '../../records/enumerations';
import { drawRuns } from '../../testing/run-from-text';
import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { PageCandidates, selectPage } from '../folds/select-page';
import { SeededRandom } from '../../base/seeded-random';
import { ask } from './ask';

const log = drawRuns(
  `
  0/0  aabbbbc
  1/0  ..dd...
`,
  {
    tasks: {
      a: { function: 'zeta', bytes: 10 },
      b: { function: 'alpha', bytes: 30, cpu: NaN },
      c: { function: 'Mid', waitThread: 2 },
      d: { function: 'alpha', span: 'x', status: 1, bytes: 20 }
    }
  }
);
const keys = (params: Record<string, unknown>): string =>
  ask(log, 'tasks', { params })
    .rows.map(({ key }) => key.at(-1))
    .join('');

describe('the tasks table', () => {
  it.each([
    ['start', false, 'adbc'],
    ['duration', true, 'badc'],
    ['function', false, 'cdba'],
    ['nbytes', true, 'bdac'],
    ['cpu', true, 'adcb'],
    ['waitThread', true, 'cadb'],
    ['worker', false, 'abcd']
  ])('sorts by %s', (sort, descending, expected) => {
    // Equal ranks stay in the order in which the runs ended: a, d, b, c.
    expect(keys({ sort, descending })).toBe(expected);
  });

  it('finds the runs next to one on its lane, on others, or from a time on', () => {
    const of = drawRuns(`
      0/0  aabbbbc.e
      1/0  ..dd.f...
    `);
    const runOf = (letter: string) =>
      ask(of, 'tasks').rows.find(({ key }) => key.at(-1) === letter)!;
    const next = (params: Record<string, unknown>, filter = {}) =>
      ask(of, 'tasks', { params: { limit: 9, ...params }, filter })
        .rows.map(({ key }) => key.at(-1))
        .join('');
    const [b, d] = [runOf('b'), runOf('d')].map(({ run }) => run);
    expect(next({ nextTo: b })).toBe('ce');
    expect(next({ nextTo: b, descending: true })).toBe('a');
    expect(next({ nextTo: d, lanes: [0] })).toMatch(/^b?ce$/);
    // (b and d begin at one time: each is next to the other from one side)
    const beside = [
      next({ nextTo: d, lanes: [0] }),
      next({ nextTo: d, lanes: [0], descending: true })
    ].join('|');
    expect(['bce|a', 'ce|ba']).toContain(beside);
    expect(next({ lanes: [0, 1], from: 4 })).toBe('fce');
    expect(next({ lanes: [0], from: 5.9, descending: true })).toBe('ba');
    expect(next({ lanes: [1] })).toBe('df');
    expect(next({ nextTo: b }, { workers: [1] })).toBe('');
    // Nothing is next to what is not there any more.
    expect(next({ nextTo: 4711, lanes: [0] })).toBe('');
    expect([runOf('b'), runOf('d')].map(({ laneIndex }) => laneIndex)).toEqual([
      0, 1
    ]);
  });

  it('calls a fused task by what took most of it, and sorts by that', () => {
    const compute = { kind: PartKind.Compute };
    const of = drawRuns('0/0 aaaa.bbbb', {
      tasks: {
        a: {
          function: 'alpha',
          parts: [
            { ...compute, offset: 0, duration: 1 },
            { ...compute, offset: 1, duration: 1.5, function: 'zeta' },
            { ...compute, offset: 2.5, duration: 1.5, function: 'zeta' }
          ]
        },
        // As long as the other: its own.
        b: {
          function: 'mid',
          parts: [
            { ...compute, offset: 0, duration: 2, function: 'beta' },
            { ...compute, offset: 2, duration: 2, function: 'mid' }
          ]
        }
      }
    });
    const { rows } = ask(of, 'tasks', { params: { sort: 'function' } });
    const told = rows.map(({ function: name, fused }) => [
      name,
      fused?.map(part => `${part.function} ${part.seconds}`)
    ]);
    expect(told).toEqual([
      ['mid', ['beta 2', 'mid 2']],
      ['zeta', ['zeta 3', 'alpha 1']]
    ]);
  });

  it('sorts spans tag by tag', () => {
    const of = drawRuns('0/0 abc', {
      tasks: { a: { span: 'p!' }, b: { span: 'p/q' }, c: { span: 'p' } }
    });
    const { rows } = ask(of, 'tasks', { params: { sort: 'span' } });
    expect(rows.map(({ key }) => key.at(-1)).join('')).toBe('cba');
  });

  it('shows the longest parts alone', () => {
    const parts = Array.from({ length: 6 }, (_, i) => ({
      kind: 1,
      offset: i / 10,
      duration: i / 100
    }));
    const of = drawRuns('0/0 a', { tasks: { a: { parts } } });
    expect(ask(of, 'tasks').rows[0]!.parts).toHaveLength(4);
  });

  it('gives a page and how many there are', () => {
    const result = ask(log, 'tasks', {
      params: { sort: 'start', offset: 1, limit: 2 }
    });
    expect(result.total).toBe(4);
    expect(result.rows.map(({ start }) => start)).toEqual([2, 2]);
  });

  it('has a run without length that ends with the log', () => {
    const of = new LogStore('log');
    [
      rowsToBlock(1, 'lanes', [{ lane: 0, worker: 0 }]),
      rowsToBlock(2, 'runs', [
        { run: 0, start: 1, duration: 4 },
        { run: 1, start: 5, duration: 0 }
      ])
    ].forEach(block => ingestBlock(of, block));
    expect(ask(of, 'tasks').rows.map(({ run }) => run)).toEqual([0, 1]);
  });

  it('puts runs last that waited for nothing known, or had no error', () => {
    const [nan, waits] = [NaN, ['waitReady', 'waitInputs', 'waitThread']];
    const unknown = Object.fromEntries(waits.map(name => [name, nan]));
    const of = new LogStore('log');
    [
      rowsToBlock(1, 'names', [{ id: 0, text: 'task-failed' }]),
      rowsToBlock(2, 'lanes', [{ lane: 0, worker: 0 }]),
      rowsToBlock(3, 'events', [
        { kind: 0, run: NONE_U32, text: 'of no run' },
        { kind: 0, run: 2, text: 'in g\nTypeError: z' },
        { kind: 0, run: 3, text: 'in f\nKeyError: a' },
        { kind: 0, run: 4, text: 'in h\nTypeError: z' }
      ]),
      rowsToBlock(4, 'runs', [
        { run: 0, start: 0, ...unknown },
        { run: 1, start: 1, ...unknown, waitInputs: 2 },
        { run: 2, start: 2, waitReady: 1, waitInputs: 2, waitThread: 4 },
        { run: 3, start: 3, ...unknown, waitReady: 0 },
        { run: 4, start: 4, ...unknown, waitThread: 3 }
      ])
    ].forEach(block => ingestBlock(of, block));
    const sorted = (sort: string, descending: boolean): number[] =>
      ask(of, 'tasks', { params: { sort, descending } }).rows.map(
        ({ run }) => run
      );
    expect(sorted('waited', true)).toEqual([2, 4, 1, 3, 0]);
    expect(sorted('waited', false)).toEqual([0, 3, 1, 4, 2]);
    expect(sorted('error', true)).toEqual([2, 4, 3, 0, 1]);
    expect(sorted('error', false)).toEqual([0, 1, 3, 2, 4]);
  });

  it('finds keys by any part of them, upper and lower case alike', () => {
    expect(keys({ search: 'ALPHA' })).toBe('db');
    expect(keys({ search: 'd-c' })).toBe('c');
    expect(keys({ search: 'nothing' })).toBe('');
  });

  it('shows unknown figures as unknown', () => {
    const [row] = ask(log, 'tasks', { params: { search: '-b' } }).rows;
    expect(row).toMatchObject({
      cpu: null,
      duration: 4,
      nbytes: 30,
      worker: 'worker-0',
      status: 'ok',
      origin: 'user',
      span: ['default']
    });
  });

  it('cuts pages as sorting would', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.double())),
        fc.boolean(),
        fc.nat({ max: 30 }),
        fc.integer({ min: 1, max: 20 }),
        (values, descending, offset, limit) => {
          const ranks = Float64Array.from(values, v =>
            Number.isNaN(v) ? -Infinity : v
          );
          const rows = Uint32Array.from(values, (_, i) => i * 3);
          const sorted = [...rows.keys()].sort((a, b) => {
            const by = descending
              ? Number(ranks[b]! > ranks[a]!) - Number(ranks[b]! < ranks[a]!)
              : Number(ranks[a]! > ranks[b]!) - Number(ranks[a]! < ranks[b]!);
            return by || a - b;
          });
          expect([
            ...selectPage(rows, ranks, descending, offset, limit)
          ]).toEqual(sorted.slice(offset, offset + limit).map(i => i * 3));
        }
      ),
      { numRuns: 300 }
    );
  });

  it.each([true, false])(
    'keeps only what may be on the page while rows go by (descending: %s)',
    descending => {
      const random = new SeededRandom(5);
      const count = 30_000;
      // Few different ranks: ties are what goes wrong.
      const ranks = Float64Array.from({ length: count }, () =>
        random.below(200)
      );
      const rows = Uint32Array.from({ length: count }, (_, i) => i);
      const candidates = new PageCandidates(descending, 150, 100);
      rows.forEach(row => candidates.add(row, ranks[row]!));
      expect(candidates.total).toBe(count);
      expect([...candidates.page()]).toEqual([
        ...selectPage(rows, ranks, descending, 150, 100)
      ]);
    }
  );
});
