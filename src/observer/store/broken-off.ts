/**
 * How many tasks ran when a log ended. A scheduler that ends its workers tells their runs as lost; of one that is gone without a word they are
 * those that were told as running.
 */
import { RunStatus } from '../../records/enumerations';
import { CHUNK_MASK } from './column-table';
import type { LogStore } from './log-store';

/** A cluster that ends has ended its workers by so long before the end of its log: it gives them time to close. */
const CLOSING_SECONDS = 10;

/** @param end - of the log. */
export function tasksBrokenOff(log: LogStore, end: number): number {
  const since = end - CLOSING_SECONDS;
  /** What was lost with an earlier worker may have run again. */
  const newest = new Map<
    number,
    { readonly start: number; readonly isLost: boolean }
  >();
  for (const [rows, first, last] of log.runZones.zones(since, Infinity)) {
    for (let i = first; i < last; i++) {
      const columns = log.runs.chunkOf(rows[i]!)?.columns;
      if (columns === undefined) {
        continue;
      }
      const j = rows[i]! & CHUNK_MASK;
      const start = columns.start[j]!;
      const node = columns.node[j]!;
      if (
        start + Math.max(0, columns.duration[j]!) >= since &&
        start >= (newest.get(node)?.start ?? -Infinity)
      ) {
        const isLost = columns.status[j] === RunStatus.Lost;
        newest.set(node, { start, isLost });
      }
    }
  }
  const nodes = new Set(log.shape.brokenOff.map(({ node }) => node));
  for (const [node, { isLost }] of newest) {
    if (isLost) {
      nodes.add(node);
    }
  }
  return nodes.size;
}
