/** The client's ids for a cluster's life: every one resolves as it should, and what is forgotten takes no memory. */
import type { DenseTaskId } from '../../../records/ids';
import { idOf } from '../../../testing/ids';
import { NONE_U32 } from '../../../records/enumerations';
import { SeededRandom } from '../../../base/seeded-random';
import { Scheduler } from '../../../scheduler';
import { ClientIds } from '../client-ids';
import { ClientTasks } from '../client-scope';
import { TaskRows } from '../task-rows';

describe('ClientIds', () => {
  it.each([1, 2, 3])('is what a map would be, seed %i', seed => {
    const random = new SeededRandom(seed);
    const ids = new ClientIds<number>(NONE_U32);
    const expected = new Map<number, number>();
    let next = 0;
    for (let step = 0; step < 2_000; step++) {
      const past = random.below(next + 10);
      if (random.below(5) < 3) {
        next += 1 + (random.below(50) === 0 ? random.below(5_000) : 0);
        ids.bind(idOf(next), step);
        expected.set(next, step);
      } else {
        ids.free(idOf(past));
        expected.delete(past);
      }
      expect(ids.get(idOf(past))).toBe(expected.get(past) ?? NONE_U32);
      expect(ids.get(idOf(next))).toBe(expected.get(next) ?? NONE_U32);
    }
    for (const [id, value] of expected) {
      expect(ids.get(idOf(id))).toBe(value);
    }
    const used = new Set([...expected.keys()].map(id => id >>> 10));
    expect(ids.pages).toBe(used.add(next >>> 10).size);
    [...expected.keys()].forEach(id => ids.free(idOf(id)));
    expect(ids.pages).toBe(1);
    expect(ids.end).toBe(next + 1);
  });
});

describe('TaskRows', () => {
  it('keeps nothing of the ids of a million tasks that are forgotten', () => {
    const rows = new TaskRows(new Scheduler({}).tasks);
    const own = new ClientTasks(rows, 0);
    let next = 0;
    const lasting = own.take(idOf(next++));
    for (let graph = 0; graph < 100; graph++) {
      const tasks: DenseTaskId[] = [];
      for (let i = 0; i < 5_000; i++) {
        tasks.push(own.take(idOf(next++)));
        own.bind(idOf(next++), tasks[i]!);
      }
      expect(own.resolve(idOf(next - 1))).toBe(tasks[4_999]);
      expect(own.resolve(idOf(next - 2))).toBe(tasks[4_999]);
      tasks.forEach(task => rows.giveBack(task));
      expect(own.resolve(idOf(next - 1))).toBe(-1);
      expect(own.resolve(idOf(next - 2))).toBe(-1);
    }
    expect(own.end).toBe(next);
    expect(own.resolve(idOf(0))).toBe(lasting);
    expect(own.pages).toBe(2);
  });
});
