import { PartKind } from '../records/enumerations';
import type { PartFact, RunFact } from './drawn-cluster';

/** Whether a part of a drawn run is its thread's own computing. */
export function isComputing({ held, kind }: PartFact): boolean {
  return held && kind === PartKind.Compute;
}

/** Seconds by function of a drawn run in which several computed, or one under another function or span than the task's; in the order in which they began. */
export function fusedSeconds({ task, parts }: RunFact): Map<string, number> {
  const computing = parts.filter(isComputing);
  const seconds = new Map<string, number>();
  const [first] = computing;
  if (
    computing.length > 1 ||
    (first !== undefined &&
      (first.function !== task.function || first.span !== task.span))
  ) {
    for (const { function: fn, duration } of computing) {
      seconds.set(fn, (seconds.get(fn) ?? 0) + duration);
    }
  }
  return seconds;
}

/** The function by which tables, files and records call a drawn run: that which computed longest, at a tie the task's own, then the first. */
export function calledBy(run: RunFact): string {
  const seconds = fusedSeconds(run);
  const most = Math.max(...seconds.values());
  const own = run.task.function;
  const [first] = [...seconds].find(([, each]) => each === most) ?? [own];
  return seconds.get(own) === most ? own : first;
}

/** Seconds of computing by activity: on a core, then waiting for one, then blocked; without `coreWait` (NaN) the last two are one. */
export function computed(
  duration: number,
  cpu: number,
  coreWait: number
): readonly (readonly [activity: string, seconds: number])[] {
  const off = duration - cpu;
  const core = Math.min(coreWait, off);
  return Number.isNaN(coreWait)
    ? [
        ['thread-cpu', cpu],
        ['thread-noncpu', off]
      ]
    : [
        ['thread-cpu', cpu],
        ['core', core],
        ['blocked', off - core]
      ];
}
