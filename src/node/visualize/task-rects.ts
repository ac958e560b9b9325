/**
 * Which rectangles can be told apart at a zoom. Tasks narrower than two cells (a cell is a pixel, or more when there are many lanes) are
 * put together with their neighbours in the same cell; 50,000 tasks become a few thousand rectangles, whatever the zoom.
 *
 * ```
 *   tasks   |aaaaaaaaaaa|b|c|b|  |b|        cell = width of one letter and its bar
 *   cells   0   1   2   3   4   5
 *   drawn   [a]         [3 tasks, b] [b]    several: the label with most time, opacity by how busy the stretch was
 * ```
 */
import type { TaskPlot } from './plots';

export type TaskRect = {
  readonly row: number;
  readonly lane: number;
  readonly lanes: number;
  readonly start: number;
  readonly end: number;
  /** How many tasks it stands for. */
  readonly count: number;
  /** The task, if it stands for one; else -1. */
  readonly task: number;
  /** The label with most time in it. */
  readonly label: number;
  /** Seconds of tasks per second, 0…1. */
  readonly busyShare: number;
};

/** plotly needs about 0.1 ms for a bar; this many keep a zoom below half a second on a slow machine. */
const MOST_RECTS = 3000;

/** @param pixels - width of the plot's area, over which `from` … `to` (seconds) is spread */
export function taskRects(
  plot: TaskPlot,
  from: number,
  to: number,
  pixels: number
): TaskRect[] {
  const lanes = plot.rows.reduce((sum, row) => sum + row.lanes, 0);
  // A lane holds at most 1.5 rectangles per cell: a wide one, a group, a wide one in three cells.
  const cellPixels = Math.max(1, (1.5 * lanes * pixels) / MOST_RECTS);
  const cell = ((to - from) / pixels) * cellPixels;
  const rects: TaskRect[] = [];
  const open = new Map<number, Group>();
  const close = (group: Group | undefined) => {
    if (group !== undefined && group.count > 0) {
      rects.push(group.rect(plot));
      group.clear();
    }
  };
  for (let task = 0; task < plot.keys.length; task++) {
    const start = plot.start[task]!;
    const duration = plot.duration[task]!;
    if (start + duration < from || start > to) {
      continue;
    }
    // Lanes and lane are below 128.
    const laneId =
      (plot.row[task]! * 128 + plot.lanes[task]!) * 128 + plot.lane[task]!;
    let group = open.get(laneId);
    if (duration >= 2 * cell) {
      close(group);
      rects.push(rectOf(plot, task));
      continue;
    }
    const place = Math.floor(start / cell);
    if (group === undefined) {
      group = new Group();
      open.set(laneId, group);
    } else if (group.place !== place) {
      close(group);
    }
    group.add(plot, task, place);
  }
  open.forEach(close);
  return rects;
}

function rectOf(plot: TaskPlot, task: number): TaskRect {
  return {
    row: plot.row[task]!,
    lane: plot.lane[task]!,
    lanes: plot.lanes[task]!,
    start: plot.start[task]!,
    end: plot.start[task]! + plot.duration[task]!,
    count: 1,
    task,
    label: plot.label[task]!,
    busyShare: 1
  };
}

/** Short tasks of one lane that begin in one cell. */
class Group {
  place = NaN;
  count = 0;
  private _task = -1;
  private _end = 0;
  private _busy = 0;
  private readonly _secondsOfLabel = new Map<number, number>();

  add(plot: TaskPlot, task: number, place: number): void {
    const duration = plot.duration[task]!;
    const label = plot.label[task]!;
    if (this.count === 0) {
      this.place = place;
      this._task = task;
    }
    this.count++;
    this._end = Math.max(this._end, plot.start[task]! + duration);
    this._busy += duration;
    this._secondsOfLabel.set(
      label,
      (this._secondsOfLabel.get(label) ?? 0) + duration
    );
  }

  rect(plot: TaskPlot): TaskRect {
    const first = rectOf(plot, this._task);
    if (this.count === 1) {
      return first;
    }
    const span = this._end - first.start;
    let label = first.label;
    let most = -1;
    this._secondsOfLabel.forEach((seconds, candidate) => {
      if (seconds > most) {
        label = candidate;
        most = seconds;
      }
    });
    return {
      ...first,
      end: this._end,
      count: this.count,
      task: -1,
      label,
      busyShare: span > 0 ? Math.min(1, this._busy / span) : 1
    };
  }

  clear(): void {
    this.count = 0;
    this._end = 0;
    this._busy = 0;
    this._secondsOfLabel.clear();
  }
}
