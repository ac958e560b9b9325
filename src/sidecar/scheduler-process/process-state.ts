/**
 * The state of another process as the system knows it: whether it is stopped, and whether it has used its CPU. In the scheduler process.
 */
import { processStat, UNTOLD } from '../process-stat';

export type ProcessState = {
  /** It gets no CPU time until it is continued: after SIGSTOP, Ctrl-Z, or by a debugger. */
  readonly isStopped: boolean;
  /** It is on a core, waits for one, or for the disk. */
  readonly isBusy: boolean;
  /** CPU time of all its threads so far, in the system's ticks. */
  readonly cpuTicks: number;
};

/** @returns null where the system does not say (there is no `/proc`, or no file descriptor), or there is no such process. */
export function processState(pid: number): ProcessState | null {
  const words = processStat(pid);
  if (words === null || words === UNTOLD) {
    return null;
  }
  const state = words[0]!;
  return {
    isStopped: state === 'T' || state === 't',
    isBusy: state === 'R' || state === 'D',
    cpuTicks: Number(words[11]) + Number(words[12])
  };
}
