import { PartKind } from '../records/enumerations';
import type { PartFact } from './drawn-cluster';

/** Whether a part of a drawn run is its thread's own computing. */
export function isComputing({ held, kind }: PartFact): boolean {
  return held && kind === PartKind.Compute;
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
