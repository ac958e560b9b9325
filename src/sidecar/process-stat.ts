import { readFileSync } from 'node:fs';

/** The answer for a process of which nothing can be said now. */
export const UNTOLD = 'untold';

/**
 * What Linux tells of a process in one line, from its state on: `4711 (a name) S 1 …` gives `S`, `1` and so on. The name may hold anything,
 * parentheses too. By proc(5) the kernel's flags are word 6, utime 11, stime 12, and when the process started 19.
 *
 * @returns null: there is no such process, or no `/proc`. UNTOLD: it cannot be read now, as a rule for want of a file descriptor.
 */
export function processStat(
  pid: number
): readonly string[] | typeof UNTOLD | null {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? null : UNTOLD;
  }
  return line.slice(line.lastIndexOf(')') + 2).split(' ');
}

/** Set in the flags once a process has begun to end: `PF_EXITING` of Linux. */
const EXITING = 0x4;

/**
 * Whether a process has ended or is about to, by its `processStat`. Its links close before its state says so; how long before is up to who
 * else wants the processor:
 *
 *   killed → PF_EXITING → memory freed → links closed → Z, until its parent has asked → no process
 */
export function isEnding(words: readonly string[]): boolean {
  const [state] = words;
  return state === 'Z' || state === 'X' || (Number(words[6]) & EXITING) !== 0;
}
