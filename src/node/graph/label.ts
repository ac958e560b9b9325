/**
 * The text by which tasks are recognised as similar: pictures group and colour by it. References become `_`, every other value `*`, so that
 * tasks that do the same to different blocks have one label.
 *
 * ```
 *   task(add, ref('x'), 10)                         add(_, *)
 *   task(add, task(mul, ref('x'), ref('y')), 1)     add(mul(_, _), *)
 *   task(sum, [ref('a'), ref('b'), ref('c'), …])    sum([_, _, _, ...])
 *   task(solve, ref('a'), { b: ref('b'), tol: 1 })  solve(_, {b: _, tol: *})
 * ```
 */
import { Alias, Task, TaskRef } from './nodes';

/** How many elements of a container are written out. */
const ELEMENTS_SHOWN = 3;
/** Below this many characters an argument would tell nothing: all collapse to `...`. */
const LEAST_BUDGET = 5;

/**
 * The text by which pictures group tasks and choose their colour: the call without its data. References become `_`, other values `*`.
 *
 * @param node - a node, or anything that may stand among a task's arguments
 * @param labelSize - about how many characters, 60 by default; function names are never cut
 *
 * @group Pictures
 * @example
 * ```ts
 * import { ref, task, taskLabel } from 'spanwise';
 *
 * const add = (x: number, y: number) => x + y;
 * console.log(taskLabel(task(add, ref('x'), 10))); // → add(_, *)
 * console.log(taskLabel(task(add, task(Math.sqrt, ref('x')), 1))); // → add(sqrt(_), *)
 * console.log(taskLabel(task(Math.max, ref('a'), [ref('b'), ref('c')]), 12)); // → max(...)
 * ```
 */
export function taskLabel(node: unknown, labelSize = 60): string {
  if (node instanceof Task) {
    return callLabel(node, labelSize);
  }
  if (node instanceof TaskRef || node instanceof Alias) {
    return '_';
  }
  if (Array.isArray(node)) {
    return containerLabel('[', node, ']', labelSize, taskLabel);
  }
  if (isPlainObject(node) && holdsReference(node)) {
    return containerLabel(
      '{',
      Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1)),
      '}',
      labelSize,
      ([name, value], size) =>
        `${name}: ${taskLabel(value, size - name.length - 2)}`
    );
  }
  return '*';
}

/** The name under which people know the function. */
export function functionName(fn: { readonly name: string }): string {
  return fn.name.replace(/^(bound )+/, '') || 'anonymous';
}

function callLabel({ fn, args }: Task, labelSize: number): string {
  const head = functionName(fn);
  if (args.length === 0) {
    return `${head}()`;
  }
  const budget = Math.floor((labelSize - head.length - 1) / args.length);
  const inner =
    budget > LEAST_BUDGET
      ? args.map(argument => taskLabel(argument, budget)).join(', ')
      : '...';
  return `${head}(${inner})`;
}

function containerLabel<T>(
  open: string,
  elements: readonly T[],
  close: string,
  labelSize: number,
  labelOf: (element: T, size: number) => string
): string {
  const shown = elements.slice(0, ELEMENTS_SHOWN);
  const budget = Math.floor((labelSize - 2 - 2 * shown.length) / shown.length);
  const labels = shown.map(element => labelOf(element, budget));
  if (shown.length < elements.length) {
    labels.push('...');
  }
  return open + labels.join(', ') + close;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** An object of options without references is one literal, whatever it holds. */
function holdsReference(value: unknown): boolean {
  if (
    value instanceof Task ||
    value instanceof TaskRef ||
    value instanceof Alias
  ) {
    return true;
  }
  if (Array.isArray(value)) {
    return value.some(holdsReference);
  }
  return isPlainObject(value) && Object.values(value).some(holdsReference);
}

/** The outermost function of a label: `add` of `add(_, *)`. */
export function functionOfLabel(label: string): string {
  const end = label.indexOf('(');
  return end <= 0 ? label : label.slice(0, end);
}
