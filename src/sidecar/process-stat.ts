import { readFileSync } from 'node:fs';

/**
 * What Linux tells of a process in one line, from its state on: `4711 (a name) S 1 …` gives `S`, `1` and so on. The name may hold anything,
 * parentheses too. By proc(5) utime is word 11, stime 12, and when the process started 19.
 *
 * @returns null where there is no `/proc`, no such process, or one that may not be looked at.
 */
export function processStat(pid: number): readonly string[] | null {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  return line.slice(line.lastIndexOf(')') + 2).split(' ');
}
