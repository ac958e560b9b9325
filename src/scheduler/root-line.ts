/**
 * In which line the roots of a layer are cut into stretches (`roots.ts`).
 *
 * Neighbours in the graph's order mostly have a user in common. But the order begins somewhere in the middle, goes to one side, and comes back for the other.
 * There a stretch would have roots of two places, and its worker would run those of the later place last, while the neighbours of these wait for them.
 * So the pieces of the order are put together where the root at the end of one has a user in common with that of another:
 *
 * ```
 *   by rank   d e f g   c b a        c and d have a user in common, g and c have none
 *   line      a b c   d e f g
 * ```
 */
import { NONE } from './edge-table';
import type { TaskTable } from './task-table';

/**
 * More pieces are left as they lie if they have fewer roots than this on average: then users join few neighbours, as in a tree, and whoever has any
 * two pieces side by side gains little. So such a layer costs no look at more than some thousand roots, and one of long pieces is put together however large.
 */
const MOST_SHORT_PIECES = 256;
const FEWEST_ROOTS_OF_PIECE = 8;

/** So many users of a root are looked at, and so many inputs of each: others gather from everywhere. */
export const MOST_JOINED = 8;

/**
 * Ends of pieces have numbers: piece k begins at its end 2k and ends at 2k + 1, so the other end of a piece is `end ^ 1`.
 *
 * @param roots - by rank.
 * @returns the same roots.
 */
export function lineOf(tasks: TaskTable, roots: Int32Array): Int32Array {
  const ends = endsOfPieces(tasks, roots);
  return ends.length === 2
    ? roots
    : walked(roots, ends, joined(tasks, roots, ends));
}

/** Where pieces begin and end; of one piece, when there is no reason to look further. */
function endsOfPieces(tasks: TaskTable, roots: Int32Array): number[] {
  const whole = [0, roots.length - 1];
  const ends = [0];
  for (let i = 1; i < roots.length; i++) {
    const near = roots[i]!;
    if (!someBeside(tasks, roots[i - 1]!, root => root === near)) {
      ends.push(i - 1, i);
      const pieces = ends.length >> 1;
      if (pieces > MOST_SHORT_PIECES && i < pieces * FEWEST_ROOTS_OF_PIECE) {
        return whole;
      }
    }
  }
  ends.push(roots.length - 1);
  return ends;
}

/** By end, the end of another piece that follows there, or `NONE`. */
function joined(
  tasks: TaskTable,
  roots: Int32Array,
  ends: readonly number[]
): Int32Array {
  const endAt = new Map(ends.map((place, end) => [roots[place]!, end]));
  const next = new Int32Array(ends.length).fill(NONE);
  /** By outer end of what has been joined so far, its other one. */
  const opposite = Int32Array.from(ends, (_, end) => end ^ 1);
  ends.forEach((place, end) => {
    if (next[end] !== NONE) {
      return;
    }
    someBeside(tasks, roots[place]!, root => {
      let other = endAt.get(root);
      if (other === undefined) {
        return false;
      }
      if (next[other] !== NONE && ends[other] === ends[other ^ 1]) {
        other ^= 1; // a root alone is both ends of its piece
      }
      if (
        next[other] !== NONE ||
        // A ring has no end to begin at.
        other === opposite[end]
      ) {
        return false;
      }
      next[end] = other;
      next[other] = end;
      const outer = opposite[end]!;
      const otherOuter = opposite[other]!;
      opposite[outer] = otherOuter;
      opposite[otherOuter] = outer;
      return true;
    });
  });
  return next;
}

/** The roots as one comes to them from piece to piece. */
function walked(
  roots: Int32Array,
  ends: readonly number[],
  next: Int32Array
): Int32Array {
  const line = new Int32Array(roots.length);
  let length = 0;
  const isDone = new Uint8Array(ends.length);
  for (let begin = 0; begin < ends.length; begin++) {
    if (next[begin] !== NONE) {
      continue;
    }
    for (
      let end = begin;
      end !== NONE && isDone[end] === 0;
      end = next[end ^ 1]!
    ) {
      isDone[end] = isDone[end ^ 1] = 1;
      const last = ends[end ^ 1]!;
      const step = (end & 1) === 0 ? 1 : -1;
      for (let i = ends[end]!; i !== last + step; i += step) {
        line[length++] = roots[i]!;
      }
    }
  }
  return line;
}

/** Whether `isSought` holds for a task that has a user in common with a root, as far as they are looked at. */
function someBeside(
  { edges, firstInput, firstDependent }: TaskTable,
  root: number,
  isSought: (task: number) => boolean
): boolean {
  let users = 0;
  for (
    let edge = firstDependent[root]!;
    edge !== NONE && users < MOST_JOINED;
    edge = edges.nextDependent[edge]!
  ) {
    users++;
    const user = edges.dependent[edge]!;
    const first = firstInput[user]!;
    for (
      let e = first;
      e < first + MOST_JOINED && edges.dependent[e] === user;
      e++
    ) {
      const task = edges.input[e]!;
      if (task !== root && isSought(task)) {
        return true;
      }
    }
  }
  return false;
}
