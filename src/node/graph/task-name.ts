/**
 * What a task's function is called. Keys are for telling tasks apart, and may be anything; they name a function only where it has no name, or
 * where a name was given that keys begin with.
 *
 * ```
 *   { a: task(fit, …) }            fit
 *   { 'fit-1': task(x => …, …) }   null: the key says it
 *   delayed(step, 'fit')           null: the name that was given is in the key
 * ```
 */
import { functionName } from './label';
import { type Node, Task } from './nodes';
import { identity } from './references';

/** Of functions that nobody named: `new Function` and `export default` have these. */
const NAMELESS: readonly string[] = ['', 'anonymous', 'default'];
const namedByKey = new WeakSet<Task>();

/** A name was given for the calls of the task's function. */
export function noteNamedByKey(node: Task): void {
  namedByKey.add(node);
}

/** null: the key tells more. */
export function ownName(node: Node): string | null {
  // (containers with references are built by a function of ours)
  if (!(node instanceof Task) || node.fn === identity || namedByKey.has(node)) {
    return null;
  }
  // (a function's name may be set to anything)
  if (typeof node.fn.name !== 'string') {
    return null;
  }
  const name = functionName(node.fn);
  return NAMELESS.includes(name) ? null : name;
}
