/** Finds what a client waits for that is not done. In the scheduler process. */
import { Int32List } from '../../base/int-list';
import type { DenseTaskId } from '../../records/ids';
import { holdsInputs, TaskState, type TaskTable } from '../../scheduler';

/** So many tasks are looked at, which takes some ms. */
export const MOST_LOOKED_AT = 65_536;
/** So many inputs are looked at for each task: most may be done. */
const INPUTS_OF_EACH = 64;

/** Those of the tasks that are not done, and then what they need that is not. */
export function unfinished(
  tasks: TaskTable,
  named: readonly DenseTaskId[],
  most: number
): {
  readonly tasks: readonly DenseTaskId[];
  readonly namedCount: number;
  readonly isAll: boolean;
  /** By task: 1 if it is one of them. */
  readonly seen: Uint8Array;
} {
  const { edges, firstInput, state } = tasks;
  const seen = new Uint8Array(tasks.capacity);
  const found: DenseTaskId[] = [];
  const open = new Int32List<DenseTaskId>();
  const isNew = (task: DenseTaskId): boolean =>
    seen[task] === 0 &&
    (holdsInputs(state[task]!) ||
      (state[task] === TaskState.Released && tasks.isComing(task)));
  const meet = (task: DenseTaskId): void => {
    seen[task] = 1;
    found.push(task);
    open.push(task);
  };
  for (const task of named) {
    if (isNew(task)) {
      meet(task);
    }
  }
  const namedCount = found.length;
  let isAll = true;
  let left = most * INPUTS_OF_EACH;
  while (open.length > 0 && isAll) {
    const task = open.at(open.length - 1);
    open.truncate(open.length - 1);
    for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
      const input = edges.input[e]! as DenseTaskId;
      const isMet = !isNew(input);
      if (left-- === 0 || (!isMet && found.length >= most)) {
        isAll = false;
        break;
      }
      if (!isMet) {
        meet(input);
      }
    }
  }
  return { tasks: found, namedCount, isAll, seen };
}
