import { TABLES } from '../../records/tables';
import type { ActivityCells } from './activity-cells';
import type { LogStore } from './log-store';

/**
 * Makes room for a name: at the bound, names of groups that no row uses any more are forgotten, the oldest first, until half of the room is
 * free. In a long log every graph adds group names, while the rows that used the old ones are dropped at their own bounds. Other names are
 * few, and later rows may use them again.
 *
 * @returns false: all names are in use, there is no room.
 */
export function makeRoomForName(
  log: LogStore,
  mostNames: number = TABLES.names.bound.rows
): boolean {
  if (log.names.size < mostNames) {
    return true;
  }
  if (log.namesSpared === log.runCount) {
    // No run has come since all names were found to be in use.
    return false;
  }
  const used = usedNames(log);
  let forgotten = 0;
  // In the order in which they came.
  for (const id of log.groupNames) {
    if (log.names.size <= mostNames / 2) {
      break;
    }
    if (!used.has(id)) {
      log.names.delete(id);
      log.groupNames.delete(id);
      forgotten++;
    }
  }
  if (forgotten > 0) {
    log.namesVersion++;
    log.noteDropped('names', forgotten, log.now, 'no row uses them any more');
  }
  const hasRoom = log.names.size < mostNames;
  log.namesSpared = hasRoom ? -1 : log.runCount;
  return hasRoom;
}

/** Looks through all rows: some ten milliseconds a million, once in so many thousand names. */
function usedNames(log: LogStore): ReadonlySet<number> {
  const used = new Set<number>();
  const add = (column: ArrayLike<number>, rows: number): void => {
    for (let i = 0; i < rows; i++) {
      used.add(column[i]!);
    }
  };
  for (const { columns, rows } of log.nodes.chunks) {
    add(columns.group, rows);
    add(columns.function, rows);
  }
  for (const table of [log.runs, log.parts, log.samples, log.stored]) {
    for (const { columns, rows } of table.chunks) {
      add(columns.function, rows);
    }
  }
  for (const table of [log.fine, log.totals]) {
    for (const { columns, rows } of table.chunks) {
      add(columns.context, rows);
      add(columns.function, rows);
      add(columns.activity, rows);
      add(columns.unit, rows);
    }
  }
  for (const sum of log.fineSums.all()) {
    used.add(sum.context).add(sum.function);
    used.add(sum.activity).add(sum.unit);
  }
  for (const { columns, rows } of log.meters.chunks) {
    add(columns.function, rows);
    add(columns.label, rows);
    add(columns.unit, rows);
  }
  for (const sum of log.meterSums.all()) {
    used.add(sum.function).add(sum.label).add(sum.unit);
  }
  for (const { columns, rows } of log.frames.chunks) {
    add(columns.function, rows);
    add(columns.file, rows);
  }
  for (const { columns, rows } of log.events.chunks) {
    add(columns.kind, rows);
  }
  for (const cells of [log.held, log.background]) {
    addFunctions(used, cells);
  }
  for (const running of log.shape.running.values()) {
    used.add(running.function);
  }
  for (const fn of log.retired.functions()) {
    used.add(fn);
  }
  return used;
}

function addFunctions(used: Set<number>, cells: ActivityCells): void {
  for (let cell = 0; cell < cells.length; cell++) {
    used.add(cells.function(cell));
  }
}
