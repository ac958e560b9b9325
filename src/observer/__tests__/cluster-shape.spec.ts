import fc from 'fast-check';
import {
  CapacityState,
  NONE_U16,
  NONE_U32,
  wordsOf
} from '../../records/enumerations';
import type { LaneId, LaneIndex } from '../../records/ids';
import { idOf } from '../../testing/ids';
import { TABLES } from '../../records/tables';
import { ClusterShape, NO_LANE } from '../store/cluster-shape';

const WORKERS = [0, 3];
const END = 12;
const { Running, Paused, Closing, Stopped, Gone } = CapacityState;

const anyWorker = fc.constantFrom(...WORKERS);
const anyRow = fc.record({
  joined: fc.nat(3),
  threads: fc.nat(3),
  left: fc.constantFrom(NaN, NaN, 5, 8)
});
const anyStep = fc.oneof(
  { weight: 1, arbitrary: fc.record({ setWorker: anyWorker, row: anyRow }) },
  {
    weight: 4,
    arbitrary: fc.record({
      lane: fc.constantFrom(2, 5, 6, 8),
      worker: anyWorker,
      thread: fc.nat(2)
    })
  },
  {
    weight: 5,
    arbitrary: fc.record({
      of: anyWorker,
      t: fc.nat(END),
      threads: fc.nat(4),
      state: fc.constantFrom(Running, Running, Paused, Closing, Stopped, Gone)
    })
  }
);

type Worker = { joined: number; threads: number; left: number };
type Step = { t: number; threads: number; state: CapacityState };

const rowOf = (worker: number, { joined, threads, left }: Worker) => ({
  worker,
  pid: 100 + worker,
  threads,
  memoryLimit: 1000 + worker,
  joined,
  left,
  name: `worker ${worker}`,
  address: '',
  host: '',
  why: ''
});

describe('the shape of a cluster', () => {
  it('has for each thread when it could work, in as few stretches as can be', () => {
    fc.assert(
      fc.property(
        fc.tuple(anyRow, anyRow),
        fc.array(anyStep, { minLength: 4, maxLength: 24, size: 'max' }),
        fc.integer({ min: 1, max: END + 2 }),
        (first, drawn, now) => {
          const shape = new ClusterShape();
          const workers = new Map<number, Worker>();
          const steps = new Map<number, Step[]>();
          /** Lane → its thread now; of several lanes of a thread the newest counts. */
          const lanes = new Map<number, { worker: number; thread: number }>();
          const laneOf = new Map<string, number>();
          const indices: number[] = [];
          const rows = WORKERS.map((setWorker, i) => ({
            setWorker,
            row: first[i]!
          }));
          for (const step of [...rows, ...drawn]) {
            if ('setWorker' in step) {
              shape.setWorker(rowOf(step.setWorker, step.row));
              workers.set(step.setWorker, step.row);
            } else if ('lane' in step) {
              const { lane, worker, thread } = step;
              if (!indices.includes(lane)) {
                indices.push(lane);
              }
              const index = shape.setLane({ ...step, lane: idOf(lane) });
              expect(index).toBe(indices.indexOf(lane));
              const before = lanes.get(lane);
              const key = `${before?.worker} ${before?.thread}`;
              if (laneOf.get(key) === lane) {
                laneOf.delete(key);
              }
              lanes.set(lane, { worker, thread });
              laneOf.set(`${worker} ${thread}`, lane);
            } else {
              const { of, ...row } = step;
              expect(shape.addCapacity(of, row)).toBe(true);
              const own = steps.get(of) ?? [];
              own.push(row);
              // Sorting keeps the order of those of one time.
              steps.set(
                of,
                own.sort((one, other) => one.t - other.t)
              );
            }
          }
          expect(shape.lanes).toEqual(
            indices.map(lane => ({ lane, ...lanes.get(lane)! }))
          );
          const stepAt = (worker: number, t: number): Step | undefined => {
            const row = workers.get(worker)!;
            const own = steps.get(worker) ?? [
              { t: row.joined, threads: row.threads, state: Running }
            ];
            return t >= row.left ? undefined : own.findLast(s => s.t <= t);
          };
          const capacities = shape.laneCapacities(now);
          for (const { stretches, threads } of capacities) {
            expect(threads).toBeGreaterThan(0);
            for (const [i, { from, to, heldBy }] of stretches.entries()) {
              expect(from).toBeLessThan(to);
              const before = stretches[i - 1];
              expect(before?.to ?? from).toBeLessThanOrEqual(from);
              expect(before?.to === from && before.heldBy === heldBy).toBe(
                false
              );
            }
          }
          expect(new Set(capacities.map(({ worker }) => worker))).toEqual(
            new Set(
              [...workers.keys()].filter(worker =>
                [
                  stepAt(worker, -1),
                  ...(steps.get(worker) ?? [workers.get(worker)!])
                ].some(
                  each =>
                    (each?.threads ?? 0) > 0 &&
                    (!('t' in each!) || !(each.t >= workers.get(worker)!.left))
                )
              )
            )
          );
          for (const worker of workers.keys()) {
            const own = capacities.filter(each => each.worker === worker);
            for (let t = 0.5; t < END + 2; t++) {
              const step = t < now ? stepAt(worker, t) : undefined;
              const isThere = step !== undefined && step.state !== Gone;
              const heldBy =
                step?.state === Paused
                  ? 'paused'
                  : step?.state === Stopped
                    ? 'stopped'
                    : null;
              const here = own.filter(({ stretches }) =>
                stretches.some(
                  each =>
                    each.from <= t && t < each.to && each.heldBy === heldBy
                )
              );
              const count = here.reduce((sum, each) => sum + each.threads, 0);
              expect(count).toBe(isThere ? step.threads : 0);
              for (let thread = 0; thread < 4; thread++) {
                const lane = laneOf.get(`${worker} ${thread}`);
                if (lane !== undefined) {
                  const entries = here.filter(each => each.lane === lane);
                  expect(
                    entries.map(each => [each.thread, each.threads])
                  ).toEqual(
                    isThere && thread < step.threads ? [[thread, 1]] : []
                  );
                }
              }
              for (const { lane, thread } of here) {
                const known = laneOf.get(`${worker} ${thread}`);
                expect(lane).toBe(known ?? NO_LANE);
              }
            }
          }
          for (const worker of WORKERS) {
            const row = workers.get(worker);
            const state = (steps.get(worker) ?? []).at(-1)?.state ?? Running;
            expect(shape.stateOf(worker)).toBe(
              row === undefined || !Number.isNaN(row.left)
                ? 'gone'
                : wordsOf(CapacityState)[state]
            );
          }
          expect(shape.threads).toBe(
            [...workers.values()]
              .filter(({ left }) => Number.isNaN(left))
              .reduce((sum, { threads }) => sum + threads, 0)
          );
        }
      ),
      { numRuns: 80 }
    );
  });

  it('gives a lane that nobody announced one of its own, of no worker', () => {
    const shape = new ClusterShape();
    const announced = { lane: idOf<LaneId>(7), worker: 1, thread: 0 };
    shape.setLane(announced);
    expect(shape.laneIndex(idOf(9))).toBe(1);
    expect(shape.laneIndex(idOf(9))).toBe(1);
    expect(shape.laneIndex(idOf(7))).toBe(0);
    expect(shape.lanes).toEqual([
      announced,
      { lane: 9, worker: NONE_U16, thread: 9 }
    ]);
    // It keeps its place when it is.
    const late = { lane: idOf<LaneId>(9), worker: 2, thread: 3 };
    expect(shape.setLane(late)).toBe(1 as LaneIndex);
    expect(shape.lanes).toEqual([announced, late]);
  });

  it('knows which thread ran what ended on a lane', () => {
    const shape = new ClusterShape();
    const lane = idOf<LaneId>(3);
    const row = { lane, worker: 1, thread: 0 };
    const identAt = (end: number) => shape.laneThreads.of(lane, end);
    shape.setLane({ ...row, ident: NaN, since: NaN });
    expect(identAt(5)).toBeNaN();
    shape.setLane({ ...row, ident: 70, since: 2 });
    shape.setLane({ ...row, ident: 71, since: 6 });
    expect([0, 2, 5.9, 6, 99].map(identAt)).toEqual([70, 70, 70, 71, 71]);
    expect(shape.laneThreads.of(idOf(4), 5)).toBeNaN();
    expect(shape.lanes).toEqual([row]);
  });

  it('knows what runs, until its worker leaves', () => {
    const shape = new ClusterShape();
    const alive = { joined: 0, threads: 2, left: NaN };
    for (const worker of [1, 2]) {
      shape.setWorker(rowOf(worker, alive));
      shape.setLane({ lane: idOf(worker), worker, thread: 0 });
      shape.setLane({ lane: idOf(10 + worker), worker, thread: 1 });
    }
    const running = (node: number) => ({
      node,
      function: 2 * node,
      span: idOf<never>(3),
      started: node / 2
    });
    for (const lane of [1, 2, 11]) {
      shape.setRunning(idOf(lane), running(100 + lane));
    }
    shape.setRunning(idOf(2), running(200));
    expect([...shape.running]).toEqual([
      [1, running(101)],
      [2, running(200)],
      [11, running(111)]
    ]);
    shape.setRunning(idOf(11), running(NONE_U32));
    expect([...shape.running.keys()]).toEqual([1, 2]);
    shape.setRunning(idOf(11), running(111));
    shape.setWorker(rowOf(1, { ...alive, left: 4 }));
    expect([...shape.running.keys()]).toEqual([2]);
    shape.setWorker(rowOf(2, { ...alive, threads: 5 }));
    expect([...shape.running.keys()]).toEqual([2]);
    expect(shape.threads).toBe(5);
  });

  it('takes 64 numbers of threads of a worker, those again, and others of others', () => {
    const shape = new ClusterShape();
    for (let threads = 1; threads <= 64; threads++) {
      const step = { t: threads, threads, state: Running };
      expect(shape.addCapacity(1, step)).toBe(true);
    }
    const next = { t: 70, threads: 65, state: Running };
    expect(shape.addCapacity(1, next)).toBe(false);
    expect(shape.addCapacity(2, next)).toBe(true);
    expect(shape.addCapacity(1, { t: 70, threads: 7, state: Running })).toBe(
      true
    );
    shape.setWorker(rowOf(1, { joined: 0, threads: 1, left: NaN }));
    const [first, ...others] = shape.laneCapacities(100);
    expect(first!.stretches).toEqual([{ from: 1, to: 100, heldBy: null }]);
    expect(others).toHaveLength(63);
    expect(others.at(-1)!.stretches).toEqual([
      { from: 64, to: 70, heldBy: null }
    ]);
  });

  it('merges the oldest steps of a worker that changes without end, and refuses others meanwhile', () => {
    const shape = new ClusterShape();
    const { rows } = TABLES.capacity.bound;
    const stepOf = (t: number) => ({ t, threads: 2, state: t & 1 });
    for (let t = 0; t < rows; t++) {
      shape.addCapacity(1, stepOf(t));
    }
    const other = { t: 5, threads: 2, state: Running };
    expect(shape.addCapacity(2, other)).toBe(false);
    shape.setWorker(rowOf(1, { joined: 0, threads: 2, left: NaN }));
    const stretchesOf = (now: number) =>
      shape.laneCapacities(now)[0]!.stretches;
    expect(stretchesOf(rows)).toHaveLength(rows);
    expect(shape.addCapacity(1, stepOf(rows))).toBe(true);
    const merged = rows / 4;
    const left = stretchesOf(rows + 1);
    expect(left).toHaveLength(rows + 1 - merged);
    // The first lasts until where the merged ones ended; the newest are as they were.
    expect(left[0]).toEqual({ from: 0, to: merged + 1, heldBy: null });
    expect(left[1]!.from).toBe(merged + 1);
    expect(left.at(-1)!.from).toBe(rows);
    expect(shape.addCapacity(2, other)).toBe(true);
    let taken = 1;
    while (shape.addCapacity(100 + taken, other)) {
      taken++;
    }
    expect(taken).toBe(merged - 1);
  });

  it('first drops steps that change nothing, and nothing of a worker that has two', () => {
    const shape = new ClusterShape();
    const { rows } = TABLES.capacity.bound;
    const few = [1, 2, 3].map(t => ({ t, threads: 2, state: Paused }));
    few.forEach(step => shape.addCapacity(3, step));
    few.slice(1).forEach(step => shape.addCapacity(2, step));
    // Two of three are as the one before; the threads alone change, too.
    const stepOf = (t: number) => ({
      t,
      threads: t % 9 < 6 ? 2 : 4,
      state: t % 9 < 3 ? Paused : Running
    });
    const filled = rows - 5;
    for (let t = 0; t < filled; t++) {
      shape.addCapacity(1, stepOf(t));
    }
    shape.setWorker(rowOf(1, { joined: 0, threads: 4, left: NaN }));
    // (expect takes seconds to compare all of them)
    const known = () => JSON.stringify(shape.laneCapacities(filled));
    const before = known();
    expect(shape.addCapacity(2, { ...few[0]!, t: 9 })).toBe(false);
    expect(shape.addCapacity(1, stepOf(filled))).toBe(true);
    expect(known() === before).toBe(true);
    const room = filled - Math.ceil(filled / 3) - 1;
    for (let t = filled + 1; t < filled + room; t++) {
      shape.addCapacity(1, stepOf(t));
    }
    expect(shape.addCapacity(4, few[0]!)).toBe(true);
    expect(shape.addCapacity(5, few[0]!)).toBe(false);
    // Of three steps one goes.
    expect(shape.addCapacity(3, { ...few[0]!, t: 9 })).toBe(true);
  });

  it('takes a state that it does not know for none', () => {
    const shape = new ClusterShape();
    shape.setWorker(rowOf(1, { joined: 0, threads: 2, left: NaN }));
    shape.addCapacity(1, { t: 0, threads: 2, state: 99 });
    expect(shape.stateOf(1)).toBe('gone');
  });
});
