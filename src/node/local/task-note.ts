import { BoundedMap } from '../../base/bounded-map';
import type { Key } from '../graph/key';
import { Task } from '../graph/nodes';
import type { RunScope } from './callback';
import type { TaskCall } from './execution';

/**
 * The note that a run writes onto an error that a task threw; the caller gets the error itself.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getSync, task, type TaskNote } from 'spanwise';
 *
 * const graph = { rows: 3, blocks: task((rows: number) => new Array(rows - 4), 'rows') };
 * try {
 *   getSync(graph, 'blocks');
 * } catch (error) {
 *   console.log((error as TaskNote).taskKey); // → blocks
 *   console.log((error as TaskNote).taskHint); // → Its argument 'rows' is a text although …
 * }
 * ```
 */
export type TaskNote = {
  /** Which task threw it: of nested runs the innermost. */
  taskKey?: Key;
  /** What may be wrong with the graph. */
  taskHint?: string;
};

/** Which task threw something last, and in which run. */
type Thrown = { readonly key: Key; readonly scope: RunScope | null };

/** Notes on values that can be told apart: errors, frozen ones too, and other objects. */
const thrownBy = new WeakMap<object, Thrown>();
/** Notes on the latest thrown texts, numbers and the like: equal ones cannot be told apart. */
const bareThrownBy = new BoundedMap<unknown, Thrown>(16);
/** Longer texts are not kept. */
const LONGEST_BARE = 10_000;

/**
 * Notes which task threw an error, and writes that onto the error, if it takes properties, so that both are printed together.
 *
 * The same error may arrive several times. If it comes from a run within the task that fails, the innermost task threw it. If it is thrown
 * once more, perhaps by another task, that one counts.
 *
 * @param scope - of the run that fails
 * @param isKey - whether the graph has such a key.
 */
export function noteTask(
  error: unknown,
  call: TaskCall,
  scope: RunScope,
  isKey: (key: Key) => boolean
): void {
  const thrown: Thrown = { key: call.key, scope };
  if (!isObject(error)) {
    const known = bareThrownBy.peek(error);
    if (known?.scope?.isWithin(scope) === true) {
      return;
    }
    noteBare(error, thrown);
    return;
  }
  const known = thrownBy.get(error);
  if (known === undefined && 'taskKey' in error) {
    // From a run in a worker: the task there threw it. Thrown again, it is another one's.
    thrownBy.set(error, { key: error.taskKey as Key, scope });
    return;
  }
  if (known?.scope?.isWithin(scope) === true) {
    return;
  }
  thrownBy.set(error, thrown);
  if (!Object.isExtensible(error)) {
    return;
  }
  const note: TaskNote = { taskKey: call.key };
  const name = nameAmongArguments(call, isKey);
  if (name !== undefined) {
    note.taskHint = `Its argument '${name}' is a text although the graph has a key of that name: ref('${name}') stands for that key's value.`;
  }
  delete (error as TaskNote).taskHint;
  Object.assign(error, note);
}

function noteBare(value: unknown, thrown: Thrown): void {
  bareThrownBy.delete(value);
  if (typeof value === 'string' && value.length > LONGEST_BARE) {
    return;
  }
  bareThrownBy.set(value, thrown);
}

/**
 * The key of the task that threw an error, of nested runs the innermost; undefined if it is not known. If several threw it, that of the last.
 *
 * Frozen errors have one too. Thrown texts, numbers and the like, which are no objects, are known if they are among the latest ones.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getSync, task, taskKeyOf } from 'spanwise';
 *
 * const parse = (text: string): unknown => JSON.parse(text);
 * try {
 *   getSync({ good: task(parse, '{}'), bad: task(parse, '{') }, ['good', 'bad']);
 * } catch (error) {
 *   console.log((error as Error).name, 'in', taskKeyOf(error)); // → SyntaxError in bad
 * }
 * ```
 */
export function taskKeyOf(error: unknown): Key | undefined {
  return isObject(error)
    ? (thrownBy.get(error)?.key ?? (error as TaskNote).taskKey)
    : bareThrownBy.peek(error)?.key;
}

function isObject(value: unknown): value is object {
  return (
    (typeof value === 'object' && value !== null) || typeof value === 'function'
  );
}

/** A text is always data; that a failing call has one which is also a key is worth saying. */
function nameAmongArguments(
  call: TaskCall,
  isKey: (key: Key) => boolean
): string | undefined {
  return call.node instanceof Task
    ? call.node.args.find(
        (arg): arg is string => typeof arg === 'string' && isKey(arg)
      )
    : undefined;
}
