import type { LostWorker } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';

/**
 * What the log knows of a worker's end; undefined: it lives, or is not known.
 *
 * @param sample - the row of `memory` with its newest sample; undefined: it has none.
 */
export function endOfWorker(
  log: LogStore,
  worker: number,
  sample: number | undefined
): LostWorker | undefined {
  const row = log.shape.workers.get(worker);
  return row === undefined || Number.isNaN(row.left)
    ? undefined
    : {
        worker,
        name: row.name,
        t: row.left,
        why: row.why,
        process:
          sample === undefined
            ? null
            : log.memory.chunkOf(sample)!.columns.process[sample & CHUNK_MASK]!,
        memoryLimit: row.memoryLimit
      };
}

/** The row of `memory` with a worker's newest sample. */
export function newestSample(
  log: LogStore,
  worker: number
): number | undefined {
  const { firstRow, endRow } = log.memory;
  for (let row = endRow - 1; row >= firstRow; row--) {
    const columns = log.memory.chunkOf(row)!.columns;
    if (columns.worker[row & CHUNK_MASK] === worker) {
      return row;
    }
  }
  return undefined;
}
