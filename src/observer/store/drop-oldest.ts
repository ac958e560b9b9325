import { boxOfRun } from '../../records/box-kinds';
import { BoxKind, RunStatus } from '../../records/enumerations';
import { STATUS_REPLACED, type LogStore } from './log-store';

/**
 * Keeps the bound of `runs`: the oldest rows go, and the task stream shows them as cells from then on. Their seconds, counts and extents
 * are in the totals already, which forget nothing.
 */
export function dropOverdueRuns(log: LogStore): void {
  for (
    let chunk = log.runs.overdue;
    chunk !== undefined;
    chunk = log.runs.overdue
  ) {
    const { function: fn, lane, status, start, duration } = chunk.columns;
    let rows = 0;
    for (let i = 0; i < chunk.rows; i++) {
      if (status[i] === STATUS_REPLACED) {
        continue;
      }
      const length = duration[i]! > 0 ? duration[i]! : 0;
      // A run that was given back before it began is never drawn.
      if (status[i] !== RunStatus.Missing || length > 0) {
        const index = log.shape.laneIndex(lane[i]!);
        const isFailed = boxOfRun(status[i]!) === BoxKind.Failed;
        log.retired.add(index, fn[i]!, start[i]!, length, isFailed);
      }
      log.droppedBefore = Math.max(log.droppedBefore, start[i]! + length);
      rows++;
    }
    log.droppedRuns += rows;
    log.runs.dropOldest();
    const first = log.runs.firstRow;
    log.runRows.dropBelow(first);
    log.runZones.dropBelow(first);
    log.runClasses.dropBelow(first);
    log.besideRows = log.besideRows.filter(row => row >= first);
    const why = 'oldest runs are kept only as totals';
    log.noteDropped('runs', rows, log.droppedBefore, why);
  }
}

export function dropOverdueParts(log: LogStore): void {
  for (
    let chunk = log.parts.overdue;
    chunk !== undefined;
    chunk = log.parts.overdue
  ) {
    const rows = chunk.rows;
    log.parts.dropOldest();
    const first = log.parts.firstRow;
    log.lastParts.dropBelow(first);
    log.fusedRuns.dropBelow(first);
    log.partClasses.dropBelow(first);
    const why = 'oldest parts are kept only as totals';
    log.noteDropped('parts', rows, log.now, why);
  }
}
