/**
 * Drawn workers whose tasks leave their threads to others: what threads did and did not, in drawn ranges, is worked out twice, by the folds and
 * by counting ticks.
 */
import { SeededRandom } from '../../base/seeded-random';
import { OTHER_TASKS } from '../../records/enumerations';
import {
  drawSeceding,
  TICK,
  TICKS,
  type DrawnSeceding
} from '../../testing/drawn-seceding';
import type {
  Filter,
  FineMetricsResult,
  TimeRange
} from '../../wire/panel-link';
import { runningSeconds, stripBars } from '../../panels/task-stream/rows';
import { ask } from './ask';

const END = TICKS * TICK;
const SEEDS = Array.from({ length: 8 }, (_, i) => i + 1);
const RANGES = 40;

const add = (a: number, b: number): number => a + b;
const beside = ({ beside: told }: Pick<FineMetricsResult, 'beside'>): number =>
  Object.values(told ?? {}).reduce(add, 0);

function expectedOf(
  { ticks }: DrawnSeceding,
  [from, to]: readonly [number, number],
  workers: readonly number[]
) {
  const sums = { wall: 0, capacity: 0, busy: 0, still: 0, beside: 0 };
  const last = new Set(
    ticks.at(-1)!.flatMap(each => [...each.held, ...each.beside])
  );
  for (const tick of ticks.slice(from, to)) {
    if (!tick.some(each => each.held.some(Boolean) || each.beside.length > 0)) {
      continue;
    }
    sums.wall += TICK;
    for (const each of tick.filter(({ worker }) => workers.includes(worker))) {
      sums.capacity += each.held.length * TICK;
      const held = each.held.filter(run => run !== null);
      sums.busy += held.length * TICK;
      sums.still += held.filter(run => last.has(run)).length * TICK;
      sums.beside += each.beside.filter(run => !last.has(run)).length * TICK;
    }
  }
  return sums;
}

describe('tasks that leave their threads', () => {
  const drawn = SEEDS.map(seed => drawSeceding(seed));

  it('do so, have one again, and go on, in what is drawn', () => {
    expect(drawn.every(({ rejoined }) => rejoined > 0)).toBe(true);
    expect(drawn.some(({ going }) => going > 0)).toBe(true);
    const all = drawn.flatMap(({ ticks }) => ticks.flat());
    expect(all.some(each => each.beside.length > 2)).toBe(true);
  });

  it('hold them until then: what is executed, idle and running makes up the capacity', () => {
    const random = new SeededRandom(5);
    for (const each of drawn) {
      for (let i = 0; i < RANGES; i++) {
        const range = [random.below(TICKS), random.below(TICKS)].sort(
          (a, b) => a - b
        ) as [number, number];
        const [from, to] = i === 0 ? [0, TICKS] : range;
        const workers = i % 2 === 0 ? [3, 5] : [random.pick([3, 5])];
        const filter: Filter = i % 2 === 0 ? {} : { workers };
        const time: TimeRange =
          i === 0 ? 'all' : { from: from * TICK, to: to * TICK };
        const told = ask(each.log, 'fine-metrics', { filter, time, now: END });
        const expected = expectedOf(each, [from, to], workers);
        const idle = told.idle.map(({ seconds }) => seconds).reduce(add, 0);
        const executed = told.byActivity
          .filter(({ activity }) => !activity.startsWith('idle:'))
          .map(({ value }) => value)
          .reduce(add, 0);
        expect(told.wallSeconds).toBeCloseTo(expected.wall, 6);
        expect(told.capacitySeconds).toBeCloseTo(expected.capacity, 6);
        expect(idle).toBeCloseTo(expected.capacity - expected.busy, 6);
        expect(told.runningSeconds).toBeCloseTo(expected.still, 6);
        expect(beside(told)).toBeCloseTo(expected.beside, 6);
        expect(executed - beside(told) + expected.still).toBeCloseTo(
          expected.busy,
          6
        );
      }
    }
  });

  it('are in the strip of the whole run, and keep their workers busy, while they hold them', () => {
    for (const each of drawn) {
      const stream = ask(each.log, 'task-stream', { now: END });
      const going = runningSeconds(stream);
      let held = 0;
      for (const { worker, busy } of stream.workers) {
        const own = expectedOf(each, [0, TICKS], [worker]).busy;
        expect(busy + (going.get(worker) ?? 0)).toBeCloseTo(own, 6);
        held += own;
      }
      const { strip, from, to } = stream;
      const bars = stripBars(stream);
      const drawnShares = bars.map(
        bar => bar.compute + bar.disk + bar.transfer
      );
      const whole = (strip.threads! * (to - from)) / bars.length;
      expect(drawnShares.reduce(add, 0) * whole).toBeCloseTo(held, 6);
      expect(Math.max(...drawnShares)).toBeLessThanOrEqual(1 + 1e-9);
    }
  });

  it('wait beside them for as long as they say, and compute no less on them', () => {
    for (const each of drawn) {
      const told = ask(each.log, 'fine-metrics', { now: END });
      const waits = told.byActivity.find(
        ({ activity }) => activity === OTHER_TASKS
      )!;
      expect(told.beside![OTHER_TASKS]).toBeCloseTo(waits.value, 6);
      expect(waits.value).toBeGreaterThan(0);
    }
  });

  it('are shared out among functions, with what is beside', () => {
    for (const each of drawn) {
      const whole = ask(each.log, 'fine-metrics', { now: END });
      let sum = 0;
      for (const fn of whole.byFunction) {
        const filter = { functions: [fn.function] };
        const own = ask(each.log, 'fine-metrics', { filter, now: END });
        expect(beside(own)).toBeCloseTo(beside(fn), 9);
        expect(own.wholeSeconds).toBeLessThanOrEqual(
          own.capacitySeconds + 1e-6
        );
        sum += beside(own);
      }
      expect(sum).toBeCloseTo(beside(whole), 9);
    }
  });
});
