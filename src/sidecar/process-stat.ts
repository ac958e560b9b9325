import { readFileSync } from 'node:fs';

/** The answer for a process of which nothing can be said now. */
export const UNTOLD = 'untold';

/**
 * What Linux tells of a process in one line, from its state on: `4711 (a name) S 1 …` gives `S`, `1` and so on. The name may hold anything,
 * parentheses too. By proc(5) utime is word 11, stime 12, and when the process started 19.
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
