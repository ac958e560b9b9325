/** The client's ids for a cluster's life: every one resolves as it should, and what is forgotten takes no memory. */
import { NONE_U32 } from '../../../records/enumerations';
import { SeededRandom } from '../../../base/seeded-random';
import { Scheduler } from '../../../scheduler';
import { ClientIds } from '../client-ids';
import { TaskRows } from '../task-rows';

describe('ClientIds', () => {
  it.each([1, 2, 3])('is what a map would be, seed %i', seed => {
    const random = new SeededRandom(seed);
    const ids = new ClientIds(NONE_U32);
    const expected = new Map<number, number>();
    let next = 0;
    for (let step = 0; step < 2_000; step++) {
      const past = random.below(next + 10);
      if (random.below(5) < 3) {
        next += 1 + (random.below(50) === 0 ? random.below(5_000) : 0);
        ids.bind(next, step);
        expected.set(next, step);
      } else {
        ids.free(past);
        expected.delete(past);
      }
      expect(ids.get(past)).toBe(expected.get(past) ?? NONE_U32);
      expect(ids.get(next)).toBe(expected.get(next) ?? NONE_U32);
    }
    for (const [id, value] of expected) {
      expect(ids.get(id)).toBe(value);
    }
    const used = new Set([...expected.keys()].map(id => id >>> 10));
    expect(ids.pages).toBe(used.add(next >>> 10).size);
    [...expected.keys()].forEach(id => ids.free(id));
    expect(ids.pages).toBe(1);
    expect(ids.end).toBe(next + 1);
  });
});

describe('TaskRows', () => {
  it('keeps nothing of the ids of a million tasks that are forgotten', () => {
    const rows = new TaskRows(new Scheduler({}).tasks);
    let next = 0;
    const lasting = rows.take(next++);
    for (let graph = 0; graph < 100; graph++) {
      const tasks: number[] = [];
      for (let i = 0; i < 5_000; i++) {
        tasks.push(rows.take(next++));
        rows.bind(next++, tasks[i]!);
      }
      expect(rows.resolve(next - 1)).toBe(tasks[4_999]);
      expect(rows.resolve(next - 2)).toBe(tasks[4_999]);
      tasks.forEach(task => rows.giveBack(task));
      expect(rows.resolve(next - 1)).toBe(-1);
      expect(rows.resolve(next - 2)).toBe(-1);
    }
    expect(rows.clientIds).toBe(next);
    expect(rows.resolve(0)).toBe(lasting);
    expect(rows.clientIdPages).toBe(2);
  });
});
