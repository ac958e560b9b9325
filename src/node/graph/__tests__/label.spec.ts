import * as fc from 'fast-check';
import { functionName, taskLabel } from '../label';
import { alias, data, ref, task } from '../nodes';

const add = (a: unknown, b: unknown) => [a, b];
const mul = add.bind(null);
const sum = (list: unknown) => list;
function solve() {
  return 0;
}

describe('§4.5 labels of tasks', () => {
  it('§4.5: a call shows references as _ and other values as *', () => {
    expect(taskLabel(task(add, ref('x'), 10))).toBe('add(_, *)');
    expect(taskLabel(task(add, ref('x'), 'x'))).toBe('add(_, *)');
    expect(taskLabel(task(add, alias('x'), data(1)))).toBe('add(_, *)');
    expect(taskLabel(task(solve))).toBe('solve()');
  });

  it('§4.5: nested calls and lists are written out', () => {
    const inner = task(mul, ref('x'), ref('y'));
    expect(taskLabel(task(add, inner, ref('z')))).toBe('add(add(_, _), _)');
    expect(taskLabel(task(sum, [ref('a'), ref('b'), 3]))).toBe(
      'sum([_, _, *])'
    );
    expect(taskLabel(task(sum, []))).toBe('sum([])');
  });

  it('§4.5: of a list at most three elements are shown', () => {
    const many = Array.from({ length: 9 }, (_, index) => ref(`x${index}`));
    expect(taskLabel(task(sum, many))).toBe('sum([_, _, _, ...])');
  });

  it('§4.5: an object with references shows its names sorted; one without is a value', () => {
    expect(taskLabel(task(solve, ref('a'), { tol: 1, b: ref('b') }))).toBe(
      'solve(_, {b: _, tol: *})'
    );
    expect(taskLabel(task(solve, ref('a'), { tol: 1 }))).toBe('solve(_, *)');
  });

  it('§4.5: arguments without room for five letters each collapse', () => {
    expect(taskLabel(task(solve, 1, 2, 3), 20)).toBe('solve(...)');
    const wide = Array.from({ length: 30 }, () => ref('x'));
    expect(taskLabel(task(solve, ...wide))).toBe('solve(...)');
  });

  it('§4.5: references and other values have the labels _ and *', () => {
    expect(taskLabel(alias('x'))).toBe('_');
    expect(taskLabel(data([1, 2]))).toBe('*');
  });

  it('§4.5: functions without a name, and bound ones, are still called something', () => {
    expect(functionName(solve.bind(null))).toBe('solve');
    expect(
      functionName(
        (
          () => () =>
            0
        )()
      )
    ).toBe('anonymous');
  });

  it('§4.5: labels know nothing of keys and values, and are as deep as the room allows', () => {
    const node: fc.Arbitrary<unknown> = fc.letrec(tie => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.string().map(key => ref(key)),
        fc.integer(),
        fc.array(tie('node'), { maxLength: 6 }),
        fc
          .array(tie('node'), { maxLength: 4 })
          .map(args => task(add, ...(args as never[])))
      )
    })).node;
    fc.assert(
      fc.property(
        fc.array(node, { maxLength: 4 }),
        fc.integer({ min: 10, max: 120 }),
        (args, size) => {
          const label = taskLabel(task(solve, ...args), size);
          expect(label).toMatch(/^solve\([add_*[\](), .]*\)$/);
        }
      )
    );
  });
});
