import { PartKind } from '../../records/enumerations';
import type { RunDetail } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';

/** Functions of a fused run that are told with their seconds. */
const MOST_FUNCTIONS = 8;
/** Most runs are not fused; records ask of each. */
const NONE: ReadonlyMap<number, number> = new Map();

/**
 * The function (a name's id) by which a run is called in tables, files and records: of a fused task that which computed longest in it, as
 * its box looks; of those that took as long that of the task itself, then the first. Fused tasks whose parts were dropped have their own.
 */
export function mainFunction(log: LogStore, row: number): number {
  const columns = log.runs.chunkOf(row)!.columns;
  const i = row & CHUNK_MASK;
  const own = columns.function[i]!;
  let main = own;
  const seconds = computedBy(log, row);
  for (const [fn, sum] of seconds) {
    if (sum > (seconds.get(main) ?? 0)) {
      main = fn;
    }
  }
  return main;
}

/** What functions computed in a fused run, the longest first; nothing of others. */
export function fusedOf(
  log: LogStore,
  row: number
): NonNullable<RunDetail['fused']> {
  return [...computedBy(log, row)]
    .map(([fn, seconds]) => ({ function: log.name(fn), seconds }))
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, MOST_FUNCTIONS);
}

/** Seconds by function, in the order in which they ran; a part without a name is of the task's own. */
function computedBy(log: LogStore, row: number): ReadonlyMap<number, number> {
  const columns = log.runs.chunkOf(row)!.columns;
  const i = row & CHUNK_MASK;
  const run = columns.run[i]!;
  if (log.fusedRuns.get(run) < 0) {
    return NONE;
  }
  const sums = new Map<number, number>();
  for (const at of log.partRows(run)) {
    const part = log.part(at);
    if (part.held && part.kind === PartKind.Compute) {
      const isNamed = log.name(part.function) !== '';
      const fn = isNamed ? part.function : columns.function[i]!;
      sums.set(fn, (sums.get(fn) ?? 0) + part.duration);
    }
  }
  return sums;
}
