/**
 * The tree of a drawn profile is built twice: by the fold, and here, from each sample by itself, by the names on its way from the outermost
 * frame in.
 */
import fc from 'fast-check';
import { NONE_U32, SampleState } from '../../records/enumerations';
import { rowsToBlock } from '../../testing/rows-to-block';
import type { Filter, ProfileResult, TimeRange } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

const NAMES = ['main', 'load', 'read', 'fit', 'a.py', 'b.py', 'x', 'y'];
const id = (text: string): number => 1 + NAMES.indexOf(text);

/** Frames 4 and 0 are one place, as two workers number it. */
const FRAMES = [
  ['main', 'a.py', 1],
  ['load', 'a.py', 9],
  ['read', 'b.py', 3],
  ['fit', 'b.py', 7],
  ['main', 'a.py', 1],
  ['load', 'b.py', 9]
] as const;
/** Stack → the one below it, and its frame. */
const STACKS: readonly (readonly [parent: number, frame: number])[] = [
  [NONE_U32, 0],
  [0, 1],
  [1, 2],
  [0, 3],
  [NONE_U32, 4],
  [4, 3],
  [4, 5],
  [2, 1]
];
const LANES = [
  { lane: 3, worker: 5, thread: 0 },
  { lane: 1, worker: 6, thread: 0 },
  { lane: 7, worker: 6, thread: 1 }
];

const anySample = fc.record({
  second: fc.nat(6),
  lane: fc.constantFrom(...LANES.map(({ lane }) => lane)),
  span: fc.nat(2),
  function: fc.constantFrom(id('load'), id('fit')),
  stack: fc.nat(STACKS.length - 1),
  state: fc.nat(3),
  n: fc.integer({ min: 1, max: 9 })
});
type Sample = typeof anySample extends fc.Arbitrary<infer R> ? R : never;

type Chosen = {
  readonly filter: Filter;
  readonly passes: (sample: Sample) => boolean;
};
const CHOSEN: readonly Chosen[] = [
  { filter: {}, passes: () => true },
  {
    filter: { workers: [6], functions: ['fit'] },
    passes: each => each.lane !== 3 && each.function === id('fit')
  },
  {
    filter: { spans: { any: [{ tag: 'y' }] } },
    passes: ({ span }) => span === 2
  }
];
const anyTime = fc.constantFrom<readonly [TimeRange, from: number, to: number]>(
  ['all', -Infinity, Infinity],
  [{ from: 2, to: 4 }, 2, 4],
  [{ from: 1.5, to: 3.5 }, 1.5, 3.5]
);

function logOf(samples: readonly Sample[]): LogStore {
  const log = new LogStore('sampled');
  const tables = [
    ['names', NAMES.map(text => ({ id: id(text), text }))],
    [
      'spans',
      [
        { id: 1, parent: 0, tag: id('x'), closed: NaN },
        { id: 2, parent: 1, tag: id('y'), closed: NaN }
      ]
    ],
    ['workers', [{ worker: 6, name: 'six', left: NaN }]],
    ['lanes', LANES],
    [
      'frames',
      FRAMES.map(([name, file, line], frame) => ({
        frame,
        function: id(name),
        file: id(file),
        line
      }))
    ],
    [
      'stacks',
      STACKS.map(([parent, frame], stack) => ({ stack, parent, frame }))
    ],
    ['samples', samples]
  ] as const;
  tables.forEach(([table, rows], i) =>
    ingestBlock(log, rowsToBlock(i + 1, table, rows))
  );
  return log;
}

type Frame = {
  readonly name: string;
  readonly file: string;
  readonly line: number;
};
type Node = Frame & {
  n: number;
  onCore: number;
  waiting: number;
  blocked: number;
  readonly children: Node[];
};

const newNode = (frame: Frame): Node => ({
  ...frame,
  n: 0,
  onCore: 0,
  waiting: 0,
  blocked: 0,
  children: []
});

function frameOf(frame: number): Frame {
  const [name, file, line] = FRAMES[frame]!;
  return { name, file, line };
}

function stackOf(stack: number): Frame[] {
  const [parent, frame] = STACKS[stack]!;
  return [...(parent === NONE_U32 ? [] : stackOf(parent)), frameOf(frame)];
}

function groupsOf(groupBy: string | undefined, sample: Sample): Frame[] {
  const names: Record<string, string> = {
    function: NAMES[sample.function - 1]!,
    worker: sample.lane === 3 ? '5' : 'six',
    span: ['default', 'x', 'x › y'][sample.span]!
  };
  const name = names[groupBy ?? 'all'];
  return name === undefined ? [] : [{ name, file: '', line: 0 }];
}

function treeOf(samples: readonly Sample[], groupBy: string | undefined): Node {
  const all = { name: 'all', file: '', line: 0 };
  const root = newNode(all);
  for (const sample of samples) {
    let node: Node | undefined;
    const way = [all, ...groupsOf(groupBy, sample), ...stackOf(sample.stack)];
    for (const frame of way) {
      const among = node === undefined ? [root] : node.children;
      let next = among.find(
        ({ name, file, line }) =>
          name === frame.name && file === frame.file && line === frame.line
      );
      if (next === undefined) {
        next = newNode(frame);
        among.push(next);
      }
      node = next;
      node.n += sample.n;
      node.onCore += sample.state === SampleState.OnCore ? sample.n : 0;
      node.waiting += sample.state === SampleState.Waiting ? sample.n : 0;
      node.blocked += sample.state === SampleState.Blocked ? sample.n : 0;
    }
  }
  return root;
}

/** Each node with its depth, parents before children. */
function listed(node: Node, order: string, depth = 0): unknown[][] {
  const { children, ...own } = node;
  const sorted =
    order === 'time'
      ? children
      : [...children].sort(
          (a, b) =>
            b.n - a.n || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
        );
  return [
    [depth, ...Object.values(own)],
    ...sorted.flatMap(child => listed(child, order, depth + 1))
  ];
}

function answered({ nodes }: ProfileResult): unknown[][] {
  const depths: number[] = [];
  return nodes.parent.map((parent, i) => {
    expect(parent).toBeLessThan(i);
    depths.push(parent < 0 ? 0 : depths[parent]! + 1);
    return [
      depths[i],
      nodes.name[i],
      nodes.file[i],
      nodes.line[i],
      nodes.n[i],
      nodes.onCore[i],
      nodes.waiting[i],
      nodes.blocked[i]
    ];
  });
}

describe('the profile of drawn samples', () => {
  it('has the tree and the seconds of those that pass, however grouped and ordered', () => {
    fc.assert(
      fc.property(
        fc.array(anySample, { maxLength: 25 }),
        fc.constantFrom(...CHOSEN),
        anyTime,
        fc.constantFrom(undefined, 'all', 'function', 'worker', 'span'),
        fc.constantFrom('left-heavy', 'time'),
        (samples, { filter, passes }, [time, from, to], groupBy, order) => {
          const result = ask(logOf(samples), 'profile', {
            filter,
            time,
            params: { groupBy, order }
          });
          const here = samples.filter(
            each => passes(each) && each.second + 1 > from && each.second < to
          );
          const tree = treeOf(here, groupBy);
          expect(result.samples).toBe(tree.n);
          expect(result.dropped).toBe(0);
          // Of two that are alike in number and name, either may be first.
          const [found, expected] = [answered(result), listed(tree, order)];
          if (order === 'time') {
            expect(found).toEqual(expected);
          } else {
            const text = (rows: unknown[][]): string[] =>
              rows.map(row => row.join(' ')).sort();
            expect(text(found)).toEqual(text(expected));
            const depthAndN = (rows: unknown[][]): unknown[] =>
              rows.filter(row => Number(row[0]) <= 1).map(row => row[4]);
            expect(depthAndN(found)).toEqual(depthAndN(expected));
          }
          const { nodes } = result;
          nodes.file.forEach((file, i) =>
            expect(nodes.slot[i]! < 0).toBe(file === '')
          );
          const slots = new Map(
            nodes.file.map((file, i) => [file, nodes.slot[i]])
          );
          expect(nodes.slot).toEqual(nodes.file.map(file => slots.get(file)));
          const seconds = [...new Set(here.map(({ second }) => second))].sort(
            (a, b) => a - b
          );
          const of = (state: SampleState): number[] =>
            seconds.map(second =>
              here
                .filter(each => each.second === second && each.state === state)
                .reduce((sum, { n }) => sum + n, 0)
            );
          const unknown = of(SampleState.Unknown);
          expect(result.activity).toEqual({
            seconds,
            onCore: of(SampleState.OnCore),
            waiting: of(SampleState.Waiting),
            gil: seconds.map(() => 0),
            blocked: of(SampleState.Blocked),
            ...(unknown.some(n => n > 0) && { unknown })
          });
        }
      ),
      { numRuns: 80 }
    );
  });

  it('gives each function the seconds that its samples stand for, whatever else took time', () => {
    const anyRun = fc.record({
      function: fc.constantFrom(id('load'), id('fit')),
      lane: fc.constantFrom(...LANES.map(({ lane }) => lane)),
      // As of disks and transfers, at which nobody looks.
      duration: fc.double({ min: 0, max: 500, noNaN: true })
    });
    fc.assert(
      fc.property(
        fc.array(anySample, { minLength: 1, maxLength: 25 }),
        fc.array(anyRun, { maxLength: 9 }),
        fc.constantFrom(0.001, 0.01, 0.1),
        fc.constantFrom(...CHOSEN),
        anyTime,
        (samples, runs, sampleSeconds, { filter }, [time]) => {
          const log = logOf(samples);
          const header = JSON.stringify({ kind: 'embedded', sampleSeconds });
          ingestBlock(log, rowsToBlock(20, 'header', [{ json: header }]));
          const secondsOf = (): (readonly [string, number])[] => {
            const { nodes, rateHz } = ask(log, 'profile', {
              filter,
              time,
              params: { groupBy: 'function' },
              now: 10
            });
            return nodes.name.map((name, i) => [name, nodes.n[i]! / rateHz!]);
          };
          const before = secondsOf();
          ingestBlock(
            log,
            rowsToBlock(
              21,
              'runs',
              runs.map((run, i) => ({ ...run, run: i, start: i }))
            )
          );
          expect(secondsOf()).toEqual(before);
          const { samples: n } = ask(log, 'profile', { filter, time });
          expect(before[0]![1]).toBeCloseTo(n * sampleSeconds, 9);
        }
      ),
      { numRuns: 60 }
    );
  });

  it('keeps the largest frames, with those above them, and counts what it leaves out', () => {
    fc.assert(
      fc.property(
        fc.array(anySample, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 8 }),
        (samples, maxNodes) => {
          const log = logOf(samples);
          const whole = ask(log, 'profile');
          const { nodes, dropped } = ask(log, 'profile', {
            params: { maxNodes }
          });
          const count = nodes.n.length;
          expect(count).toBeLessThanOrEqual(maxNodes);
          const sizes = whole.nodes.n.toSorted((a, b) => b - a);
          const least = sizes[Math.min(maxNodes, sizes.length) - 1]!;
          // All that are larger than the smallest that has room are there, and none that is smaller.
          expect(Math.min(...nodes.n)).toBeGreaterThanOrEqual(least);
          expect(nodes.n.filter(n => n > least).length).toBe(
            sizes.filter(n => n > least).length
          );
          expect(dropped > 0).toBe(count < sizes.length);
          expect(nodes.n[0]).toBe(whole.nodes.n[0]);
        }
      ),
      {
        numRuns: 60,
        // Two of 4 samples, of which one has room, come before one of 5.
        examples: [
          [
            [
              [7, 4],
              [1, 5],
              [3, 5]
            ].map(([stack, n]) => ({
              second: 0,
              lane: 3,
              span: 0,
              function: id('load'),
              stack: stack!,
              state: 0,
              n: n!
            })),
            5
          ]
        ]
      }
    );
  });

  it('ends with frames and stacks that the log does not have', () => {
    const log = logOf([]);
    const rows = [
      { stack: 99, n: 2 },
      { stack: 50, n: 3 }
    ];
    [
      rowsToBlock(20, 'stacks', [{ stack: 50, parent: NONE_U32, frame: 77 }]),
      rowsToBlock(21, 'samples', rows)
    ].forEach(block => ingestBlock(log, block));
    const { nodes } = ask(log, 'profile');
    expect([nodes.name, nodes.n, nodes.file, nodes.line]).toEqual([
      ['all', '#77'],
      [5, 3],
      ['', ''],
      [0, 0]
    ]);
  });

  it('cuts stacks that are too deep at 512 frames, on the outer side', () => {
    const log = logOf([]);
    const deep = Array.from({ length: 600 }, (_, i) => ({
      stack: 100 + i,
      parent: i === 0 ? NONE_U32 : 99 + i,
      frame: i === 0 ? 3 : i === 599 ? 2 : 1
    }));
    [
      rowsToBlock(20, 'stacks', deep),
      rowsToBlock(21, 'samples', [{ stack: 699, n: 1 }])
    ].forEach(block => ingestBlock(log, block));
    const { nodes } = ask(log, 'profile');
    expect(nodes.name).toHaveLength(1 + 512);
    expect([nodes.name[1], nodes.name.at(-1)]).toEqual(['load', 'read']);
  });

  it('leaves out frames whose names would not fit in a message', () => {
    const log = logOf([]);
    const frames = Array.from({ length: 300 }, (_, i) => i);
    [
      rowsToBlock(
        20,
        'names',
        frames.map(i => ({ id: 100 + i, text: `${i}`.repeat(2000) }))
      ),
      rowsToBlock(
        21,
        'frames',
        frames.map(i => ({ frame: 100 + i, function: 100 + i, file: 5 }))
      ),
      rowsToBlock(
        22,
        'stacks',
        frames.map(i => ({ stack: 100 + i, parent: NONE_U32, frame: 100 + i }))
      ),
      rowsToBlock(
        23,
        'samples',
        frames.map(i => ({ stack: 100 + i, n: 1 + i }))
      )
    ].forEach(block => ingestBlock(log, block));
    const all = ask(log, 'profile', { params: { maxNodes: 40 } });
    expect(all.nodes.name).toHaveLength(40);
    const { nodes, dropped } = ask(log, 'profile');
    const length = [...nodes.name, ...nodes.file].join('').length;
    expect(length).toBeLessThanOrEqual(600_000);
    // Half as many at a time, from 5,000 on: the largest 78.
    expect(nodes.name).toHaveLength(78);
    expect(dropped).toBe(301 - 78);
    expect(nodes.n[1]).toBe(300);
  });
});
