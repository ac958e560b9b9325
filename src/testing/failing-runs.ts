import { RunStatus } from '../records/enumerations';

/** Rows of runs of one function, one after another; those that fail take 20 µs, the others `seconds`. */
export function failingRuns(
  count: number,
  seconds: number,
  failed: ReadonlySet<number>,
  status: RunStatus = RunStatus.Failed
): Record<string, number>[] {
  return Array.from({ length: count }, (_, run) => ({
    run,
    node: run,
    function: 1,
    start: run * seconds,
    duration: failed.has(run) ? 2e-5 : seconds,
    status: failed.has(run) ? status : RunStatus.Ok
  }));
}
