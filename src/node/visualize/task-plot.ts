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
 *   worker 7   aaaa  bb        two rows; worker 9 had c and d at the same time (two runs at once whose workers have
 *   worker 9   cccccc  eee     the same number), so its row is divided into two lanes there, and not at e
 *              dddd    eee
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
    lanes: lanes.lanes,
    start: order.map(index =>
      roundedSeconds(records[index]!.startTime - origin)
    ),
    duration: order.map(index =>
      roundedSeconds(records[index]!.endTime - records[index]!.startTime)
    ),
    labels: labels.texts,
    rows: [...rowOfWorker.keys()].map((workerId, at) => ({
      workerId,
      lanes: lanes.most[at]!
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

/** Puts each task, in order of start, into the first lane of its row that is free by then. */
class LaneAssignment {
  /** Per task placed, how many lanes there are while it runs. */
  readonly lanes: number[] = [];
  /** Per row the most lanes so far. */
  readonly most: number[];
  private readonly _stretches: Stretch[];

  constructor(rows: number) {
    this.most = Array.from({ length: rows }, () => 1);
    this._stretches = Array.from({ length: rows }, () => new Stretch());
  }

  place(row: number, start: number, end: number): number {
    let stretch = this._stretches[row]!;
    if (start >= stretch.end) {
      stretch = this._stretches[row] = new Stretch();
    }
    const lane = stretch.place(start, end);
    stretch.tasks.push(this.lanes.length);
    this.lanes.push(0);
    for (const task of stretch.hasGrown
      ? stretch.tasks
      : [this.lanes.length - 1]) {
      this.lanes[task] = stretch.laneEnds.length;
    }
    this.most[row] = Math.max(this.most[row]!, stretch.laneEnds.length);
    return lane;
  }
}

/** Tasks of a row that overlap, directly or through others: they share one division into lanes. */
class Stretch {
  readonly tasks: number[] = [];
  /** Per lane, when its last task ends. */
  readonly laneEnds: number[] = [];
  end = -Infinity;
  /** Whether the last task needed a lane more. */
  hasGrown = false;

  place(start: number, end: number): number {
    this.end = Math.max(this.end, end);
    let lane = this.laneEnds.findIndex(laneEnd => laneEnd <= start);
    this.hasGrown = lane === -1 && this.laneEnds.length < MOST_LANES;
    if (this.hasGrown) {
      lane = this.laneEnds.push(end) - 1;
    } else if (lane === -1) {
      lane = this.laneEnds.indexOf(Math.min(...this.laneEnds));
    }
    this.laneEnds[lane] = Math.max(this.laneEnds[lane]!, end);
    return lane;
  }
}
