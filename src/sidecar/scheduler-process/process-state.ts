/** What the system says of another process: whether it is stopped, and whether it has done anything. In the scheduler process. */
import { readFileSync } from 'node:fs';

export type ProcessState = {
  /** It gets no CPU time until it is continued: after SIGSTOP, Ctrl-Z, or by a debugger. */
  readonly isStopped: boolean;
  /** It is on a core, waits for one, or for the disk. */
  readonly isBusy: boolean;
  /** CPU time of all its threads so far, in the system's ticks. */
  readonly cpuTicks: number;
};

/** @returns null where the system does not say (there is no `/proc`), or there is no such process. */
export function processState(pid: number): ProcessState | null {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // pid (name) state …: the name may hold anything, parentheses too. Counted from the state, utime and stime are 11 and 12.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const state = fields[0]!;
  return {
    isStopped: state === 'T' || state === 't',
    isBusy: state === 'R' || state === 'D',
    cpuTicks: Number(fields[11]) + Number(fields[12])
  };
}
