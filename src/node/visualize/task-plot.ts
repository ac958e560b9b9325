import type { TaskData } from '../diagnostics/records';
import { keyText } from '../graph/key';
import { taskLabel } from '../graph/label';
import { roundedSeconds, type TaskPlot, TextTable } from './plots';

/** More at once in one worker share lanes; thinner ones could not be seen. */
const MOST_LANES = 100;

/**
 * Rows and lanes of task records.
 *
 * ```
 *   worker 7   aaaa  bb        two rows; worker 9 ran c and d at the same time (getAsync, or a batch),
 *   worker 9   cccccc          so its row is divided into two lanes
 *              dddd
 * ```
 */
export function taskPlot(
  records: readonly TaskData[],
  origin: number,
  labelSize: number
): TaskPlot {
  const labels = new TextTable();
  const label = records.map(record =>
    labels.add(taskLabel(record.task, labelSize))
  );
  const rowOfWorker = new Map(
    rowOrder(records).map((workerId, row) => [workerId, row])
  );
  const row = records.map(record => rowOfWorker.get(record.workerId)!);
  const order = records
    .map((_, index) => index)
    .sort((a, b) => records[a]!.startTime - records[b]!.startTime);
  const lanes = new LaneAssignment(rowOfWorker.size);
  const lane = order.map(index =>
    lanes.place(row[index]!, records[index]!.startTime, records[index]!.endTime)
  );
  return {
    kind: 'tasks',
    keys: order.map(index => keyText(records[index]!.key)),
    label: order.map(index => label[index]!),
    row: order.map(index => row[index]!),
    lane,
    start: order.map(index =>
      roundedSeconds(records[index]!.startTime - origin)
    ),
    duration: order.map(index =>
      roundedSeconds(records[index]!.endTime - records[index]!.startTime)
    ),
    labels: labels.texts,
    rows: [...rowOfWorker.keys()].map((workerId, at) => ({
      workerId,
      lanes: lanes.count(at)
    }))
  };
}

/** Workers by their lists of durations, in the order of the records, the greatest list first: row 0 is the worker whose first task was longest. */
export function rowOrder(records: readonly TaskData[]): (number | null)[] {
  const durations = new Map<number | null, number[]>();
  for (const { workerId, startTime, endTime } of records) {
    const list = durations.get(workerId);
    if (list === undefined) {
      durations.set(workerId, [endTime - startTime]);
    } else {
      list.push(endTime - startTime);
    }
  }
  return [...durations]
    .sort(([, a], [, b]) => -compareLists(a, b))
    .map(([workerId]) => workerId);
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    if (a[index] !== b[index]) {
      return a[index]! - b[index]!;
    }
  }
  return a.length - b.length;
}

/** Puts each task, in order of start, into the first lane that is free by then. */
class LaneAssignment {
  /** Per row and lane, when its last task ends. */
  private readonly _ends: number[][];

  constructor(rows: number) {
    this._ends = Array.from({ length: rows }, () => []);
  }

  place(row: number, start: number, end: number): number {
    const ends = this._ends[row]!;
    let lane = ends.findIndex(laneEnd => laneEnd <= start);
    if (lane === -1 && ends.length < MOST_LANES) {
      lane = ends.push(end) - 1;
    } else if (lane === -1) {
      lane = ends.indexOf(Math.min(...ends));
    }
    ends[lane] = Math.max(ends[lane]!, end);
    return lane;
  }

  count(row: number): number {
    return this._ends[row]!.length;
  }
}
