/**
 * The measures of memory, from the four figures that workers send:
 *
 *     ├──────────────── process ───────────────┤├─ spilled ─┤
 *     ├── managed ──┤├─────── unmanaged ───────┤   on disk
 *                    ├─ old ─┤├──── recent ────┤
 *     ├───── optimistic ─────┤
 *     managed_total: managed and spilled
 *
 * They are distributed's, by the same words.
 */
import type { MemoryMeasure } from './enumerations';

/** The newest figures of one worker, in bytes; NaN: its source does not know. */
export type MemoryUse = {
  readonly process: number;
  readonly managed: number;
  readonly spilled: number;
  readonly unmanagedOld: number;
};

/**
 * The measure of one worker. Once its figures are within bounds (no part is larger than the whole) each measure is a sum or a difference of
 * them: so the cluster's is the sum over the workers.
 */
export function measureMemory(measure: MemoryMeasure, use: MemoryUse): number {
  const { process, spilled } = use;
  // Written so that a part stays known where the whole is not.
  const managed = use.managed > process ? process : use.managed;
  const unmanaged = process - managed;
  const old = use.unmanagedOld > unmanaged ? unmanaged : use.unmanagedOld;
  switch (measure) {
    case 'process':
      return process;
    case 'managed':
      return managed;
    case 'managed_total':
      return managed + spilled;
    case 'spilled':
      return spilled;
    case 'unmanaged':
      return unmanaged;
    case 'unmanaged_old':
      return old;
    case 'unmanaged_recent':
      return unmanaged - old;
    case 'optimistic':
      return managed + old;
  }
}
