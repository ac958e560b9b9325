import fc from 'fast-check';
import { idOf } from '../../testing/ids';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawRuns } from '../../testing/run-from-text';
import { accountIdle } from '../folds/idle';
import { ClusterShape, type LaneCapacity } from '../store/cluster-shape';
import { ingestBlock } from '../store/ingest';
import type { LogStore } from '../store/log-store';
import { SpanTree } from '../store/span-tree';
import { ask, contextOf } from './ask';

const LEAVES = `
  0/0  aa.bb..cc.dd..ee.ff..gg
  0/1  ..cc.dd....aa...bb.cc..`;

function worker(threads: number) {
  return {
    worker: 7,
    threads,
    joined: 0,
    left: NaN,
    name: '',
    address: '',
    host: '',
    why: ''
  };
}

describe('a block that cannot be true', () => {
  it.each([
    ['runs', { start: NaN }],
    ['runs', { start: 1e300 }],
    ['runs', { start: -Infinity }],
    ['runs', { duration: Infinity }],
    ['capacity', { t: NaN }],
    ['running', { started: Infinity }],
    ['memory', { process: Infinity }],
    ['samples', { second: 2 ** 32 - 1 }],
    ['events', { t: 1e12, text: '' }]
  ] as const)('is refused before it is taken in: %s %j', (table, row) => {
    const log = drawRuns(LEAVES);
    const { seq, now } = log;
    const rows = [{ ...row }];
    expect(() => ingestBlock(log, rowsToBlock(seq + 1, table, rows))).toThrow(
      `row 0 of table ${table}`
    );
    expect([log.seq, log.now]).toEqual([seq, now]);
  });
});

describe('what a source says of threads', () => {
  function withThreads(threads: number): LogStore {
    const log = drawRuns(LEAVES);
    ingestBlock(log, rowsToBlock(log.seq + 1, 'workers', [worker(threads)]));
    return log;
  }

  it('costs nothing by their number, and counts every one', () => {
    const few = withThreads(0);
    const many = withThreads(65_535);
    expect(many.shape.laneCapacities(many.now).length).toBe(
      few.shape.laneCapacities(few.now).length + 1
    );
    const active = ask(few, 'summary').wallSeconds;
    const [before, after] = [few, many].map(log => ask(log, 'summary'));
    expect(after!.capacitySeconds - before!.capacitySeconds).toBeCloseTo(
      65_535 * active,
      3
    );
    expect(after!.idleSeconds - before!.idleSeconds).toBeCloseTo(
      65_535 * active,
      3
    );
  });

  it('may change, though not without end', () => {
    const shape = new ClusterShape();
    const taken = Array.from({ length: 1000 }, (_, i) =>
      shape.addCapacity(1, { t: i, threads: i + 1, state: 0 })
    );
    expect(taken.filter(isIn => isIn).length).toBe(64);
    // A worker that pauses and goes on, for days: its oldest steps are merged.
    let refused = 0;
    for (let i = 0; i < 300_000; i++) {
      const step = { t: i, threads: 4, state: i & 1 };
      refused += shape.addCapacity(2, step) ? 0 : 1;
    }
    expect(refused).toBe(0);
    shape.setWorker({ ...worker(4), worker: 2, pid: 1, memoryLimit: 0 });
    expect(shape.stateOf(2)).toBe('paused');
    const stretches = shape.laneCapacities(300_000)[0]!.stretches;
    expect(stretches.length).toBeLessThanOrEqual(100_000);
  });

  it('is the same in whatever order it arrives', () => {
    const step = fc.record({
      t: fc.nat(1000),
      threads: fc.integer({ min: 1, max: 2 }),
      state: fc.nat(1)
    });
    const told = fc
      .uniqueArray(step, { selector: ({ t }) => t, minLength: 1 })
      .chain(steps =>
        fc.tuple(
          fc.constant(steps),
          fc.shuffledSubarray(steps, { minLength: steps.length })
        )
      );
    const shapeOf = (
      steps: readonly { t: number; threads: number; state: number }[]
    ) => {
      const shape = new ClusterShape();
      shape.setWorker({ ...worker(2), pid: 1, memoryLimit: 0 });
      steps.forEach(each => shape.addCapacity(7, each));
      return [shape.stateOf(7), shape.laneCapacities(2000)];
    };
    fc.assert(
      fc.property(told, ([steps, shuffled]) => {
        const inOrder = [...steps].sort((a, b) => a.t - b.t);
        expect(shapeOf(shuffled)).toEqual(shapeOf(inOrder));
      })
    );
  });

  it('may say the same again and again, and costs no change of before', () => {
    const shape = new ClusterShape();
    shape.setWorker({ ...worker(1), pid: 1, memoryLimit: 0 });
    shape.addCapacity(7, { t: 0, threads: 1, state: 0 });
    shape.addCapacity(7, { t: 1, threads: 1, state: 1 });
    let refused = 0;
    for (let i = 2; i < 300_000; i++) {
      const isIn = shape.addCapacity(7, { t: i, threads: 1, state: 0 });
      refused += isIn ? 0 : 1;
    }
    expect(refused).toBe(0);
    const [{ stretches }] = shape.laneCapacities(300_000) as [LaneCapacity];
    expect(stretches.map(({ heldBy }) => heldBy)).toEqual([
      null,
      'paused',
      null
    ]);
  });

  it('says which row had no room', () => {
    const log = drawRuns(LEAVES);
    const rows = Array.from({ length: 100 }, (_, i) => ({
      t: i / 10,
      worker: 0,
      threads: i + 1
    }));
    ingestBlock(log, rowsToBlock(log.seq + 1, 'capacity', rows));
    expect(log.gaps.map(gap => gap.why)).toEqual(['threads change too often']);
  });

  it('gives a thread that changes its lane one lane', () => {
    const shape = new ClusterShape();
    for (let thread = 0; thread < 100; thread++) {
      shape.setLane({ lane: idOf(3), worker: 1, thread });
    }
    shape.setWorker({
      ...worker(100),
      worker: 1,
      pid: 1,
      memoryLimit: 0
    });
    const lanes = shape.laneCapacities(10).filter(({ lane }) => lane >= 0);
    expect(lanes.map(({ thread }) => thread)).toEqual([99]);
  });
});

it('accounts for lanes in turns', () => {
  const log = drawRuns(LEAVES);
  const rows = Array.from({ length: 5000 }, (_, i) => ({
    ...worker(1),
    worker: i + 10
  }));
  ingestBlock(log, rowsToBlock(log.seq + 1, 'workers', rows));
  const slices = accountIdle({
    context: contextOf(log),
    range: { from: 0, to: log.now },
    perSpan: false
  });
  let turns = 0;
  while (slices.next().done !== true) {
    turns++;
  }
  expect(turns).toBeGreaterThan(2);
});

it('keeps spans within spans to a depth', () => {
  const tree = new SpanTree();
  const row = { tag: 'x', origin: 0, client: 0, opened: 0, closed: NaN };
  for (let span = 1; span < 3000; span++) {
    tree.set({ ...row, span: idOf(span), parent: idOf(span - 1) });
  }
  // From below as well: each new one above all the others.
  for (let span = 6000; span > 3000; span--) {
    tree.set({ ...row, span: idOf(span), parent: idOf(span - 1) });
  }
  const depths = [...tree.all()].map(({ path }) => path.length);
  expect(Math.max(...depths)).toBe(256);
});
