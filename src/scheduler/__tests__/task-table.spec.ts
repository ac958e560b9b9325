import * as fc from 'fast-check';
import { EdgeTable, NONE } from '../edge-table';
import { TaskTable } from '../task-table';

const CLIENT = 0;
const FUNCTION_ROW = 0;

function added(
  table: TaskTable,
  task: number,
  inputs: readonly number[]
): void {
  table.ensure(task + 1);
  table.add(task, task, CLIENT, FUNCTION_ROW, 0);
  if (inputs.length === 0) {
    return;
  }
  const first = table.reserveInputs(task, inputs.length);
  for (let i = inputs.length - 1; i >= 0; i--) {
    table.setInput(task, first + i, inputs[i]!);
  }
}

function forgotten(table: TaskTable, task: number): void {
  const first = table.firstInput[task]!;
  const count = table.inputsOf(task).length;
  for (let e = first; e < first + count; e++) {
    table.detachDependent(e);
  }
  if (count > 0) {
    table.edges.giveBack(first, count);
  }
  table.clear(task);
}

describe('the edges of a task table', () => {
  it('are those that were given, whatever comes and goes', () => {
    // The inputs of a new task, by their places among those there; or which task without dependents goes.
    const tape = fc.array(
      fc.oneof(
        fc.record({ inputs: fc.array(fc.nat(), { maxLength: 5 }) }),
        fc.record({
          inputs: fc.array(fc.nat(), { minLength: 60, maxLength: 70 })
        }),
        fc.record({ goes: fc.nat() }),
        fc.record({ goes: fc.nat() })
      ),
      { maxLength: 120, size: 'max' }
    );
    fc.assert(
      fc.property(tape, steps => {
        const table = new TaskTable();
        const model = new Map<number, number[]>();
        const free: number[] = [];
        let extent = 0;
        let most = 0;
        const forgetOne = (which: number): void => {
          const used = new Set([...model.values()].flat());
          const leaves = [...model.keys()].filter(task => !used.has(task));
          if (leaves.length > 0) {
            const task = leaves[which % leaves.length]!;
            forgotten(table, task);
            model.delete(task);
            free.push(task);
          }
        };
        for (const step of steps) {
          if ('goes' in step) {
            forgetOne(step.goes);
          } else {
            const known = [...model.keys()];
            const inputs = step.inputs.flatMap(each =>
              known.length === 0 ? [] : [known[each % known.length]!]
            );
            const task = free.shift() ?? extent++;
            added(table, task, inputs);
            model.set(task, inputs);
          }
          let edges = 0;
          const dependents = new Map<number, number[]>();
          for (const [task, inputs] of model) {
            edges += inputs.length;
            for (const input of inputs) {
              const users = dependents.get(input) ?? [];
              users.push(task);
              dependents.set(input, users);
            }
          }
          const expected = [...model].map(([task, inputs]) => [
            task,
            inputs,
            (dependents.get(task) ?? []).sort((a, b) => a - b)
          ]);
          const found = [...model.keys()].map(task => [
            task,
            table.inputsOf(task),
            table.dependentsOf(task).sort((a, b) => a - b)
          ]);
          expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
          expect(table.edges.size).toBe(edges);
          most = Math.max(most, edges);
        }
        // A quarter is gaps at most when it grows, and it is doubled then.
        expect(table.edges.input.length).toBeLessThanOrEqual(
          Math.max(16, 2 * (most / 0.75 + 72))
        );
        while (model.size > 0) {
          forgetOne(0);
        }
        expect(table.edges.size).toBe(0);
      }),
      { numRuns: 100 }
    );
  });
});

describe('rows of edges', () => {
  /** A table, and how to take so many rows for a task of that number. */
  function tabled(): {
    edges: EdgeTable;
    take: (task: number, count: number) => number;
  } {
    const heads = {
      firstInput: new Int32Array(64),
      firstDependent: new Int32Array(64).fill(NONE)
    };
    const edges = new EdgeTable(heads);
    const take = (task: number, count: number): number => {
      const first = edges.take(count);
      heads.firstInput[task] = first;
      for (let e = first; e < first + count; e++) {
        edges.input[e] = task + 1;
        edges.dependent[e] = task;
        edges.nextDependent[e] = edges.previousDependent[e] = NONE;
      }
      return first;
    };
    return { edges, take };
  }

  it.each([1, 2, 63, 64])('are used again, %i side by side', count => {
    const { edges, take } = tabled();
    const [a, b] = [take(0, count), take(1, count)];
    const last = take(2, 1);
    edges.giveBack(a, count);
    edges.giveBack(b, count);
    expect([take(3, count), take(4, count)]).toEqual([b, a]);
    // There is no third.
    expect(take(5, count)).toBeGreaterThan(last);
  });

  it.each([14, 15, 16, 30, 31, 32])(
    'end with one that belongs to no task, also the %i of the last',
    count => {
      const { edges, take } = tabled();
      const first = take(0, count);
      expect(edges.dependent[first + count]).toBe(NONE);
      expect(edges.input.length).toBe(edges.dependent.length);
    }
  );

  it('are moved together before the table grows, if more than a quarter are gaps', () => {
    for (const [gone, first, length] of [
      [4, 9, 16],
      [2, 13, 32]
    ] as const) {
      const { edges, take } = tabled();
      const gap = take(0, gone);
      take(1, 12 - gone);
      expect(edges.input.length).toBe(16);
      edges.giveBack(gap, gone);
      expect([take(2, 3), edges.input.length]).toEqual([first, length]);
    }
  });
});

it('holds numbers that are too large for narrow columns, beside those that were there', () => {
  const table = new TaskTable();
  added(table, 0, []);
  added(table, 1, [0]);
  table.setBytes(0, 2 ** 32 - 1);
  table.restrict(0, 2 ** 15 - 1);
  table.waitingOn[1] = 1;
  for (let i = 0; i <= 2 ** 16; i++) {
    table.addWaiter(0);
  }
  table.ensure(3);
  table.add(2, 2, CLIENT, 2 ** 16, 0);
  const many = Array.from({ length: 2 ** 16 }, () => 0);
  added(table, 3, many);
  table.waitingOn[3] = many.length;
  table.setBytes(1, 5e9);
  table.setBytes(2, 0.5);
  table.restrict(1, 2 ** 15);
  expect([...table.nbytes.subarray(0, 3)]).toEqual([2 ** 32 - 1, 5e9, 0.5]);
  expect([...table.restriction.subarray(0, 3)]).toEqual([32767, 32768, -1]);
  expect([...table.waitingOn.subarray(0, 4)]).toEqual([0, 1, 0, 65536]);
  expect(table.waiters[0]).toBe(65537);
  expect([...table.functionRow.subarray(0, 3)]).toEqual([0, 0, 65536]);
  expect(table.inputsOf(3)).toEqual(many);
  expect(table.inputsOf(1)).toEqual([0]);
});
