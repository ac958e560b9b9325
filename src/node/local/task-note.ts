import type { Key } from '../graph/key';
import { Task } from '../graph/nodes';
import type { TaskCall } from './executor';

/**
 * What a run writes onto an error that a task threw: the error itself is what the caller gets.
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

/**
 * Writes onto an error which task threw it, so that it is printed with the error.
 *
 * Errors that take no properties (frozen ones, thrown texts) stay as they are.
 *
 * @param isKey - whether the graph has such a key.
 */
export function noteTask(
  error: unknown,
  call: TaskCall,
  isKey: (key: Key) => boolean
): void {
  if (
    typeof error !== 'object' ||
    error === null ||
    'taskKey' in error ||
    !Object.isExtensible(error)
  ) {
    return;
  }
  const note: TaskNote = { taskKey: call.key };
  const name = nameAmongArguments(call, isKey);
  if (name !== undefined) {
    note.taskHint = `Its argument '${name}' is a text although the graph has a key of that name: ref('${name}') stands for that key's value.`;
  }
  Object.assign(error, note);
}

/**
 * The key of the task that threw an error, of nested runs the innermost; undefined if the error tells of none.
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
  return (error as TaskNote | null | undefined)?.taskKey;
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
